"""Proxies that know one version of server reflection and answer the other as HTTP, not as gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded

from lbctl.model import Endpoint
from lbctl.rpc.schemas.asking import Versions
from lbctl.rpc.schemas.conversation import PATHS
from lbctl.rpc.schemas.reflection import load_method
from tests.rpc.servers import V1, V1ALPHA, Reflection, echo_files, listening

ECHO = Reflection(echo_files(), ["test.Echo"])


class Proxy:
    """Passes one path on, as it were, and answers all others with an HTTP status; remembers what was asked."""

    def __init__(self, path: str, status: int) -> None:
        self.asked: list[str] = []
        self._path = path
        self._status = status

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Endpoint]:
        async with listening(self._talk) as endpoint:
            yield endpoint

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http = H2Connection(H2Configuration(client_side=False))
        http.initiate_connection()
        paths: dict[int, str] = {}
        questions: dict[int, bytes] = {}
        writer.write(http.data_to_send())
        while octets := await reader.read(65536):
            for event in http.receive_data(octets):
                if isinstance(event, RequestReceived):
                    paths[event.stream_id] = dict(event.headers)[b":path"].decode()
                elif isinstance(event, DataReceived):
                    questions[event.stream_id] = questions.get(event.stream_id, b"") + event.data
                elif isinstance(event, StreamEnded):
                    self._answer(http, event.stream_id, paths[event.stream_id], questions[event.stream_id])
            writer.write(http.data_to_send())

    def _answer(self, http: H2Connection, stream: int, path: str, question: bytes) -> None:
        self.asked.append(path)
        if path != self._path:
            http.send_headers(stream, [(":status", str(self._status)), ("content-type", "text/html")])
            http.send_data(stream, b"<p>sorry</p>", end_stream=True)
            return
        answer = ECHO._answer(ServerReflectionRequest.FromString(question[5:])).SerializeToString()
        http.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc")])
        http.send_data(stream, b"\0" + len(answer).to_bytes(4, "big") + answer)
        http.send_headers(stream, [("grpc-status", "0")], end_stream=True)


@pytest.mark.parametrize("status", [404, 502, 503, 400])
async def test_v1alpha_is_asked_where_a_proxy_has_no_route_for_v1(status: int) -> None:
    proxy = Proxy(PATHS["v1alpha"], status)
    versions: Versions = {}
    async with proxy.listening() as endpoint:
        first = await load_method([endpoint], "Say", timeout_s=5, versions=versions)
        assert (first.protocol, proxy.asked[:2]) == ("v1alpha", [f"/{V1}/ServerReflectionInfo", PATHS["v1alpha"]])
        proxy.asked.clear()
        again = await load_method([endpoint], "Say", timeout_s=5, versions=versions)
    assert (again.protocol, set(proxy.asked)) == ("v1alpha", {f"/{V1ALPHA}/ServerReflectionInfo"})


async def test_a_proxy_that_knows_v1_alone_is_never_asked_for_the_other() -> None:
    proxy = Proxy(PATHS["v1"], 404)
    async with proxy.listening() as endpoint:
        assert (await load_method([endpoint], "Say", timeout_s=5)).protocol == "v1"
    assert set(proxy.asked) == {PATHS["v1"]}
