"""Values swapped on a real etcd: only over what was read, all or none, and the leases stay as they are."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from lbctl.demo.etcd_server import EtcdServer
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Changes, Snapshot
from lbctl.etcd.swap import Beside, Swap, swap
from lbctl.model import Entry
from tests.etcd.proxy import TcpProxy

pytestmark = pytest.mark.e2e


async def held(etcd: Etcd, key: bytes) -> Entry:
    entry = await etcd.get(key)
    assert entry is not None
    return entry


async def test_a_value_is_swapped_under_the_lease_that_its_key_has(etcd: Etcd) -> None:
    lease = await etcd.grant(60)
    read = await etcd.put(b"/k", b"old", lease)

    done = await swap(etcd, [Swap(b"/k", b"new", read)])

    entry, left = await held(etcd, b"/k"), await etcd.time_to_live(lease)
    assert done == (True, read + 1, ())
    assert entry == Entry(b"/k", b"new", lease, read, read + 1)
    assert left is not None
    assert 0 < left.ttl <= left.granted == 60
    assert await etcd.revoke(lease)
    assert await etcd.get(b"/k") is None, "the key still goes with its lease"


@pytest.mark.slow
async def test_a_swap_does_not_renew_the_lease(own_etcd: EtcdServer) -> None:
    async with Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd:
        lease = await etcd.grant(2)
        revision = await etcd.put(b"/k", b"0", lease)
        async with asyncio.timeout(20), aclosing(etcd.watch(b"/k")) as events:
            async for event in events:
                match event:
                    case Snapshot():
                        pass
                    case Changes(_, ((_, None, _),)):
                        return  # it expired although it was written to all the time
                left = await etcd.time_to_live(lease)
                if left is not None:
                    revision = (await swap(etcd, [Swap(b"/k", b"again", revision)])).revision


async def test_a_permanent_key_stays_permanent(etcd: Etcd) -> None:
    read = await etcd.put(b"/k", b"old")

    assert (await swap(etcd, [Swap(b"/k", b"new", read)])).done

    assert await held(etcd, b"/k") == Entry(b"/k", b"new", 0, read, read + 1)


async def test_what_changed_meanwhile_is_told_and_not_overwritten(etcd: Etcd) -> None:
    read = await etcd.put(b"/k", b"old")
    await etcd.put(b"/k", b"of another")

    lost = await swap(etcd, [Swap(b"/k", b"new", read)])

    entry = await held(etcd, b"/k")
    assert not lost.done
    assert lost.current == (entry,)
    assert entry.value == b"of another"


async def test_a_key_that_is_gone_is_not_made_again(etcd: Etcd) -> None:
    read = await etcd.put(b"/k", b"old")
    await etcd.delete(b"/k")

    lost = await swap(etcd, [Swap(b"/k", b"new", read)])

    assert (lost.done, lost.current) == (False, (None,))
    assert await etcd.get(b"/k") is None


async def test_of_several_keys_all_are_written_or_none(etcd: Etcd) -> None:
    first, second = await etcd.put(b"/a", b"1"), await etcd.put(b"/b", b"1")
    await etcd.put(b"/b", b"2")

    lost = await swap(etcd, [Swap(b"/a", b"new", first), Swap(b"/b", b"new", second)])

    assert not lost.done
    assert [None if entry is None else entry.value for entry in lost.current] == [b"1", b"2"]
    assert [entry.value for entry in (await etcd.range(b"/")).entries] == [b"1", b"2"]


async def test_a_watcher_sees_one_change_for_all_of_a_swap(etcd: Etcd) -> None:
    reads = {key: await etcd.put(key, b"old") for key in (b"/w/a", b"/w/b")}
    seen: list[tuple[bytes, int]] = []
    async with asyncio.timeout(20), aclosing(etcd.watch(b"/w/")) as events:
        async for event in events:
            match event:
                case Snapshot():
                    done = await swap(etcd, [Swap(key, b"new", read) for key, read in reads.items()])
                    end = await etcd.put(b"/w/end", b"")
                case Changes(_, changes):
                    seen += [(change.key, change.revision) for change in changes]
            if (b"/w/end", end) in seen:
                break

    assert seen == [(b"/w/a", done.revision), (b"/w/b", done.revision), (b"/w/end", end)]
    assert end == done.revision + 1


async def test_a_swap_whose_answer_was_lost_is_known_to_be_done(own_etcd: EtcdServer) -> None:
    async with (
        TcpProxy(own_etcd.port) as proxy,
        Etcd(EtcdConfig((proxy.endpoint,))) as etcd,
        Etcd(EtcdConfig((own_etcd.endpoint,))) as direct,
    ):
        read = await direct.put(b"/k", b"old")
        proxy.cut_next_after = 80  # settings pass, the answer does not
        done = await swap(etcd, [Swap(b"/k", b"new", read)])

        assert done.done
        assert await held(direct, b"/k") == Entry(b"/k", b"new", 0, read, read + 1), "and it was written once"


async def test_a_key_is_made_only_where_there_is_none(etcd: Etcd) -> None:
    lease = await etcd.grant(60)

    made = await swap(etcd, [Swap(b"/k", b"new", 0, lease)])
    refused = await swap(etcd, [Swap(b"/k", b"newer", 0, lease)])

    assert made.done
    assert (refused.done, refused.current) == (False, (await held(etcd, b"/k"),))
    assert await held(etcd, b"/k") == Entry(b"/k", b"new", lease, made.revision, made.revision)


async def test_the_same_value_under_somebody_elses_lease_is_not_ours(etcd: Etcd) -> None:
    ours, theirs = await etcd.grant(60), await etcd.grant(60)
    await etcd.put(b"/k", b"new", theirs)
    assert not (await swap(etcd, [Swap(b"/k", b"new", 0, ours)])).done
    assert (await held(etcd, b"/k")).lease == theirs


async def test_a_key_is_deleted_only_as_it_was_read(etcd: Etcd) -> None:
    read = await etcd.put(b"/k", b"old")
    await etcd.put(b"/k", b"of another")
    assert not (await swap(etcd, [Swap(b"/k", None, read)])).done

    current = (await held(etcd, b"/k")).mod_revision
    assert (await swap(etcd, [Swap(b"/k", None, current)])).done
    assert await etcd.get(b"/k") is None


async def test_what_goes_beside_a_swap_is_written_with_it_or_not_at_all(etcd: Etcd) -> None:
    lease = await etcd.grant(60)
    read = await etcd.put(b"/k", b"old", lease)
    await etcd.put(b"/stale", b"note")

    done = await swap(
        etcd,
        [Swap(b"/k", b"new", read)],
        [Beside(b"/note", b"old", lease), Beside(b"/stale", None), Beside(b"/no", None)],
    )
    lost = await swap(etcd, [Swap(b"/k", b"newer", read)], [Beside(b"/note", b"older")])

    assert (done.done, lost.done) == (True, False)
    assert await held(etcd, b"/note") == Entry(b"/note", b"old", lease, done.revision, done.revision)
    assert await etcd.get(b"/stale") is None


@pytest.mark.parametrize("value", [b"new", None])
async def test_a_creation_and_a_deletion_whose_answers_were_lost_are_known_to_be_done(
    own_etcd: EtcdServer, value: bytes | None
) -> None:
    async with (
        TcpProxy(own_etcd.port) as proxy,
        Etcd(EtcdConfig((proxy.endpoint,))) as etcd,
        Etcd(EtcdConfig((own_etcd.endpoint,))) as direct,
    ):
        lease = await direct.grant(60)
        read = 0 if value else await direct.put(b"/k", b"old")
        proxy.cut_next_after = 80  # settings pass, the answer does not
        assert (await swap(etcd, [Swap(b"/k", value, read, lease)])).done

        entry = await direct.get(b"/k")
        assert (entry and (entry.value, entry.lease)) == (value and (b"new", lease))
