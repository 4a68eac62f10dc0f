"""``lbctl ls --expect``: who ought to be registered and is not, and the other way round."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import Keys, Lbctl
from tests.rpc.servers import health_of, serving

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "services.schema.json"
KEYS = {
    "/services/echo/10.0.0.1:80": "10.0.0.1:80|1",
    "/services/echo/a": "10.0.0.2:80|0",
    "/services/echo/[2001:DB8::1]:80": "[2001:DB8::1]:80|1",
    "/services/echo/10.0.0.9:80": "10.0.0.9:80|x|y",
    "/services/order/10.0.0.7:80": "10.0.0.7:80|1",
}
ALL = (
    "10.0.0.1:80\n10.0.0.2:80  # drained, and registered all the same\n\n# v6, spelled otherwise\n[2001:db8:0::1]:80\n"
)

pytestmark = pytest.mark.usefixtures("at")


def test_a_list_that_is_met_is_said_and_has_no_rows(lbctl: Lbctl, keys: Keys, tmp_path: Path) -> None:
    keys(KEYS)
    (tmp_path / "all.txt").write_text(ALL)
    said = lbctl("ls", "echo", "--expect", "all.txt")
    assert said.status == 0
    assert said.err == "3 of 3 expected backends registered\n"
    assert "EXPECTATION" not in said.out


def test_the_missing_and_the_unexpected_are_rows_and_exit_status_1(lbctl: Lbctl, keys: Keys, tmp_path: Path) -> None:
    keys(KEYS)
    (tmp_path / "some.json").write_text(json.dumps(["10.0.0.1:80", "10.0.0.9:80", "Web.Example:80", "10.0.0.1:80"]))
    said = lbctl("ls", "echo", "--expect", "some.json")
    assert said.status == 1
    assert said.err == "1 of 3 expected backends registered; 2 not expected\n"
    assert lbctl("ls", "echo", "--expect", "some.json", "--exit-zero") == (0, said.out, said.err)
    assert [line.split() for line in said.out.split("\n\n")[2].splitlines()] == [
        ["EXPECTATION", "FINDING", "HEALTH", "RTT", "KEY"],
        ["10.0.0.9:80", "its", "key", "is", "unusable", "-", "-", "/services/echo/10.0.0.9:80"],
        ["Web.Example:80", "not", "registered", "-", "-", "-"],
        ["[2001:DB8::1]:80", "not", "expected", "-", "-", "/services/echo/[2001:DB8::1]:80"],
        ["10.0.0.2:80", "not", "expected", "-", "-", "/services/echo/a"],
    ]


def test_the_document_has_what_became_of_the_list(lbctl: Lbctl, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    keys(KEYS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"10.0.0.1:80\n10.0.0.2:80\n10.0.0.3:80\n")))
    said = lbctl("ls", "echo", "--expect", "-", "-o", "json")
    assert said.status == 1
    document = json.loads(said.out)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    assert document["expected"] == {
        "registered": 2,
        "missing": [{"address": "10.0.0.3:80", "key": None, "health": None, "rtt_ms": None}],
        "unexpected": [{"address": "[2001:DB8::1]:80", "key": "/services/echo/[2001:DB8::1]:80"}],
    }
    assert "expected" not in json.loads(lbctl("ls", "echo", "-o", "json").out)


def test_one_that_answers_and_is_not_registered_is_told(lbctl: Lbctl, keys: Keys, tmp_path: Path) -> None:
    keys({"/services/echo/a": "127.0.0.1:1|1"})

    async def checked() -> tuple[str, int, str, str]:
        async with serving(healthy=health_of(1)) as endpoint:
            (tmp_path / "list").write_text(f"{endpoint}\n127.0.0.1:1\n")
            said = await asyncio.to_thread(lbctl, "ls", "echo", "--check", "--expect", "list", "--no-headers")
            return str(endpoint), *said

    address, status, out, err = asyncio.run(checked())
    assert status == 1
    assert out.split("\n\n")[1].split()[:4] == [address, "not", "registered", "SERVING"]
    assert err.splitlines()[-2:] == [
        f"note: {address} answers and is not registered: it gave up, or never tried, or does so elsewhere",
        "1 of 2 expected backends registered",
    ]


@pytest.mark.parametrize(
    ("line", "text", "error"),
    [
        (("--expect", "list"), "10.0.0.1:80", "--expect needs a SERVICE"),
        (("echo", "--expect", "list", "-w"), "10.0.0.1:80", "--expect does not go with -w"),
        (("echo", "--expect", "list", "-o", "csv"), "10.0.0.1:80", "--expect has no output format 'csv'"),
        (("echo", "--expect", "nowhere"), "", "--expect: cannot read nowhere: no such file or directory"),
        (("echo", "--expect", "list"), "# nobody\n", "--expect: list has no addresses"),
        (("echo", "--expect", "list"), "[]", "--expect: list has no addresses"),
        (("echo", "--expect", "list"), "a:1\nb\n", "--expect: line 2 of list: 'b' has no port (write host:port)"),
        (("echo", "--expect", "list"), '["a:1", 7]', "--expect: item 2 of list is not a text"),
        (("echo", "--expect", "list"), '["a:1", "b"]', "--expect: item 2 of list: 'b' has no port (write host:port)"),
        (("echo", "--expect", "list"), "[" * 9_999, "--expect: line 1 of list: "),
        (("echo", "--expect", "list"), "\udcff", "--expect: list is not UTF-8 text (byte 0)"),
    ],
)  # fmt: skip
def test_a_list_that_is_none_is_refused(
    lbctl: Lbctl, keys: Keys, tmp_path: Path, line: tuple[str, ...], text: str, error: str
) -> None:
    (tmp_path / "list").write_bytes(text.encode("utf-8", "surrogateescape"))
    said = lbctl("ls", *line)
    assert said.status == 2
    assert said.err.startswith(f"error: {error}")


def test_what_is_of_other_layouts_is_counted(lbctl: Lbctl, keys: Keys) -> None:
    keys(
        {
            **KEYS,
            "/services/echo/b": '{"Op":0,"Addr":"10.0.0.3","Metadata":null}',
            "/microservices/orders/1": '{"id":"1","name":"orders","version":"","metadata":{},"endpoints":["//h:1"]}',
            "app/a": '{"Op":0,"Addr":"10.0.0.4:1","Metadata":null}',
        }
    )
    said = lbctl("ls", "--layout", "seed", "-o", "json")
    document = json.loads(said.out)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    assert [each["layout"] for each in document["invalid"]] == ["seed"]
    assert document["other_layouts"] == {"services": 2, "invalid": 2}
    note = (
        "note: not listed, as of other layouts: 2 services and 2 unusable keys (etcd-naming 1, kratos 1); "
        "see them without --layout"
    )
    assert note in said.err.splitlines()
    one = lbctl("ls", "echo", "--layout", "seed")
    assert "note: not listed, as of other layouts: 1 unusable key (etcd-naming 1); see them without --layout" in one.err
    assert "other_layouts" not in json.loads(lbctl("ls", "-o", "json").out)
