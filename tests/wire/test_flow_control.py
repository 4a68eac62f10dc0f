"""Flow control both ways, against a peer that counts every byte."""

from __future__ import annotations

import itertools

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Connection, Request, answering
from tests.wire import frames as h2
from tests.wire.frames import data, message, okh, reply, trailers
from tests.wire.harness import call, calls, failed, greet, greeted, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

KB, MB = 1024, 1024 * 1024


async def exactly(peer: Connection, request: Request, size: int) -> None:
    """All the client may send is ``size`` bytes, and that is what it sends."""
    await peer.body(request, size)
    await peer.barrier()
    assert len(request.body) == size


async def test_a_stream_window_of_0_holds_the_body_until_it_grows() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.opened()
        await peer.barrier()
        assert request.body == b""
        peer.send(h2.settings({h2.INITIAL_WINDOW_SIZE: 3}))
        await exactly(peer, request, 3)
        peer.send(h2.settings({h2.INITIAL_WINDOW_SIZE: h2.DEFAULT_WINDOW}))
        await peer.whole(request)
        assert request.message == b"twenty bytes of body"
        peer.send(reply(request.stream))

    async with meeting(behave, settings={h2.INITIAL_WINDOW_SIZE: 0}, credit=False) as (_, client):
        succeeded(await call(client, b"twenty bytes of body"))


async def test_a_stream_window_may_become_negative_and_must_be_earned_back() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.opened()
        await exactly(peer, request, 10)
        peer.send(h2.settings({h2.INITIAL_WINDOW_SIZE: 0}))
        await peer.acknowledged(2)
        peer.send(h2.window_update(request.stream, 10))
        await exactly(peer, request, 10)
        peer.send(h2.window_update(request.stream, 2))
        await exactly(peer, request, 12)
        peer.send(h2.settings({h2.INITIAL_WINDOW_SIZE: 1000}))
        peer.send(reply((await peer.whole(request)).stream))

    async with meeting(behave, settings={h2.INITIAL_WINDOW_SIZE: 10}, credit=False) as (_, client):
        succeeded(await call(client, bytes(100)))


async def test_a_large_body_stops_exactly_where_the_windows_end() -> None:
    body = bytes(range(256)) * 800  # 200 KB

    async def behave(peer: Connection) -> None:
        request = await peer.opened()
        await exactly(peer, request, h2.DEFAULT_WINDOW)
        peer.send(h2.window_update(0, 1000))  # the stream's window is still 0
        await exactly(peer, request, h2.DEFAULT_WINDOW)
        peer.send(h2.window_update(request.stream, 10))
        await exactly(peer, request, h2.DEFAULT_WINDOW + 10)
        peer.send(h2.window_update(request.stream, MB))  # the connection's window has 990 left
        await exactly(peer, request, h2.DEFAULT_WINDOW + 1000)
        peer.send(h2.window_update(0, MB))
        await peer.whole(request)
        assert request.message == body
        assert all(frame.payload for frame in peer.all_seen(h2.DATA)[:-1])
        peer.send(reply(request.stream))

    async with meeting(behave, credit=False) as (_, client):
        succeeded(await call(client, body))


async def test_small_messages_respect_the_connection_window_too() -> None:
    async def behave(peer: Connection) -> None:
        requests = [await peer.request() for _ in range(63)]  # 63 * 1029 bytes fit 65535, 64 do not
        await peer.barrier()
        received = sum(len(frame.payload) for frame in peer.all_seen(h2.DATA))
        assert received <= h2.DEFAULT_WINDOW
        peer.send(h2.window_update(0, MB))
        requests += [await peer.request() for _ in range(37)]
        assert all(request.message == bytes(KB) for request in requests)
        peer.send(*(reply(request.stream) for request in requests))

    async with meeting(behave, credit=False) as (_, client):
        for result in await calls(client, 100, bytes(KB)):
            succeeded(result)


async def test_the_connection_window_is_not_reset_by_finished_calls() -> None:
    """Calls one after another use up the connection's window just the same."""

    async def behave(peer: Connection) -> None:
        for _ in range(63):
            peer.send(reply((await peer.request()).stream))
        last = await peer.opened()
        await peer.barrier()
        assert not last.complete
        peer.send(h2.window_update(0, MB))
        peer.send(reply((await peer.whole(last)).stream))

    async with meeting(behave, credit=False) as (_, client):
        for _ in range(64):
            succeeded(await call(client, bytes(KB)))


async def test_max_frame_size_changes_how_bodies_are_cut_and_nothing_else() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        sizes = [len(frame.payload) for frame in peer.all_seen(h2.DATA)]
        assert sum(sizes) == 60 * KB + 5
        assert max(sizes) > h2.LARGEST_FRAME
        peer.send(reply(request.stream))

    async with meeting(behave, settings={h2.MAX_FRAME_SIZE: 50_000}) as (_, client):
        succeeded(await call(client, bytes(60 * KB)))


async def test_two_blocked_bodies_share_new_credit() -> None:
    async def behave(peer: Connection) -> None:
        first, second = await peer.opened(), await peer.opened()
        await peer.until("the window's end", lambda: len(first.body) + len(second.body) == h2.DEFAULT_WINDOW)
        peer.send(h2.window_update(first.stream, MB), h2.window_update(second.stream, MB))
        before = len(first.body), len(second.body)
        peer.send(h2.window_update(0, 4 * h2.LARGEST_FRAME))
        await peer.barrier()
        assert len(first.body) > before[0]
        assert len(second.body) > before[1]
        peer.send(h2.window_update(0, MB))
        await peer.whole(first)
        await peer.whole(second)
        peer.send(reply(first.stream), reply(second.stream))

    async with meeting(behave, credit=False) as (_, client):
        for result in await calls(client, 2, bytes(150_000)):
            succeeded(result)


async def test_a_window_above_the_limit_resets_the_stream_that_is_still_sending() -> None:
    async def behave(peer: Connection) -> None:
        blocked = await peer.opened()
        await peer.body(blocked, h2.DEFAULT_WINDOW)
        peer.send(h2.window_update(blocked.stream, h2.LARGEST_WINDOW), h2.window_update(blocked.stream, 1))
        assert (await peer.seen(h2.RST_STREAM, stream=blocked.stream)).number == h2.FLOW_CONTROL_ERROR
        peer.send(h2.window_update(0, MB))
        peer.send(reply((await peer.request()).stream))

    async with meeting(behave, credit=False) as (_, client):
        assert (await call(client, bytes(100_000))).reply.code is Code.INTERNAL
        succeeded(await call(client))


async def test_initial_window_that_overflows_an_open_stream_breaks_the_connection() -> None:
    async def behave(peer: Connection) -> None:
        blocked = await peer.opened()
        await peer.body(blocked, h2.DEFAULT_WINDOW)
        peer.send(h2.window_update(blocked.stream, h2.DEFAULT_WINDOW + 1))
        peer.send(h2.settings({h2.INITIAL_WINDOW_SIZE: h2.LARGEST_WINDOW}))
        assert (await peer.seen(h2.GOAWAY)).number == h2.FLOW_CONTROL_ERROR

    async with meeting(behave, credit=False) as (_, client):
        failed(await call(client, bytes(100_000)), Code.UNAVAILABLE, Origin.TRANSPORT, "peer protocol error")


@pytest.mark.parametrize("whole_reply", [False, True], ids=["error", "ok"])
async def test_a_status_before_the_body_is_through_stands_and_stops_the_body(whole_reply: bool) -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.opened()
        await exactly(peer, request, h2.DEFAULT_WINDOW)
        sid = request.stream
        peer.send(reply(sid) if whole_reply else okh(sid) + trailers(sid, 7))
        assert (await peer.seen(h2.RST_STREAM, stream=request.stream)).number == h2.NO_ERROR
        peer.send(h2.window_update(0, MB), h2.window_update(request.stream, MB))
        later = await peer.request()
        assert len(request.body) == h2.DEFAULT_WINDOW
        peer.send(reply(later.stream))

    async with meeting(behave, credit=False) as (_, client):
        result = await call(client, bytes(100_000))
        if whole_reply:
            succeeded(result)
        else:
            failed(result, Code.PERMISSION_DENIED, Origin.SERVER)
        succeeded(await call(client))


# ---- what we grant ---------------------------------------------------------------------------------------------------


async def test_one_byte_per_padded_frame_never_stalls_a_reply() -> None:
    """10 MB of padding around 40 KB: the stream's window of 8 MiB must be credited for padding too."""
    body = bytes(range(256)) * 160

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        sid, whole = request.stream, message(body)
        start = peer.ledger.streams[sid].may_send
        sums = {0}
        peer.send(okh(sid))
        for at in range(0, len(whole), 256):
            pieces = whole[at : at + 256]
            await peer.room(sid, 257 * len(pieces))
            peer.send(*(data(sid, pieces[i : i + 1], pad=255) for i in range(len(pieces))))
            sums.update(257 * (at + i + 1) for i in range(len(pieces)))
        granted = peer.ledger.streams[sid].may_send + 257 * len(whole) - start
        assert granted in sums, "credit is not what whole frames took"
        peer.send(trailers(sid))

    async with meeting(behave) as (_, client):
        succeeded(await call(client, timeout_s=5.0), body)


async def test_late_and_padded_data_is_credited_to_the_connection_to_the_byte() -> None:
    """Nine dead streams get 8 MiB each: without credit for them the connection's 64 MiB would be gone for good."""
    frame_size = 1 + 16_000 + 255

    async def behave(peer: Connection) -> None:
        await greet(peer)
        dead = [await peer.request() for _ in range(9)]
        for request in dead:
            await peer.seen(h2.RST_STREAM, stream=request.stream)
        start, sent_before = peer.ledger.may_send, len(message(b"reply"))
        number = itertools.count(1)
        sent = 0
        for request in dead:
            chunk = data(request.stream, bytes(16_000), pad=255)
            while peer.ledger.streams[request.stream].may_send >= frame_size:
                await peer.room(0, frame_size)
                peer.send(chunk)
                sent = next(number) * frame_size
                await peer.drain()
        await peer.barrier()
        granted = peer.ledger.may_send + sent - start
        assert granted == 0 or (granted - sent_before) % frame_size == 0, "credit is not what whole frames took"
        assert sent - granted < 33 * MB
        later = await peer.request()
        peer.send(reply(later.stream))

    async with meeting(behave) as (_, client):
        await greeted(client)
        for result in await calls(client, 9, timeout_s=0.05):
            failed(result, Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        succeeded(await call(client, timeout_s=5.0))
        assert client.counters["late_frames"] == 9 * (8 * MB // frame_size)


async def test_credit_is_given_in_large_pieces() -> None:
    big = bytes(300 * KB)
    async with meeting(answering(lambda sid: reply(sid, big))) as (server, client):
        for _ in range(30):
            succeeded(await call(client), big)
    assert len(server.connections[0].all_seen(h2.WINDOW_UPDATE)) <= 2
