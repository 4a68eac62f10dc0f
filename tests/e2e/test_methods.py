"""``lbctl methods`` against real servers: of one backend, of all of them, and as files have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from jsonschema import Draft202012Validator

from tests.e2e.conftest import Standing
from tests.e2e.runs import ROOT, Ended, lbctl
from tests.rpc.servers import HEALTH, V1, V1ALPHA, Reflection, echo_files, failing, reflecting, serving

pytestmark = pytest.mark.e2e

SCHEMA: Final = json.loads((ROOT / "docs" / "reference" / "methods.schema.json").read_text(encoding="utf-8"))
LISTING: Final = ["test.Echo", "test.Admin", V1, HEALTH]


def document(ended: Ended) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.out)
    Draft202012Validator(SCHEMA).validate(found)
    return found


def older() -> dict[str, FileDescriptorProto]:
    """What the server of a release before offers: no Chat, and no field count."""
    files = echo_files()
    del files["test/echo.proto"].service[0].method[3]
    del files["test/message.proto"].message_type[0].field[1]
    return files


async def test_the_methods_of_a_registered_service_are_listed(demo: Standing) -> None:
    ended = await lbctl("methods", "echo", etcd=demo.etcd)
    assert ended.status == 0
    assert ended.out.splitlines()[:2] == [
        "METHOD                        KIND    REQUEST -> RESPONSE",
        "demo.echo.v1.Echo/Say         unary   demo.echo.v1.SayRequest -> demo.echo.v1.SayReply",
    ]
    assert ended.err.splitlines()[0].startswith("5 methods of 2 services, told by 127.0.0.1:")
    assert "grpc.health.v1.Health" in ended.err


async def test_one_backend_may_be_named(demo: Standing) -> None:
    ended = await lbctl("methods", "echo", "Say", "--backend", demo.backends[1], "-o", "json", etcd=demo.etcd)
    found = document(ended)
    assert [(each["address"], each["reflection"]) for each in found["backends"]] == [(demo.backends[1], "v1")]
    assert [each["method"] for each in found["methods"]] == ["demo.echo.v1.Echo/Say"]
    nobody = await lbctl("methods", "echo", "--backend", "127.0.0.1:1", etcd=demo.etcd)
    assert (nobody.status, nobody.err.splitlines()[0]) == (4, 'error: "echo" has no backend 127.0.0.1:1')


async def test_a_half_deployed_fleet_is_told_apart() -> None:
    old, new = Reflection(older(), LISTING), Reflection(echo_files(), LISTING)
    async with serving(reflecting(new, V1)) as a, serving(reflecting(old, V1ALPHA)) as b, serving() as c:
        backends = ",".join(map(str, (a, b, c)))
        ended = await lbctl("methods", "--backends", backends, "--all", "-o", "json")
        table = await lbctl("methods", "--backends", backends, "--all", "Chat")
    found = document(ended)
    assert ended.status == 0
    assert {row["method"]: row["backends"] for row in found["methods"]} == {
        "test.Echo/Say": [str(a), str(b)],
        "test.Echo/Watch": [str(a), str(b)],
        "test.Echo/Push": [str(a), str(b)],
        "test.Echo/Chat": [str(a)],
        "test.Admin/Reset": [str(a), str(b)],
    }
    assert [(each["symbol"], each["part"], each["variants"]) for each in found["differences"]] == [
        (
            "test.Echo/Chat",
            None,
            [
                {"is": "stream test.Text -> stream test.Text", "backends": [str(a)]},
                {"is": None, "backends": [str(b)]},
            ],
        ),
        ("test.Text", "field 2", [{"is": "int64 count", "backends": [str(a)]}, {"is": None, "backends": [str(b)]}]),
    ]
    assert [(each["reflection"], each["error"]) for each in found["backends"]] == [
        ("v1", None),
        ("v1alpha", None),
        (None, "answered UNIMPLEMENTED"),
    ]
    assert table.out.splitlines()[1].split() == ["test.Echo/Chat", "bidi", "test.Text", "->", "test.Text", "1/2"]
    assert table.out.splitlines()[3].split() == ["DIFFERS", "IS", "ON"]
    assert f"missing                               {b}" in table.out
    assert table.err == (
        f"1 method of 1 service; 2 of 3 backends told, and differ in 1 part\n{c} answered UNIMPLEMENTED\n"
    )


async def test_where_nobody_reflects_it_is_5() -> None:
    async with serving([failing(V1, grpc.StatusCode.PERMISSION_DENIED)]) as endpoint:
        for every in ((), ("--all",)):
            ended = await lbctl("methods", "--backends", str(endpoint), *every)
            assert ended.status == 5
            assert "does not answer gRPC server reflection" in ended.err


async def test_files_are_listed_without_anybody_there(tmp_path: Path) -> None:
    path = tmp_path / "echo.pb"
    path.write_bytes(FileDescriptorSet(file=echo_files().values()).SerializeToString())
    names = await lbctl("methods", "--protoset", str(path), "Echo/*", "-o", "name")
    assert names.out.splitlines() == ["test.Echo/Say", "test.Echo/Watch", "test.Echo/Push", "test.Echo/Chat"]
    assert names.err == f"4 methods of 1 service, described by --protoset {path}\n"
    csv = await lbctl("methods", "--protoset", str(path), "Reset", "-o", "csv", "-q")
    assert (csv.err, csv.out) == (
        "",
        "method,kind,request,response,deprecated,file,backends\n"
        "test.Admin/Reset,unary,test.Text,test.Text,false,test/echo.proto,\n",
    )
    found = document(await lbctl("methods", "--protoset", str(path), "-o", "json"))
    assert (found["service"], found["backends"], found["described_by"]) == (None, [], f"--protoset {path}")


async def test_nothing_like_the_pattern_is_4(demo: Standing) -> None:
    ended = await lbctl("methods", "echo", "Sya", etcd=demo.etcd)
    assert (ended.status, ended.out) == (4, "")
    assert ended.err == 'error: no method is like "Sya"\nhint: did you mean demo.echo.v1.Echo/Say?\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "it needs a SERVICE, or --backends, or files"),
        (("a", "b", "--backends", "127.0.0.1:1"), "--backends goes with no SERVICE"),
        (("--protoset", "x", "--backends", "127.0.0.1:1"), "--protoset describes it all, and --backends would not be"),
        (("--protoset", "x", "--all"), "--all asks every backend, and --protoset is another source"),
        (("a", "--all", "--backend", "b:1"), "--all asks every backend, and --backend is another source"),
    ],
)
async def test_options_that_contradict_each_other_are_refused(arguments: tuple[str, ...], message: str) -> None:
    ended = await lbctl("methods", *arguments)
    assert ended.status == 2
    assert ended.err.startswith(f"error: {message}")
