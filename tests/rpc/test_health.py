"""Health checks against real servers, and what is said of ports that are none."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from lbctl.model import Endpoint
from lbctl.rpc.health import Health, Prober, Status, check
from tests.fakes import FakeClock
from tests.rpc.servers import answering, black_hole, checking, health_of, refused_port, serving


@pytest.mark.parametrize(("number", "status"), [(1, Status.SERVING), (2, Status.NOT_SERVING), (0, Status.UNKNOWN)])
async def test_a_backend_says_how_it_is(number: health_pb2.HealthCheckResponse.ServingStatus, status: Status) -> None:
    async with serving(healthy=health_of(number)) as endpoint:
        health = await check(endpoint, timeout_s=5)
    assert health.status is status
    assert health.detail == ""
    assert health.rtt_s is not None
    assert 0 < health.rtt_s < 5


async def test_the_round_trip_is_taken_from_the_clock_that_is_given() -> None:
    clock = FakeClock()

    async def answer(_: object) -> bytes:
        clock.advance(0.000_123)
        return b"\x08\x01"

    async with serving([checking(answer)]) as endpoint, Prober(clock=clock) as prober:
        assert (await prober.check(endpoint, timeout_s=5)).rtt_s == pytest.approx(0.000_123)


async def test_one_service_of_a_server_is_asked_by_name() -> None:
    async with serving(healthy=health_of(2, "test.Echo")) as endpoint:
        assert (await check(endpoint, service="test.Echo", timeout_s=5)).status is Status.NOT_SERVING
        assert (await check(endpoint, service="test.Nobody", timeout_s=5)).status is Status.SERVICE_UNKNOWN


async def test_a_status_of_a_later_version_is_unknown() -> None:
    async def answer(_: object) -> bytes:
        return b"\x08\x63"

    async with serving([checking(answer)]) as endpoint:
        assert (await check(endpoint, timeout_s=5)).status is Status.UNKNOWN


async def test_a_server_without_health_checks_is_reachable_all_the_same() -> None:
    async with serving() as endpoint:
        health = await check(endpoint, timeout_s=5)
    assert (health.status, health.detail) == (Status.UNIMPLEMENTED, "does not offer grpc.health.v1.Health")
    assert health.rtt_s is not None


@pytest.mark.parametrize("code", ["UNAVAILABLE", "PERMISSION_DENIED"])
async def test_a_refused_check_is_told_in_the_servers_words(code: str) -> None:
    async def answer(context: Any) -> bytes:  # noqa: ANN401 # grpc's context has no public type
        await context.abort(grpc.StatusCode[code], "warming\x1b[2J up")
        return b""

    async with serving([checking(answer)]) as endpoint:
        health = await check(endpoint, timeout_s=5)
    assert (health.status, health.detail) == (Status.ERROR, f"answered {code}: warming\\x1b[2J up")


async def test_a_check_that_hangs_is_a_timeout() -> None:
    async def answer(_: object) -> bytes:
        await asyncio.Event().wait()
        return b""

    async with serving([checking(answer)]) as endpoint:
        health = await check(endpoint, timeout_s=0.1)
    assert health == Health(Status.TIMEOUT, None, "did not answer within 0.1s")


async def test_a_refused_port_is_refused() -> None:
    with refused_port() as endpoint:
        assert await check(endpoint) == Health(Status.REFUSED, None, "refused the connection")


async def test_a_silent_port_is_a_timeout() -> None:
    with black_hole() as endpoint:
        health = await check(endpoint, timeout_s=0.05)
    assert health == Health(Status.TIMEOUT, None, "did not answer within 0.05s")


async def test_a_tls_port_is_tls() -> None:
    async with serving(tls=True) as endpoint:
        assert await check(endpoint) == Health(Status.TLS, None, "speaks TLS, not plaintext HTTP/2")


async def test_an_http1_port_is_http1() -> None:
    async with answering(b"HTTP/1.1 404 Not Found\r\n\r\n") as endpoint:
        assert await check(endpoint) == Health(Status.HTTP1, None, "speaks HTTP/1.x, not HTTP/2")


async def test_a_name_that_does_not_resolve_is_an_error() -> None:
    health = await check(Endpoint("a host/that cannot be", 1), timeout_s=5)
    assert (health.status, health.rtt_s) == (Status.ERROR, None)
    assert health.detail.startswith("cannot be reached (")


async def test_a_prober_keeps_its_connections() -> None:
    peers: list[str] = []

    async def answer(context: Any) -> bytes:  # noqa: ANN401 # grpc's context has no public type
        peers.append(context.peer())
        return b"\x08\x01"

    async with serving([checking(answer)]) as endpoint, Prober() as prober:
        for _ in range(3):
            assert (await prober.check(endpoint, timeout_s=5)).status is Status.SERVING
        await prober.keep([endpoint])
        await prober.check(endpoint, timeout_s=5)
        assert len(set(peers)) == 1
        await prober.keep([])
        await prober.check(endpoint, timeout_s=5)
    assert len(set(peers)) == 2


async def test_a_prober_sees_a_backend_die_and_come_back() -> None:
    async with Prober() as prober:
        async with serving(healthy=health_of(1)) as endpoint:
            assert (await prober.check(endpoint, timeout_s=5)).status is Status.SERVING
        assert (await prober.check(endpoint, timeout_s=5)).status is Status.REFUSED
        async with serving(healthy=health_of(1), port=endpoint.port):
            assert (await prober.check(endpoint, timeout_s=5)).status is Status.SERVING


async def test_checks_of_one_address_at_once_do_not_disturb_each_other() -> None:
    async with Prober(at_once=2) as prober:
        with refused_port() as refused:
            async with serving(healthy=health_of(1)) as endpoint:
                checks = [prober.check(e, timeout_s=5) for e in (endpoint, refused, endpoint, refused, endpoint)]
                found = [health.status for health in await asyncio.gather(*checks)]
    assert found == [Status.SERVING, Status.REFUSED, Status.SERVING, Status.REFUSED, Status.SERVING]


async def test_a_cancelled_check_is_cancelled_at_the_server() -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def answer(_: object) -> bytes:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()
        return b""

    async with serving([checking(answer)]) as endpoint, Prober() as prober:
        checking_it = asyncio.ensure_future(prober.check(endpoint, timeout_s=5))
        await asyncio.wait_for(asked.wait(), 5)
        checking_it.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking_it
        await asyncio.wait_for(gone.wait(), 5)
