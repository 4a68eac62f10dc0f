from __future__ import annotations

import asyncio
import time

import grpc
import grpc.aio
import pytest

from lbctl.demo.etcd_server import EtcdServer, free_port
from lbctl.errors import ExitCode, RegistryError
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.failures import Unreachable, reason_of
from tests.etcd.proxy import TcpProxy

pytestmark = pytest.mark.e2e


def impatient(endpoint: str) -> EtcdConfig:
    return EtcdConfig((endpoint,), command_timeout_s=0.5)


async def failing(config: EtcdConfig) -> Unreachable:
    async with Etcd(config) as client:
        with pytest.raises(Unreachable) as caught:
            await client.range(b"/")
    return caught.value


async def test_etcd_down_is_said_within_three_seconds_with_what_to_do() -> None:
    endpoint, began = f"127.0.0.1:{free_port()}", time.monotonic()

    error = await failing(EtcdConfig((endpoint,)))

    assert time.monotonic() - began < 3.0
    assert str(error) == f"etcd {endpoint} did not answer within 2s (connection refused)"
    assert error.hint == "set --endpoints or ETCDCTL_ENDPOINTS, or start one with: lbctl demo"
    assert error.exit_code == ExitCode.REGISTRY


async def test_a_peer_that_accepts_and_says_nothing_is_said_too(etcd_server: EtcdServer) -> None:
    async with TcpProxy(etcd_server.port) as proxy:
        proxy.silence()
        error = await failing(EtcdConfig((proxy.endpoint,), dial_timeout_s=0.5))

        assert str(error) == f"etcd {proxy.endpoint} did not answer within 0.5s (timed out)"


async def test_a_name_that_does_not_resolve_is_said() -> None:
    error = await failing(EtcdConfig(("etcd.invalid:2379",), dial_timeout_s=0.5))

    assert str(error) == "etcd etcd.invalid:2379 did not answer within 0.5s (the name does not resolve)"


async def test_a_server_of_something_else_is_suspected_by_name() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 505 HTTP Version Not Supported\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        endpoint = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        error = await failing(EtcdConfig((endpoint,), dial_timeout_s=0.5))

    said = f"etcd {endpoint} did not answer within 0.5s (it speaks no HTTP/2; is it the port of another server?)"
    assert str(error) == said


async def test_a_grpc_server_that_is_no_etcd_is_said() -> None:
    server = grpc.aio.server()
    endpoint = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        async with Etcd(EtcdConfig((endpoint,))) as client:
            with pytest.raises(RegistryError) as raised:
                await client.status()
    finally:
        await server.stop(None)

    assert str(raised.value) == f"etcd {endpoint}: it does not know this method of etcd's v3 API"
    assert raised.value.hint == "is this endpoint an etcd? Backends are given with: lbctl hammer --backends HOST:PORT"


async def test_tls_at_one_end_only_is_suspected_by_name(etcd_server: EtcdServer) -> None:
    error = await failing(EtcdConfig((etcd_server.endpoint,), tls=True, dial_timeout_s=0.5))

    assert "TLS" in str(error)


@pytest.mark.parametrize(("answered", "reason"), [(True, "connection closed"), (False, "is TLS on at one end only?")])
def test_tls_is_no_suspect_where_etcd_has_answered_before(answered: bool, reason: str) -> None:
    details = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:2379: Socket closed"
    metadata = grpc.aio.Metadata()
    error = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, metadata, metadata, details=details)
    assert reason_of(error, answered=answered).endswith(reason)


async def test_a_dead_first_endpoint_costs_nothing_but_a_retry(etcd_server: EtcdServer) -> None:
    async with Etcd(EtcdConfig((f"127.0.0.1:{free_port()}", etcd_server.endpoint))) as client:
        status = await client.status()
        assert status.has_leader
        assert (await client.status()).endpoint == etcd_server.endpoint


async def test_a_call_made_while_etcd_is_starting_waits_for_it(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as client:
        await client.put(b"/k", b"v")
        await own_etcd.kill()
        reading = asyncio.create_task(client.get(b"/k"))
        await own_etcd.restart()
        entry = await reading

    assert entry is not None
    assert entry.value == b"v"


async def test_a_connection_that_went_silent_keeps_no_call_beyond_its_deadline(etcd_server: EtcdServer) -> None:
    async with (
        TcpProxy(etcd_server.port) as proxy,
        Etcd(EtcdConfig((proxy.endpoint,), command_timeout_s=0.5)) as client,
    ):
        await client.get(b"/k")
        proxy.silence()
        with pytest.raises(Unreachable, match=r"did not answer within 0\.5s \(connected, but the request timed out"):
            await client.get(b"/k")


@pytest.mark.slow
async def test_calls_work_again_soon_after_a_long_outage(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as client:
        await client.put(b"/k", b"v")
        await own_etcd.kill()
        async with asyncio.timeout(60):
            for _ in range(8):
                with pytest.raises(Unreachable):
                    await client.get(b"/k")
        await own_etcd.restart()
        assert await client.get(b"/k") is not None
