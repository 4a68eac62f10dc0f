"""Methods that files describe, on servers without reflection."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from etcd3.etcdrpc import rpc_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from tests.e2e.runs import hammer, lbctl
from tests.rpc.servers import echo_files, serving

pytestmark = pytest.mark.e2e

SOURCE: Final = """\
syntax = "proto3";
package test;
message Text { string message = 1; int64 count = 2; }
service Echo { rpc Say(Text) returns (Text); rpc Push(stream Text) returns (Text); }
"""
BRIEF: Final = ("-n", "4", "-c", "1", "-o", "json")


class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio's types are Any here
    """Answers with what it was sent first, and describes nothing."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        async def one(message: bytes, _: object) -> bytes:
            return message

        async def many(messages: AsyncIterator[bytes], _: object) -> bytes:
            found = [message async for message in messages]
            return found[0]

        known: dict[str, Any] = {
            "/test.Echo/Say": grpc.unary_unary_rpc_method_handler(one),
            "/test.Echo/Push": grpc.stream_unary_rpc_method_handler(many),
        }
        return known.get(details.method)


@pytest.fixture
def protoset(tmp_path: Path) -> str:
    path = tmp_path / "echo.pb"
    path.write_bytes(FileDescriptorSet(file=echo_files().values()).SerializeToString())
    return str(path)


async def test_hammer_finds_its_method_in_a_protoset(protoset: str) -> None:
    data = ("-d", '{"message": "hi"}', "--check", 'resp.message == "hi"')
    async with serving([Echo()]) as endpoint:
        ended = await hammer("--backends", str(endpoint), "test.Echo/Say", "--protoset", protoset, *data, *BRIEF)
    assert (ended.status, ended.document["ok"]) == (0, 4)
    assert (ended.document["method"], ended.document["described_by"]) == ("test.Echo/Say", "files")


async def test_hammer_finds_its_method_in_source(tmp_path: Path) -> None:
    (tmp_path / "echo.proto").write_text(SOURCE)
    files = ("--proto", "echo.proto", "--import-path", str(tmp_path))
    async with serving([Echo()]) as endpoint:
        ended = await hammer("--backends", str(endpoint), "echo", "Say", *files, "-d", '{"count": "9"}', *BRIEF)
    assert (ended.status, ended.document["ok"], ended.document["described_by"]) == (0, 4, "files")


async def test_files_tell_which_sides_stream_also_where_messages_are_bytes(tmp_path: Path, protoset: str) -> None:
    (tmp_path / "m.bin").write_bytes(b"\x0a\x02hi")
    options = ("--protoset", protoset, "--binary-file", str(tmp_path / "m.bin"), *BRIEF)
    async with serving([Echo()]) as endpoint:
        ended = await hammer("--backends", str(endpoint), "test.Echo/Push", *options)
    assert (ended.status, ended.document["ok"], ended.document["streams"]["sent"]) == (0, 4, 4)


async def test_compare_finds_its_method_in_a_protoset(protoset: str) -> None:
    policies = ("--policy", "round_robin", "--policy", "p2c", "--rounds", "1", "--pause", "0", "-n", "4", "-c", "1")
    async with serving([Echo()]) as endpoint:
        ended = await lbctl("compare", "--backends", str(endpoint), "x", "Say", "--protoset", protoset, *policies)
    assert (ended.status, "test.Echo/Say" in ended.out) == (0, True)


async def test_weights_are_found_by_a_method_of_a_protoset(protoset: str, etcd: Etcd, etcd_server: EtcdServer) -> None:
    async with serving([Echo()]) as endpoint:
        await etcd.put(b"/services/described/a", f"{endpoint}|5".encode())
        measure = ("weight", "described", "--auto", "Say", "--window", "200ms", "-r", "100", "-o", "json")
        asked = await lbctl(*measure, etcd=etcd_server.endpoint)
        found = await lbctl(*measure, "--protoset", protoset, "-d", '{"message": "hi"}', etcd=etcd_server.endpoint)
    assert (asked.status, "does not answer gRPC server reflection" in asked.err) == (5, True)
    document = json.loads(found.out)
    assert (found.status, document["method"]) == (0, "test.Echo/Say")
    assert (document["instances"][0]["requests"] > 0, document["instances"][0]["errors"]) == (True, 0)


async def test_a_method_that_is_not_in_the_files_is_refused_before_anybody_is_asked(protoset: str) -> None:
    ended = await hammer("--backends", "127.0.0.1:1", "test.Echo/Sya", "--protoset", protoset)
    assert (ended.status, ended.err) == (4, 'error: no method "test.Echo/Sya"\nhint: did you mean test.Echo/Say?\n')


async def test_import_paths_alone_are_refused() -> None:
    ended = await hammer("--backends", "127.0.0.1:1", "a.B/C", "--import-path", ".")
    assert (ended.status, ended.err.splitlines()[0]) == (2, "error: --import-path is for --proto")


async def test_etcd_itself_is_called_by_its_files(tmp_path: Path, etcd_server: EtcdServer) -> None:
    files: list[FileDescriptorProto] = []
    for descriptor in (*rpc_pb2.DESCRIPTOR.dependencies, rpc_pb2.DESCRIPTOR):
        file = FileDescriptorProto()
        descriptor.CopyToProto(file)
        files.append(file)
    path = tmp_path / "etcd.pb"
    path.write_bytes(FileDescriptorSet(file=files).SerializeToString())
    server = ("--backends", etcd_server.endpoint)
    closed = await lbctl("methods", *server)
    assert (closed.status, "does not answer gRPC server reflection" in closed.err) == (5, True)
    request = ("-d", '{"key": "Lw==", "limit": "1"}', "--check", "resp.header.revision > 0")
    ended = await hammer(*server, "etcdserverpb.KV/Range", "--protoset", str(path), *request, *BRIEF)
    assert (ended.status, ended.document["ok"]) == (0, 4)
