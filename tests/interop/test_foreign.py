"""lbctl against servers that nobody here wrote, by their reflection: grpc-go, @grpc/grpc-js, grpc-java and tonic."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lbctl.model import Endpoint
from tests.e2e.runs import Ended, lbctl
from tests.interop.foreign import ZOO, serving

pytestmark = pytest.mark.slow

CALLS = 60
SERVICE = "foreign.v1.Zoo"
CAGE = {"@type": "type.googleapis.com/foreign.v1.Cage", "name": "here", "inside": {"name": "there"}}
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
    "more": CAGE,
}
DETAILS = (
    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "EMPTY", "domain": "zoo"},
    {"@type": "type.googleapis.com/foreign.v1.Cage", "name": "empty"},
)
NOT_FOUND = 64 + 5


async def ask(command: str, server: Endpoint, *arguments: str, data: object = None) -> Ended:
    """Run a command of lbctl against a server."""
    given = () if data is None else ("-d", json.dumps(data))
    return await lbctl(command, "--backends", str(server), *arguments, *given)


async def replies(server: Endpoint, method: str, data: object) -> list[Any]:
    """What a call of one method is answered with."""
    ended = await ask("call", server, method, data=data)
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


async def hammered(server: Endpoint, method: str, data: object, *options: str) -> dict[str, Any]:
    """The document of a run."""
    ended = await ask("hammer", server, method, "-n", str(CALLS), "-c", "4", "-o", "json", *options, data=data)
    assert ended.status == 0, ended.err
    return ended.document


async def described(server: Endpoint, name: str) -> str:
    ended = await ask("describe", server, name)
    assert ended.status == 0, ended.err
    return ended.out


async def test_the_methods_are_those_of_the_service(zoo: Endpoint) -> None:
    ended = await ask("methods", zoo)
    assert ended.status == 0, ended.err
    rows = [line.split() for line in ended.out.splitlines()[1:]]
    assert {(row[0], row[1]) for row in rows} == {
        (f"{SERVICE}/Say", "unary"),
        (f"{SERVICE}/Herd", "server"),
        (f"{SERVICE}/Gather", "client"),
        (f"{SERVICE}/Chat", "bidi"),
    }
    assert {tuple(row[2:]) for row in rows} == {("foreign.v1.Animal", "->", "foreign.v1.Animal")}


async def test_definitions_are_described_as_they_were_written(zoo: Endpoint) -> None:
    source = ZOO.read_text(encoding="utf-8")
    for name, kind in {"foreign.v1.Animal": "message", "Cage": "message", "Kind": "enum", "Zoo": "service"}.items():
        head, _, definition = (await described(zoo, name)).partition("\n")
        assert head.startswith(f"// {kind} foreign.v1.{name.rpartition('.')[2]}, in ")  # Node.js names the file itself
        assert definition in source


async def test_a_method_is_described_by_the_end_of_its_name(zoo: Endpoint) -> None:
    assert "rpc Herd(Animal) returns (stream Animal);" in await described(zoo, "Zoo/Herd")
    template = await ask("describe", zoo, "Zoo.Say", "--template")
    assert template.status == 0, template.err
    assert json.loads(template.out).keys() == ANIMAL.keys()


async def test_a_fleet_of_two_implementations_does_not_differ(zoo: Endpoint, go_command: list[str]) -> None:
    with serving(go_command) as other:
        ended = await lbctl("methods", "--all", "--backends", f"{zoo},{other}", f"{SERVICE}/*")
    assert ended.status == 0, ended.err
    assert "4 methods of 1 service; 2 of 2 backends told, and do not differ" in ended.err


async def test_a_name_that_nothing_has_is_not_found(zoo: Endpoint) -> None:
    ended = await ask("describe", zoo, "Nothing")
    assert (ended.status, ended.out) == (4, "")
    assert 'nothing is called "Nothing"' in ended.err


async def test_every_field_comes_back_as_it_was_sent(zoo: Endpoint) -> None:
    assert await replies(zoo, "Zoo/Say", ANIMAL) == [ANIMAL]
    strange = {"kind": 7, "more": {"@type": "type.googleapis.com/google.protobuf.Duration", "value": "3s"}}
    assert await replies(zoo, "Zoo/Say", strange) == [strange]


async def test_an_any_of_a_type_that_nobody_has_is_explained(zoo: Endpoint) -> None:
    ended = await ask("call", zoo, "Zoo/Say", data={"more": {"@type": "type.googleapis.com/foreign.v1.Gone"}})
    assert ended.status == 2
    assert 'field "more" holds the type "type.googleapis.com/foreign.v1.Gone", which nobody describes' in ended.err


async def test_streams_have_their_messages_in_order(zoo: Endpoint) -> None:
    names = [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    assert await replies(zoo, "Zoo/Herd", {"name": "h", "weights": [1, -2]}) == [
        {"name": "h", "weights": [1]},
        {"name": "h", "weights": [-2]},
    ]
    assert await replies(zoo, "Zoo/Gather", names) == [{"name": "a b c"}]
    assert await replies(zoo, "Zoo/Chat", names) == names


async def test_a_status_comes_with_its_details(zoo: Endpoint) -> None:
    ended = await ask("call", zoo, "Zoo/Say", data={"name": "nobody"})
    assert (ended.status, ended.out) == (NOT_FOUND, "")
    assert "NOT_FOUND: there is nobody" in ended.err
    for detail in DETAILS:
        assert f"detail: {json.dumps(detail)}" in ended.err


async def test_its_health_is_told(zoo: Endpoint) -> None:
    ended = await ask("health", zoo, "-o", "json")
    assert (ended.status, [row["health"] for row in json.loads(ended.out)["backends"]]) == (0, ["SERVING"])


async def test_a_load_has_every_field_back(zoo: Endpoint) -> None:
    checks = (
        "resp.id == 9007199254740993",
        'resp.kind == "KIND_BIRD"',
        'resp.cages["x"].inside.name == "z"',
        "resp.weights[1] == -2",
        'resp.city == "Rome"',
    )
    run = await hammered(zoo, "Zoo/Say", ANIMAL, "--check", " and ".join(checks))
    assert (run["ok"], run["errors"]) == (CALLS, 0)


@pytest.mark.parametrize(("method", "sent", "received"), [("Herd", 1, 2), ("Gather", 3, 1), ("Chat", 3, 3)])
async def test_streams_of_a_load_have_their_messages(zoo: Endpoint, method: str, sent: int, received: int) -> None:
    data = ANIMAL if method == "Herd" else [ANIMAL] * 3
    run = await hammered(zoo, f"{SERVICE}/{method}", data)
    assert run["ok"] == CALLS
    assert (run["streams"]["sent"], run["streams"]["received"]) == (sent * CALLS, received * CALLS)


async def test_the_status_of_a_load_is_told(zoo: Endpoint) -> None:
    run = await hammered(zoo, "Zoo/Say", {"name": "nobody"})
    (group,) = run["error_groups"]
    assert (group["code"], group["count"], group["message"]) == ("NOT_FOUND", CALLS, "there is nobody")


async def test_a_method_of_compiled_messages_is_found_by_the_reflection_of_grpc_go(go_binary: str) -> None:
    data = {"responseSize": 7, "payload": {"body": "AAE="}}
    with serving([go_binary]) as server:
        run = await hammered(server, "TestService/UnaryCall", data, "--check", "len(resp.payload.body) == 7")
    assert (run["ok"], run["errors"]) == (CALLS, 0)
