"""Load reports out of band, from a real server of grpcio's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest

from lbctl.balance.load_report import LoadReport, decoded, encoded
from lbctl.model import Code, Endpoint, Origin
from lbctl.rpc.caller import Caller
from lbctl.rpc.orca import METHOD, SERVICE, period_of, request_of, stream_core_metrics
from tests.fakes import quiet_loop, until

__all__ = ["quiet_loop"]

REPORTS = [LoadReport(rps_fractional=10.0, cpu_utilization=number / 10) for number in (1, 2, 3)]


class Server:
    """Writes three reports, the last when it is told to; ``periods`` are those that it was asked for."""

    def __init__(self) -> None:
        self.periods: list[float] = []
        self.go_on = asyncio.Event()
        self.over = False

    async def stream(self, request: bytes, context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        self.periods.append(period_of(request))
        try:
            for number, report in enumerate(REPORTS):
                if number == 2:
                    await self.go_on.wait()
                yield encoded(report)
        finally:
            self.over = True


@asynccontextmanager
async def serving(server: Server | None) -> AsyncIterator[Caller]:
    """A caller of this server, or of one that offers nothing."""
    found = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    port = found.add_insecure_port("127.0.0.1:0")
    if server is not None:
        methods = {METHOD: grpc.unary_stream_rpc_method_handler(server.stream)}
        found.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    await found.start()
    try:
        async with asyncio.timeout(10), Caller(Endpoint("127.0.0.1", port)) as caller:
            yield caller
    finally:
        await found.stop(None)


async def test_reports_are_told_as_they_come_and_the_end_is_a_reply() -> None:
    server, heard = Server(), list[bytes]()
    async with serving(server) as caller:
        following = asyncio.create_task(stream_core_metrics(caller, 2.5, heard.append))
        await until(lambda: len(heard) == 2)
        assert not following.done()
        server.go_on.set()
        assert (await following).code is Code.OK
    assert [decoded(data) for data in heard] == REPORTS
    assert server.periods == [2.5]


async def test_a_server_that_offers_none_says_so() -> None:
    async with serving(None) as caller:
        reply = await stream_core_metrics(caller, 1.0, lambda _: None)
    assert (reply.code, reply.origin) == (Code.UNIMPLEMENTED, Origin.SERVER)


async def test_whoever_stops_listening_ends_the_stream() -> None:
    server, heard = Server(), list[bytes]()
    async with serving(server) as caller:
        following = asyncio.create_task(stream_core_metrics(caller, 1.0, heard.append))
        await until(lambda: heard)
        following.cancel()
        await until(lambda: server.over)


@pytest.mark.parametrize("period_s", [0.001, 0.25, 1.0, 30.0, 86400.0])
def test_the_period_is_the_one_that_was_asked_for(period_s: float) -> None:
    assert period_of(request_of(period_s)) == period_s


@pytest.mark.parametrize("request_", [b"", b"\x0a", b"\x0a\x05\x08", b"\x12\x01x", b"\x0a\x02\x08\xff"])
def test_a_request_that_names_no_period_has_none(request_: bytes) -> None:
    assert period_of(request_) == 0.0
