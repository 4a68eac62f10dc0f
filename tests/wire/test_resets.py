"""RST_STREAM: which code the call gets, when it is retried, and when it changes nothing."""

from __future__ import annotations

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import data, message, msg, okh, reply, rst
from tests.wire.harness import call, calls, failed, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

CODES = {
    h2.NO_ERROR: (Code.INTERNAL, "NO_ERROR"),
    h2.PROTOCOL_ERROR: (Code.INTERNAL, "PROTOCOL_ERROR"),
    h2.INTERNAL_ERROR: (Code.INTERNAL, "INTERNAL_ERROR"),
    h2.FLOW_CONTROL_ERROR: (Code.INTERNAL, "FLOW_CONTROL_ERROR"),
    h2.SETTINGS_TIMEOUT: (Code.INTERNAL, "SETTINGS_TIMEOUT"),
    h2.STREAM_CLOSED: (Code.INTERNAL, "STREAM_CLOSED"),
    h2.FRAME_SIZE_ERROR: (Code.INTERNAL, "FRAME_SIZE_ERROR"),
    h2.CANCEL: (Code.CANCELLED, "CANCEL"),
    h2.COMPRESSION_ERROR: (Code.INTERNAL, "COMPRESSION_ERROR"),
    h2.CONNECT_ERROR: (Code.INTERNAL, "CONNECT_ERROR"),
    h2.ENHANCE_YOUR_CALM: (Code.RESOURCE_EXHAUSTED, "ENHANCE_YOUR_CALM"),
    h2.INADEQUATE_SECURITY: (Code.PERMISSION_DENIED, "INADEQUATE_SECURITY"),
    h2.HTTP_1_1_REQUIRED: (Code.INTERNAL, "HTTP_1_1_REQUIRED"),
    0x7F: (Code.UNKNOWN, "0x7f"),
}


@pytest.mark.parametrize(("code", "outcome"), CODES.items(), ids=[name for _, name in CODES.values()])
async def test_a_reset_before_headers_is_mapped_and_named(code: int, outcome: tuple[Code, str]) -> None:
    async with meeting(answering(lambda sid: rst(sid, code), reply)) as (server, client):
        failed(await call(client), outcome[0], Origin.TRANSPORT, outcome[1])
        succeeded(await call(client))
    assert len(server.connections) == 1


async def test_a_reset_after_the_trailers_changes_nothing() -> None:
    async with meeting(answering(lambda sid: reply(sid) + rst(sid, h2.NO_ERROR), reply)) as (server, client):
        succeeded(await call(client))
        succeeded(await call(client))
        assert client.counters["rst_received: NO_ERROR"] == 1
    assert not server.connections[0].all_seen(h2.RST_STREAM)


@pytest.mark.parametrize("code", [h2.INTERNAL_ERROR, h2.NO_ERROR])
async def test_a_reset_in_the_middle_of_a_reply_is_internal_and_not_retried(code: int) -> None:
    half = message(b"reply")[:7]
    middles: list[h2.ReplyBytes] = [
        lambda sid: okh(sid) + rst(sid, code),
        lambda sid: okh(sid) + data(sid, half) + rst(sid, code),
        lambda sid: okh(sid) + msg(sid) + rst(sid, code),
    ]
    async with meeting(answering(*middles, reply)) as (server, client):
        for _ in middles:
            failed(await call(client), Code.INTERNAL, Origin.TRANSPORT, h2.ERRORS[code])
        succeeded(await call(client))
    assert len(server.connections[0].requests) == 4


async def test_a_refused_call_is_retried_once_and_succeeds() -> None:
    async with meeting(answering(lambda sid: rst(sid, h2.REFUSED_STREAM), reply)) as (server, client):
        succeeded(await call(client), attempts=2)
    requests = list(server.connections[0].requests.values())
    assert [request.message for request in requests] == [b"request", b"request"]
    assert len(server.connections) == 1


async def test_a_call_refused_for_ever_gives_up_after_two_attempts() -> None:
    async with meeting(answering(lambda sid: rst(sid, h2.REFUSED_STREAM))) as (server, client):
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "REFUSED_STREAM", attempts=2)
    assert len(server.connections[0].requests) == 2


async def test_a_call_refused_after_its_headers_is_not_retried() -> None:
    refusals: list[h2.ReplyBytes] = [
        lambda sid: okh(sid) + rst(sid, h2.REFUSED_STREAM),
        lambda sid: okh(sid) + msg(sid) + rst(sid, h2.REFUSED_STREAM),
    ]
    async with meeting(answering(*refusals, reply)) as (_, client):
        for _ in refusals:
            failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "REFUSED_STREAM")
        succeeded(await call(client))


async def test_a_reset_stops_the_body_that_is_still_being_sent() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.opened()
        await peer.body(request, h2.DEFAULT_WINDOW)
        peer.send(rst(request.stream, h2.ENHANCE_YOUR_CALM), h2.window_update(0, 1024 * 1024))
        later = await peer.request()
        await peer.barrier()
        assert len(request.body) == h2.DEFAULT_WINDOW
        assert not peer.all_seen(h2.RST_STREAM)
        peer.send(reply(later.stream))

    async with meeting(behave, credit=False) as (_, client):
        failed(await call(client, bytes(100_000)), Code.RESOURCE_EXHAUSTED, Origin.TRANSPORT)
        succeeded(await call(client))


async def test_a_refused_call_among_many_is_the_only_one_retried() -> None:
    async def behave(peer: Connection) -> None:
        requests = [await peer.request() for _ in range(50)]
        unlucky = requests[17].stream
        peer.send(
            *(rst(request.stream, 7) if request.stream == unlucky else reply(request.stream) for request in requests)
        )
        peer.send(reply((await peer.request()).stream))

    async with meeting(behave) as (server, client):
        attempts = [result.attempts for result in await calls(client, 50)]
    assert attempts == [1] * 17 + [2] + [1] * 32
    assert len(server.connections[0].requests) == 51


async def test_a_reset_frees_the_slot() -> None:
    async def behave(peer: Connection) -> None:
        first = await peer.request()
        peer.send(rst(first.stream, h2.INTERNAL_ERROR))
        second = await peer.request()
        peer.send(reply(second.stream))

    async with meeting(behave, settings={h2.MAX_CONCURRENT_STREAMS: 1}) as (server, client):
        first, second = await calls(client, 2)
        failed(first, Code.INTERNAL, Origin.TRANSPORT)
        succeeded(second)
    assert server.connections[0].ledger.most_open == 1
