"""The watch against real etcd processes that fail: what it tells is what etcd says happened, once each, in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count

import pytest

from lbctl.demo.etcd_server import free_port
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Lost, Resumed, Resync
from lbctl.etcd.failures import Unreachable
from lbctl.etcd.stubs import pb
from tests.etcd.members import Member, cluster, leader_of, member
from tests.etcd.mirror import Mirror, history, mirrored
from tests.etcd.proxy import TcpProxy

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PREFIX = b"/services/echo/"
QUICK_PINGS = {"grpc-keepalive-min-time": "100ms"}


def config(*members: Member, keepalive_s: float = 10.0) -> EtcdConfig:
    return EtcdConfig(
        tuple(each.endpoint for each in members), keepalive_s=keepalive_s, keepalive_timeout_s=min(keepalive_s, 5.0)
    )


@asynccontextmanager
async def writing(etcd: Etcd) -> AsyncIterator[None]:
    """Register, change and deregister without end for a block, through whatever happens to etcd."""

    async def write() -> None:
        for number in count():
            key = PREFIX + b"%d" % (number % 5)
            with suppress(Unreachable):
                await (
                    etcd.delete(key) if number % 7 == 6 else etcd.put(key, b"127.0.0.1:%d|1" % (number % 60_000 + 1))
                )
            await asyncio.sleep(0.002)

    task = asyncio.create_task(write())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def told_all(mirror: Mirror, etcd: Etcd, member: Member) -> None:
    """Assert that the view is etcd's in time, and came about by exactly the steps that etcd remembers."""
    await mirror.agrees_with(etcd, PREFIX)
    last = await etcd.put(PREFIX + b"last", b"127.0.0.1:1|1")
    await mirror.until(lambda: mirror.steps[-1].revision >= last)
    steps = list(mirror.steps)
    assert steps == await history(member.endpoint, PREFIX, mirror.began_at, steps[-1].revision)


@pytest.fixture(scope="module")
def nowhere() -> str:
    return f"127.0.0.1:{free_port()}"


async def test_kills_and_restarts_amid_writes_lose_and_repeat_nothing() -> None:
    # It advertises what nobody can reach: the endpoints of the user are used, whatever members say (A24).
    async with (
        member({"advertise-client-urls": "http://etcd.invalid:2379"}) as server,
        Etcd(config(server)) as etcd,
        mirrored(config(server), PREFIX) as mirror,
    ):
        for times in range(1, 4):
            async with writing(etcd):
                steps = len(mirror.steps)
                await mirror.until(lambda least=steps: len(mirror.steps) > least + 20)  # type: ignore[misc]
                await server.kill()
                await mirror.hears(Lost, times)
                await server.start()
                await mirror.hears(Resumed, times)
            await told_all(mirror, etcd, server)

    assert mirror.kinds() == ["Lost", "Resumed"] * 3


async def test_a_frozen_etcd_is_noticed_by_keepalive_and_told_and_the_watch_goes_on_when_it_thaws() -> None:
    async with (
        member(QUICK_PINGS) as server,
        Etcd(config(server)) as etcd,
        mirrored(config(server, keepalive_s=0.5), PREFIX) as mirror,
    ):
        await etcd.put(PREFIX + b"1", b"127.0.0.1:1|1")
        await mirror.until(lambda: len(mirror.steps) == 1)
        server.freeze()
        await mirror.hears(Lost)
        server.thaw()
        await mirror.hears(Resumed)
        await told_all(mirror, etcd, server)

    assert mirror.kinds() == ["Lost", "Resumed"]


async def test_a_short_freeze_is_nobodys_business() -> None:
    async with member() as server, Etcd(config(server)) as etcd, mirrored(config(server), PREFIX) as mirror:
        await etcd.put(PREFIX + b"1", b"127.0.0.1:1|1")
        await mirror.until(lambda: len(mirror.steps) == 1)
        server.freeze()
        writes = [asyncio.create_task(etcd.put(PREFIX + b"%d" % n, b"127.0.0.1:2|1")) for n in range(20)]
        await asyncio.wait(writes, timeout=0.3, return_when=asyncio.FIRST_COMPLETED)
        assert not any(write.done() for write in writes)
        server.thaw()
        await asyncio.gather(*writes)
        await told_all(mirror, etcd, server)

    assert mirror.kinds() == []


async def test_compaction_while_away_is_a_difference_that_leads_to_what_is_there() -> None:
    async with member() as server, TcpProxy(server.port) as proxy, Etcd(config(server)) as etcd:
        for name in (b"stays", b"goes", b"changes", b"again"):
            await etcd.put(PREFIX + name, b"127.0.0.1:1|1")
        async with mirrored(EtcdConfig((proxy.endpoint,)), PREFIX) as mirror:
            await etcd.put(PREFIX + b"changes", b"127.0.0.1:1|2")
            await mirror.until(lambda: len(mirror.steps) == 1)
            await proxy.refuse()
            await mirror.hears(Lost)
            for weight in range(50):
                await etcd.put(PREFIX + b"changes", b"127.0.0.1:1|%d" % weight)
            await etcd.delete(PREFIX + b"goes")
            await etcd.delete(PREFIX + b"again")
            again = await etcd.put(PREFIX + b"again", b"127.0.0.1:1|1")
            now = await etcd.put(PREFIX + b"comes", b"127.0.0.1:2|1")
            request = pb.CompactionRequest(revision=now)
            await etcd.session.call(lambda channel: channel.kv.Compact, request, repeatable=False)
            await proxy.accept()
            await mirror.hears(Resync)
            await mirror.agrees_with(etcd, PREFIX)
            difference = {step.key.removeprefix(PREFIX): step.value for step in mirror.steps[1:]}
            assert difference == {
                b"goes": None,
                b"again": b"127.0.0.1:1|1",  # the same value under a new registration
                b"changes": b"127.0.0.1:1|49",
                b"comes": b"127.0.0.1:2|1",
            }
            assert again in {step.revision for step in mirror.steps}
            await mirror.hears(Resumed)
            await etcd.put(PREFIX + b"later", b"127.0.0.1:3|1")
            await mirror.agrees_with(etcd, PREFIX)

    assert mirror.kinds() == ["Lost", "Resync", "Resumed"]
    assert "compacted" in mirror.reasons()[-1]


async def test_the_loss_of_the_member_that_serves_the_watch_moves_it_to_another() -> None:
    async with (
        cluster() as members,
        Etcd(config(*members[1:])) as etcd,
        mirrored(config(*members), PREFIX) as mirror,
    ):
        async with writing(etcd):
            await mirror.until(lambda: len(mirror.steps) > 20)
            await members[0].kill()
            await mirror.hears(Resumed)
            assert mirror.served_by == members[1].endpoint
            await members[0].start()
            await members[1].kill()
            await mirror.hears(Resumed, 2)
            others = members[2].endpoint, members[0].endpoint  # the latter where the former still looks for a leader
            assert mirror.served_by in others
            await members[1].start()
        await told_all(mirror, etcd, members[2])

    assert mirror.kinds() == ["Lost", "Resumed"] * 2


async def test_the_loss_of_the_leader_is_survived_wherever_the_watch_is() -> None:
    async with cluster() as members:
        leader = await leader_of(members)
        others = [each for each in members if each is not leader]
        async with (
            Etcd(config(*others)) as etcd,
            mirrored(config(leader, *others), PREFIX) as with_leader,
            mirrored(config(others[0], others[1]), PREFIX) as elsewhere,
        ):
            async with writing(etcd):
                await with_leader.until(lambda: len(with_leader.steps) > 20)
                await leader.kill()
                await with_leader.hears(Resumed)
                await leader_of(others)
            await told_all(with_leader, etcd, others[0])
            await told_all(elsewhere, etcd, others[0])

    assert with_leader.kinds() == ["Lost", "Resumed"]
    assert "Resync" not in elsewhere.kinds()


async def test_a_member_without_a_leader_says_so_and_is_not_believed() -> None:
    async with (
        cluster() as members,
        Etcd(config(members[0])) as etcd,
        mirrored(config(members[0]), PREFIX) as mirror,
    ):
        await etcd.put(PREFIX + b"1", b"127.0.0.1:1|1")
        await mirror.until(lambda: len(mirror.steps) == 1)
        for each in members[1:]:
            each.freeze()
        await mirror.hears(Lost)  # it lives and answers pings: only by asking for a leader can it be told
        for each in members[1:]:
            each.thaw()
        await mirror.hears(Resumed)
        await told_all(mirror, etcd, members[0])

    assert mirror.kinds() == ["Lost", "Resumed"]
    assert mirror.reasons() == ["no leader"]


@pytest.mark.parametrize("how", ["refuses", "is silent"])
async def test_a_dead_endpoint_that_comes_first_is_no_outage(how: str, nowhere: str) -> None:
    async with member() as server, TcpProxy(server.port) as proxy, Etcd(config(server)) as etcd:
        proxy.silence()
        endpoints = (nowhere if how == "refuses" else proxy.endpoint, server.endpoint)
        async with mirrored(EtcdConfig(endpoints, dial_timeout_s=0.5), PREFIX) as mirror:
            await etcd.put(PREFIX + b"1", b"127.0.0.1:1|1")
            await told_all(mirror, etcd, server)

    assert mirror.kinds() == []


async def test_ten_thousand_identical_puts_are_one_key() -> None:
    async with member() as server, Etcd(config(server)) as etcd, mirrored(config(server), PREFIX) as mirror:
        for _ in range(100):
            await asyncio.gather(*(etcd.put(PREFIX + b"1", b"127.0.0.1:1|1") for _ in range(100)))
        await told_all(mirror, etcd, server)

    assert set(mirror.state) == {PREFIX + b"1", PREFIX + b"last"}
    assert len(mirror.steps) == 10_001


async def test_an_empty_service_is_waited_for_and_not_asked_about() -> None:
    async with member() as server, Etcd(config(server)) as etcd, mirrored(config(server), PREFIX) as mirror:
        before = await server.served("Range"), await server.served("Watch")
        for number in range(200):  # empty two hundred times over
            await etcd.put(PREFIX + b"1", b"127.0.0.1:%d|1" % (number + 1))
            await etcd.delete(PREFIX + b"1")
        await mirror.until(lambda: len(mirror.steps) == 400)
        assert mirror.state == {}
        assert (await server.served("Range"), await server.served("Watch")) == before


async def test_an_idle_client_is_not_cut_for_pinging() -> None:
    # As with the times that hold unless said, etcd bears pings that come a little more often, while a call is open.
    async with member({"grpc-keepalive-min-time": "300ms"}) as server, TcpProxy(server.port) as proxy:
        quick = EtcdConfig((proxy.endpoint,), keepalive_s=0.6, keepalive_timeout_s=1.0)
        async with Etcd(quick) as idle, mirrored(quick, PREFIX) as mirror:
            await idle.get(b"k")
            await asyncio.sleep(3.2)  # five pings of the watch; none where nothing is under way
            await idle.get(b"k")
            connections = proxy.accepted

    assert connections == 3  # the idle client's, and a reading and a watch of the other
    assert mirror.kinds() == []


async def test_a_frozen_member_of_three_hands_the_watch_to_another() -> None:
    async with (
        cluster(flags=QUICK_PINGS) as members,
        Etcd(config(*members[1:])) as etcd,
        mirrored(config(*members, keepalive_s=0.5), PREFIX) as mirror,
    ):
        async with writing(etcd):
            await mirror.until(lambda: len(mirror.steps) > 20)
            members[0].freeze()
            await mirror.hears(Resumed)
        await told_all(mirror, etcd, members[1])
        members[0].thaw()
        await told_all(mirror, etcd, members[1])

    assert mirror.kinds() == ["Lost", "Resumed"]
    assert mirror.reasons() == ["no answer to keepalive"]
    assert mirror.served_by in {each.endpoint for each in members[1:]}


async def test_a_call_made_while_there_is_no_leader_waits_longer_than_for_a_connection() -> None:
    async with cluster() as members:
        for each in members[1:]:
            each.freeze()
        async with Etcd(EtcdConfig((members[0].endpoint,), dial_timeout_s=0.2)) as etcd:
            deleting = asyncio.create_task(etcd.delete(PREFIX))  # is not repeated: it was one call that waited
            await asyncio.wait({deleting}, timeout=0.6)
            assert not deleting.done()
            for each in members[1:]:
                each.thaw()
            assert not await deleting


async def test_a_connection_that_goes_silent_costs_a_call_half_its_time_where_there_are_others() -> None:
    async with member() as server, TcpProxy(server.port) as proxy:
        endpoints = (proxy.endpoint, server.endpoint)
        async with Etcd(EtcdConfig(endpoints, dial_timeout_s=0.4, command_timeout_s=1.0)) as etcd:
            await etcd.put(b"k", b"v")
            assert etcd.session.endpoint == proxy.endpoint
            proxy.silence()
            assert await etcd.get(b"k") is not None
            assert etcd.session.endpoint == server.endpoint
