"""``lbctl describe`` against real servers and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from jsonschema import Draft202012Validator

from tests.e2e.conftest import Standing
from tests.e2e.runs import ROOT, lbctl
from tests.rpc.servers import V1, Reflection, echo_files, reflecting, serving

pytestmark = pytest.mark.e2e

SCHEMA: Final = json.loads((ROOT / "docs" / "reference" / "describe.schema.json").read_text(encoding="utf-8"))
MATH: Final = """\
// service demo.math.v1.MathService, in lbctl/demo/protos/math.proto (proto3)
service MathService {
  rpc Add(AddRequest) returns (AddReply);
}
"""


@pytest.fixture
def protoset(tmp_path: Path) -> str:
    path = tmp_path / "echo.pb"
    path.write_bytes(FileDescriptorSet(file=echo_files().values()).SerializeToString())
    return str(path)


async def test_a_service_is_shown_as_source(demo: Standing) -> None:
    ended = await lbctl("describe", "echo", "MathService", etcd=demo.etcd)
    assert (ended.status, ended.out) == (0, MATH)
    assert ended.err.startswith("told by 127.0.0.1:")
    every = await lbctl("describe", "echo", "-o", "name", "-q", etcd=demo.etcd)
    assert (every.out.splitlines(), every.err) == (["demo.echo.v1.Echo", "demo.math.v1.MathService"], "")


async def test_a_template_is_a_request_that_can_be_sent(demo: Standing) -> None:
    made = await lbctl("describe", "echo", "MathService/Add", "--template", etcd=demo.etcd)
    assert json.loads(made.out) == {"a": "0", "b": "0"}
    sent = await lbctl("hammer", "echo", "MathService/Add", "-d", made.out, "-n", "1", etcd=demo.etcd)
    assert sent.status == 0
    stream = await lbctl("describe", "echo", "Collect", "--template", etcd=demo.etcd)
    assert json.loads(stream.out) == [{"message": ""}]


async def test_a_document_has_the_source_and_the_descriptor() -> None:
    async with serving(reflecting(Reflection(echo_files(), ["test.Echo"]), V1)) as endpoint:
        ended = await lbctl("describe", "--backends", str(endpoint), "Echo/Push", "-o", "json")
    document = json.loads(ended.out)
    Draft202012Validator(SCHEMA).validate(document)
    assert (document["service"], document["backend"], document["reflection"]) == (None, str(endpoint), "v1")
    method, message = document["symbols"]
    assert (method["name"], method["kind"]) == ("test.Echo/Push", "method")
    assert method["source"] == "rpc Push(stream Text) returns (Text);"
    assert message["descriptor"]["field"][1]["type"] == "TYPE_INT64"


async def test_files_are_described_without_anybody_there(protoset: str) -> None:
    ended = await lbctl("describe", "--protoset", protoset, "Text")
    message = "message Text {\n  string message = 1;\n  int64 count = 2;\n}\n"
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == f"// message test.Text, in test/message.proto (proto3)\n{message}"
    document = json.loads((await lbctl("describe", "--protoset", protoset, "-o", "json")).out)
    Draft202012Validator(SCHEMA).validate(document)
    assert (document["described_by"], document["reflection"]) == (f"--protoset {protoset}", None)


async def test_sources_keep_their_comments(tmp_path: Path) -> None:
    text = 'syntax = "proto3";\n\n// Says \x1b[31mthings.\nmessage Word {\n  string text = 1;  // in small letters\n}'
    (tmp_path / "word.proto").write_text(text)
    ended = await lbctl("describe", "--proto", "word.proto", "Word", cwd=tmp_path)
    assert ended.out.splitlines()[1:] == [
        "// Says \\x1b[31mthings.",
        "message Word {",
        "  string text = 1;  // in small letters",
        "}",
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (("Echo", "--template"), 2, "test.Echo is no method and no message (service)"),
        (("--template",), 2, "--template is of one method or message"),
        (("Text", "--template", "-o", "json"), 2, "--template prints JSON, not json"),
        (("Nobody",), 4, 'nothing is called "Nobody"'),
    ],
)
async def test_what_cannot_be_shown_is_refused(
    protoset: str, arguments: tuple[str, ...], status: int, error: str
) -> None:
    ended = await lbctl("describe", "--protoset", protoset, *arguments)
    assert (ended.status, ended.err.splitlines()[0], ended.out) == (status, f"error: {error}", "")


async def test_a_type_that_is_left_out_has_no_template(tmp_path: Path) -> None:
    path = tmp_path / "part.pb"
    path.write_bytes(FileDescriptorSet(file=[echo_files()["test/echo.proto"]]).SerializeToString())
    ended = await lbctl("describe", "--protoset", str(path), "Say", "--template")
    assert (ended.status, ended.err) == (5, "error: test.Echo/Say needs test.Text, which is not described\n")
