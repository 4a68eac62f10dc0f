"""The watch against a real etcd, through what happens to it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import datetime
from random import Random

import pytest

from lbctl.clock import SystemClock
from lbctl.commands.screen import WatchControls, WatchReport
from lbctl.commands.watch import Means, Watch, run
from lbctl.commands.watch_book import Told
from lbctl.demo.etcd_server import EtcdServer
from lbctl.errors import NotFound
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.model import Instance
from lbctl.rpc.access import Access
from lbctl.rpc.tls import Credentials, TlsOptions
from tests.rpc.servers import CERTS, health_of, serving

A, B = b"/services/echo/127.0.0.1:1", b"/services/echo/127.0.0.1:2"


class Onlooker:
    """A screen that shows nothing: it keeps the controls and the report, and collects what is told."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.controls: WatchControls | None = None
        self.report: Callable[[], WatchReport] | None = None
        self._news = asyncio.Event()

    @asynccontextmanager
    async def _show(self) -> AsyncIterator[None]:
        yield

    def showing(self, report: Callable[[], WatchReport], controls: WatchControls) -> AbstractAsyncContextManager[None]:
        self.report, self.controls = report, controls
        return self._show()

    def tell(self, told: Told, at: datetime) -> None:
        self.told.append(told)
        self._news.set()

    async def hears(self, kind: str, text: str, backend: str | None = None) -> Told:
        """Wait for an event of this kind with this text in it, about this backend if one is named."""
        async with asyncio.timeout(20):
            while True:
                for told in self.told:
                    event = told.event
                    if event.kind == kind and text in event.text and backend in (None, event.backend):
                        return told
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def watching(
    endpoint: str, *, check: bool = False, access_for: Callable[[Instance], Access] | None = None
) -> AsyncIterator[Onlooker]:
    """Watch ``echo`` for a block."""
    onlooker = Onlooker()
    async with Etcd(EtcdConfig((endpoint,)), Random(1)) as etcd:
        request = Watch("echo", check=check, interval_s=0.05, timeout_s=1.0, access_for=access_for)
        work = asyncio.create_task(run(Means(etcd, SystemClock(), Random(1)), request, onlooker, onlooker.tell))
        try:
            await onlooker.hears("resync", "synced at rev")
            yield onlooker
            assert onlooker.controls is not None
            onlooker.controls.stop()
        except BaseException:
            work.cancel()
            raise
        await work


@contextmanager
def bound() -> Iterator[str]:
    """An address that refuses connections for as long as the block lasts: bound, and not listening."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{reserved.getsockname()[1]}"


@pytest.fixture
def closed() -> Iterator[str]:
    with bound() as address:
        yield address


async def test_joins_weights_and_leaves_are_told_as_they_happen(etcd: Etcd) -> None:
    await etcd.put(A, b"127.0.0.1:1|5")
    async with watching(etcd.endpoints[0]) as onlooker:
        lease = await etcd.grant(60)
        await etcd.put(B, b"127.0.0.1:2|2", lease)
        joined = await onlooker.hears("joined", "weight 2, lease ..")
        assert joined.event.backend == "127.0.0.1:2"
        assert "ttl 60s" in joined.event.text
        revision = await etcd.put(B, b"127.0.0.1:2|4", lease)
        weight = await onlooker.hears("weight", "weight 2 -> 4")
        assert weight.revision == revision
        await etcd.delete(A)
        assert (await onlooker.hears("left", "key deleted")).event.backend == "127.0.0.1:1"
        await etcd.revoke(lease)
        assert (await onlooker.hears("left", "its lease is gone")).event.backend == "127.0.0.1:2"


async def test_a_key_that_becomes_something_else_is_not_told_as_deleted(etcd: Etcd) -> None:
    await etcd.put(A, b"127.0.0.1:1|5")
    await etcd.put(B, b"127.0.0.1:2|2")
    async with watching(etcd.endpoints[0]) as onlooker:
        await etcd.put(A, b"127.0.0.1:1")
        plain = await onlooker.hears("left", "its key is of the layout plain now")
        assert plain.event.backend == "127.0.0.1:1"
        await etcd.put(B, b"rpcx_path")
        nothing = await onlooker.hears("left", "its key is no registration now")
        assert nothing.event.backend == "127.0.0.1:2"


async def test_the_report_has_share_lease_and_health(etcd: Etcd) -> None:
    lease = await etcd.grant(60)
    with bound() as one, bound() as other:
        await etcd.put(b"/services/echo/a", f"{one}|3".encode(), lease)
        await etcd.put(b"/services/echo/b", f"{other}|1".encode())
        async with watching(etcd.endpoints[0], check=True) as onlooker:
            await onlooker.hears("health", "REFUSED", one)
            await onlooker.hears("health", "REFUSED", other)
            assert onlooker.report is not None
            first, second = onlooker.report().rows
    assert (first.share, second.share) == (0.75, 0.25)
    assert (first.state, first.health, second.health) == ("down", "REFUSED", "REFUSED")
    assert (first.granted_s, second.granted_s) == (60, None)
    assert first.ttl_s is not None
    assert 50 < first.ttl_s <= 60


async def test_who_states_another_protocol_is_not_asked_for_its_health(etcd: Etcd) -> None:
    callers: list[object] = []
    web = await asyncio.start_server(lambda reader, writer: callers.append(writer), "127.0.0.1", 0)
    port = web.sockets[0].getsockname()[1]
    async with web, serving(healthy=health_of(2)) as endpoint:
        value = {"id": "1", "name": "echo", "version": "", "metadata": {}}
        endpoints = [f"http://127.0.0.1:{port}", f"grpc://{endpoint}"]
        await etcd.put(b"/microservices/echo/1", json.dumps(value | {"endpoints": endpoints}).encode())
        async with watching(etcd.endpoints[0], check=True) as onlooker:
            await onlooker.hears("health", "NOT_SERVING", str(endpoint))
    assert callers == []


async def test_an_instance_is_asked_for_its_health_in_the_way_its_registration_now_says(etcd: Etcd) -> None:
    secure = Credentials(TlsOptions(ca=CERTS / "ca.pem")).secure("127.0.0.1")

    def access_for(instance: Instance) -> Access:
        return Access(secure=secure if instance.weight == 2 else None)

    async with serving(healthy=health_of(1), tls=True) as endpoint:
        await etcd.put(b"/services/echo/a", f"{endpoint}|1".encode())
        async with watching(etcd.endpoints[0], check=True, access_for=access_for) as onlooker:
            await onlooker.hears("health", "TLS (speaks TLS, not plaintext HTTP/2)", str(endpoint))
            await etcd.put(b"/services/echo/a", f"{endpoint}|2".encode())
            await onlooker.hears("health", "TLS -> SERVING", str(endpoint))


async def test_a_health_check_can_be_asked_for_by_hand(etcd: Etcd, closed: str) -> None:
    await etcd.put(b"/services/echo/a", f"{closed}|3".encode())
    async with watching(etcd.endpoints[0]) as onlooker:
        assert onlooker.report is not None
        assert onlooker.report().rows[0].health is None
        assert onlooker.controls is not None
        onlooker.controls.check()
        await onlooker.hears("health", "REFUSED", closed)


async def test_a_service_that_is_not_there_is_refused_with_the_nearest_name(etcd: Etcd) -> None:
    await etcd.put(b"/services/ecco/127.0.0.1:1", b"127.0.0.1:1|3")
    onlooker = Onlooker()
    with pytest.raises(NotFound, match='no service "echo" in etcd') as refused:
        await run(Means(etcd, SystemClock(), Random(1)), Watch("echo"), onlooker, onlooker.tell)
    assert refused.value.hint == "did you mean: ecco"


async def test_a_restart_of_etcd_is_two_events_and_nothing_is_lost(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,)), Random(2)) as writer:
        await writer.put(A, b"127.0.0.1:1|5")
        async with watching(own_etcd.endpoint) as onlooker:
            await own_etcd.kill()
            await onlooker.hears("resync", "registry lost: ")
            assert onlooker.report is not None
            assert onlooker.report().stale_s is not None
            assert len(onlooker.report().rows) == 1
            await own_etcd.restart()
            await onlooker.hears("resync", "synced again at rev ")
            await writer.put(B, b"127.0.0.1:2|2")
            await writer.put(A, b"127.0.0.1:1|9")
            await onlooker.hears("joined", "weight 2")
            await onlooker.hears("weight", "weight 5 -> 9")
            assert onlooker.report().stale_s is None
