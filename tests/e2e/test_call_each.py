"""``lbctl call --each``: every backend is called, and a half-deployed fleet is told apart."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.e2e.calls import Server, called
from tests.e2e.conftest import Standing
from tests.e2e.runs import ROOT, Ended, lbctl
from tests.rpc.servers import refused_port

pytestmark = pytest.mark.e2e

SCHEMA: Final = json.loads((ROOT / "docs" / "reference" / "each.schema.json").read_text(encoding="utf-8"))
SAY: Final = ("test.Echo/Say", "-d", '{"message": "hi"}')


def document(ended: Ended) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.out)
    Draft202012Validator(SCHEMA).validate(found)
    return found


async def test_a_fleet_that_replies_alike_is_whole(demo: Standing) -> None:
    all_of = ("call", "echo", "Say", "-d", '{"message": "hi"}', "--each")
    alike = await lbctl(*all_of, "--ignore", "backend,sequence", etcd=demo.etcd)
    assert (alike.status, alike.err) == (0, "3 backends: 3 OK, all reply alike, ignoring backend, sequence\n")
    lines = [line.split() for line in alike.out.splitlines()]
    assert lines[0] == ["ADDRESS", "STATUS", "LATENCY", "REPLY"]
    assert sorted((line[0], line[1], line[3]) for line in lines[1:4]) == sorted(
        (address, "OK", "A") for address in demo.backends
    )
    assert lines[5:] == [["REPLY", "ON", "SAYS"], ["A", "3", '{"message":', '"hi"}']]
    typo = await lbctl(*all_of, "--ignore", "backend,sequence,mesage", etcd=demo.etcd)
    assert typo.err.endswith(", ignoring backend, sequence, mesage (no reply has mesage)\n")
    apart = await lbctl(*all_of, etcd=demo.etcd)
    assert apart.status == 1
    assert "3 different replies" in apart.err
    assert "hint: --ignore backend" in apart.err
    assert (await lbctl(*all_of, "--exit-zero", etcd=demo.etcd)).status == 0


async def test_a_half_deployed_fleet_is_told_apart_by_its_fields() -> None:
    async with AsyncExitStack() as stack:
        old = [await stack.enter_async_context(called(Server(str))) for _ in range(2)]
        new = await stack.enter_async_context(called(Server(str.upper)))
        nobody = str(stack.enter_context(refused_port()))
        every = ("call", "--backends", ",".join([*old, new, nobody]), *SAY, "--each")
        table = await lbctl(*every)
        found = document(await lbctl(*every, "-o", "json"))
        again = yaml.safe_load((await lbctl(*every, "-o", "yaml")).out)
        records = (await lbctl(*every, "-o", "csv", "--no-headers", "-q")).out.splitlines()
    assert table.status == 1
    rows = {line.split()[0]: line.split() for line in table.out.splitlines() if line.strip()}
    assert rows[nobody] == [nobody, "REFUSED", "-", "-", "refused", "the", "connection"]
    assert rows[new][1] == "OK"
    assert rows[new][3:] == ["B", "-"]
    assert table.out.splitlines()[-1].split() == ["B", "1", "message", '"HI"', '"hi"']
    assert table.err == "4 backends: 3 OK, 1 failed, 2 different replies\n"
    assert (found["ok"], found["failed"], found["alike"], again["failed"]) == (3, 1, False, 1)
    assert [(each["reply"], sorted(each["backends"])) for each in found["replies"]] == [
        ("A", sorted(old)),
        ("B", [new]),
    ]
    assert found["replies"][1]["differences"] == [{"path": "message", "value": "HI", "most": "hi"}]
    assert len(records) == 4


async def test_failed_calls_are_shown_with_their_reasons() -> None:
    async with called() as address:
        ended = await lbctl(
            "call", "--backends", address, "test.Echo/Say", "-d", '{"message": "missing"}', "--each", "-o", "json"
        )
        streamed = await lbctl("call", "--backends", address, "test.Echo/Watch", "--each")
    (backend,) = document(ended)["backends"]
    assert (ended.status, backend["status"]["name"], backend["reply"]) == (1, "NOT_FOUND", None)
    assert backend["error"] == "NOT_FOUND: no such cart"
    assert {"name": "x-served-by", "value": "b1"} in backend["headers"]
    assert backend["status"]["details"][0]["reason"] == "CART_GONE"
    assert streamed.status == 0
    assert '[{"count": "1"}, {"count": "2"}, {"count": "3"}]' in streamed.out


async def test_standard_input_is_sent_to_everybody() -> None:
    async with called() as address:
        ended = await lbctl(
            "call",
            "--backends",
            address,
            "test.Echo/Push",
            "-d",
            "@",
            "--each",
            stdin=b'{"message":"a"}\n{"message":"b"}',
        )
    assert ended.status == 0
    assert '{"message": "a b", "count": "2"}' in ended.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--each", "--policy", "p2c"), "--each calls every backend once, and --policy is for calls of some"),
        (("--each", "--backend", "a:1"), "--each calls every backend once, and --backend is for calls of some"),
        (("--each", "--repeat", "2"), "--each calls every backend once, and --repeat is for calls of some"),
        (("--each", "-o", "raw"), "-o raw is for calls without --each"),
        (("-o", "table"), "-o table is for calls with --each"),
        (("--ignore", "a"), "--ignore is for --each"),
        (("--exit-zero",), "--exit-zero is for --each"),
        (("--each", "--ignore", "a..b"), "Invalid value for '--ignore': 'a..b' is not fields of a message"),
    ],
)
async def test_what_goes_with_each_and_what_does_not(options: tuple[str, ...], said: str) -> None:
    ended = await lbctl("call", "echo", "Say", *options)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {said}")


async def test_one_request_is_for_all(demo: Standing) -> None:
    ended = await lbctl("call", "echo", "Say", "-d", '[{"message": "a"}, {"message": "b"}]', "--each", etcd=demo.etcd)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("error: --each sends one request to every backend, and several are given")
