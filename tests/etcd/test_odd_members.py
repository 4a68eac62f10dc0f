"""What a watch makes of members that lag behind, repeat themselves, or consent to what they then refuse."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Changes, Lost, Resync, Snapshot, WatchEvent
from lbctl.etcd.stubs import Message, pb
from tests.etcd.scripted import header, scripted

REVISION = 100


def created(revision: int = REVISION, term: int = 2, **more: object) -> Message:
    return pb.WatchResponse(header=header(revision, term), created=True, **more)


def events(*revisions: int, at: int = 1_000) -> Message:
    """Puts of one key, in a reply whose header is ahead of them, as it is while the server catches up."""
    reply = pb.WatchResponse(header=header(at))
    for revision in revisions:
        reply.events.add().kv.MergeFrom(_kv(revision))
    return reply


def _kv(revision: int) -> Message:
    from etcd3.etcdrpc import kv_pb2

    return kv_pb2.KeyValue(key=b"/k", value=b"%d" % revision, mod_revision=revision, create_revision=1)


async def told(endpoint: str, count: int) -> list[WatchEvent]:
    """The first events of a watch."""
    found: list[WatchEvent] = []
    async with Etcd(EtcdConfig((endpoint,))) as etcd, aclosing(etcd.watch(b"/")) as watched, asyncio.timeout(10):
        async for event in watched:
            found.append(event)
            if len(found) == count:
                break
    return found


def revisions(found: list[WatchEvent]) -> list[int]:
    return [change.revision for event in found if isinstance(event, Changes) for change in event.changes]


@pytest.mark.parametrize("lagging", [created(REVISION - 40), created(REVISION, term=1)], ids=["revision", "term"])
async def test_a_member_that_lags_behind_is_no_other_store(lagging: Message) -> None:
    async with scripted([header(REVISION)], [[lagging, events(101)]]) as (endpoint, etcd):
        found = await told(endpoint, 2)

    assert [type(event) for event in found] == [Snapshot, Changes]
    assert [request.start_revision for request in etcd.asked] == [REVISION + 1]


async def test_a_store_that_knows_less_even_when_asked_is_another_one() -> None:
    reads = [header(REVISION), header(3), header(3)]
    async with scripted(reads, [[created(3)], [created(3), events(4)]]) as (endpoint, etcd):
        found = await told(endpoint, 3)

    assert [type(event) for event in found] == [Snapshot, Resync, Changes]
    assert [request.start_revision for request in etcd.asked] == [REVISION + 1, 4]


async def test_events_that_come_twice_or_late_are_taken_once_and_in_order() -> None:
    replies = [created(), events(101, 102), events(101, 102), events(102, 103), events(99), events(104)]
    async with scripted([header(REVISION)], [replies]) as (endpoint, _):
        found = await told(endpoint, 4)

    assert revisions(found) == [101, 102, 103, 104]


async def test_a_mark_of_progress_moves_the_revision_and_is_no_event() -> None:
    progress = pb.WatchResponse(header=header(500))
    async with scripted([header(REVISION)], [[created(), progress, events(450, 501)]]) as (endpoint, _):
        found = await told(endpoint, 2)

    assert revisions(found) == [501]


@pytest.mark.parametrize("watch_id", [0, -1])
async def test_consent_that_is_a_refusal_at_the_same_time_is_told(watch_id: int) -> None:
    refusal = created(watch_id=watch_id, canceled=True, cancel_reason="etcdserver: permission denied")
    async with scripted([header(REVISION)], [[refusal]]) as (endpoint, _):
        found = await told(endpoint, 2)

    assert [type(event) for event in found] == [Snapshot, Lost]
    assert "permission denied" in str(found[1])
