"""lbctl against servers that nobody here wrote, by their own reflection: grpc-go, and @grpc/grpc-js."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from lbctl.model import Endpoint

pytestmark = pytest.mark.slow

CALLS = 60
ANIMAL = {
    "name": "Ada",
    "id": "9007199254740993",
    "track": "AAE=",
    "kind": "KIND_BIRD",
    "weights": [1, -2],
    "cages": {"x": {"name": "y", "inside": {"name": "z"}}},
    "city": "Rome",
    "tame": False,
    "born": "2026-01-02T03:04:05.500Z",
    "sleeps": "1.500s",
    "notes": {"a": [1.0, None, {"b": True}]},
    "nick": "",
}


def hammered(endpoint: Endpoint, method: str, data: object, *options: str) -> dict[str, Any]:
    """The document of a run."""
    command = [
        sys.executable,
        "-m",
        "lbctl",
        "hammer",
        "--backends",
        str(endpoint),
        method,
        "-n",
        str(CALLS),
        "-c",
        "4",
    ]
    done = subprocess.run(
        [*command, "-d", json.dumps(data), "-o", "json", *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_field_comes_back_from_node_as_it_was_sent(node_endpoint: Endpoint) -> None:
    checks = (
        "resp.id == 9007199254740993",
        'resp.kind == "KIND_BIRD"',
        'resp.cages["x"].inside.name == "z"',
        "resp.weights[1] == -2",
        'resp.city == "Rome"',
    )
    run = hammered(node_endpoint, "Zoo/Say", ANIMAL, "--check", " and ".join(checks))
    assert (run["ok"], run["errors"]) == (CALLS, 0)


@pytest.mark.parametrize(("method", "sent", "received"), [("Herd", 1, 2), ("Gather", 3, 1), ("Chat", 3, 3)])
def test_streams_of_node_have_their_messages(node_endpoint: Endpoint, method: str, sent: int, received: int) -> None:
    data = ANIMAL if method == "Herd" else [ANIMAL] * 3
    run = hammered(node_endpoint, f"foreign.v1.Zoo/{method}", data)
    assert run["ok"] == CALLS
    assert (run["streams"]["sent"], run["streams"]["received"]) == (sent * CALLS, received * CALLS)


def test_the_status_of_node_is_told(node_endpoint: Endpoint) -> None:
    run = hammered(node_endpoint, "Zoo/Say", {"name": "nobody"})
    (group,) = run["error_groups"]
    assert (group["code"], group["count"], group["message"]) == ("NOT_FOUND", CALLS, "there is nobody")


def test_a_method_of_grpc_go_is_found_by_its_reflection(go_endpoint: Endpoint) -> None:
    data = {"responseSize": 7, "payload": {"body": "AAE="}}
    run = hammered(go_endpoint, "TestService/UnaryCall", data, "--check", "len(resp.payload.body) == 7")
    assert (run["ok"], run["errors"]) == (CALLS, 0)
