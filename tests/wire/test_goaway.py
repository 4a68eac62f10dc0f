"""GOAWAY and lost connections: what is retried, what is lost, and that the old connection is left in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from lbctl.model import Code, Origin
from tests.scripted import Behaviour, Connection, answering
from tests.wire import frames as h2
from tests.wire.frames import goaway, msg, okh, reply, rst, trailers
from tests.wire.harness import anomalies, call, calls, failed, greet, greeted, meeting, succeeded

pytestmark = pytest.mark.usefixtures("door")

EVERYTHING = 2**31 - 1
DRAIN_PING = bytes.fromhex("0106010800030309")  # grpc-go waits for its echo before the second GOAWAY


def then_answer(first: Behaviour) -> Behaviour:
    """``first`` on the first connection, plain answers on later ones."""

    async def behave(peer: Connection) -> None:
        await (answering(reply) if peer.index else first)(peer)

    return behave


async def test_a_call_the_server_did_not_process_goes_to_a_new_connection() -> None:
    async def behave(peer: Connection) -> None:
        await peer.request()
        peer.send(goaway(0))
        await peer.gone()

    async with meeting(then_answer(behave)) as (server, client):
        succeeded(await call(client), attempts=2)
        assert client.counters["goaway: NO_ERROR"] == 1
    assert len(server.served) == 2


async def test_a_call_unprocessed_twice_is_unavailable_after_two_attempts() -> None:
    async def behave(peer: Connection) -> None:
        await peer.request()
        peer.send(goaway(0, h2.NO_ERROR, b"leaving"))

    async with meeting(behave) as (_, client):
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "GOAWAY", "leaving", attempts=2)


async def test_a_graceful_goaway_loses_nothing_and_the_client_closes_last() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(goaway(EVERYTHING), h2.ping(DRAIN_PING))
        assert (await peer.seen(h2.PING, ack=True)).payload == DRAIN_PING
        peer.send(goaway(request.stream))
        await peer.barrier()
        assert not peer.closed
        peer.send(reply(request.stream))
        farewell = await peer.seen(h2.GOAWAY)
        assert farewell.number == h2.NO_ERROR
        await peer.gone()

    async with meeting(then_answer(behave)) as (server, client):
        succeeded(await call(client))
        succeeded(await call(client))
        await asyncio.wait_for(server.connections[0].gone(), 2)
        assert client.counters["goaway: NO_ERROR"] == 2
    assert [len(peer.requests) for peer in server.served] == [1, 1]
    assert not server.connections[0].all_seen(h2.RST_STREAM)


async def test_calls_begun_during_a_drain_use_the_new_connection() -> None:
    draining = asyncio.Event()

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(goaway(EVERYTHING))
        await peer.barrier()
        draining.set()
        await asyncio.wait_for(finished.wait(), 2)
        peer.send(reply(request.stream))

    finished = asyncio.Event()
    async with meeting(then_answer(behave)) as (server, client):
        slow = asyncio.create_task(call(client))
        await asyncio.wait_for(draining.wait(), 2)
        for result in await calls(client, 20):
            succeeded(result)
        finished.set()
        succeeded(await slow)
    assert [len(peer.requests) for peer in server.served] == [1, 20]


async def test_goaway_divides_open_calls_by_its_last_stream() -> None:
    async def behave(peer: Connection) -> None:
        requests = [await peer.request() for _ in range(4)]
        peer.send(goaway(requests[1].stream), *(reply(request.stream) for request in requests[:2]))
        await peer.gone()

    async with meeting(then_answer(behave)) as (server, client):
        results = await calls(client, 4)
        assert [(result.reply.code, result.attempts) for result in results] == [
            (Code.OK, 1),
            (Code.OK, 1),
            (Code.OK, 2),
            (Code.OK, 2),
        ]
    assert [len(peer.requests) for peer in server.served] == [4, 2]


async def test_a_call_covered_by_goaway_is_lost_with_the_connection() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(goaway(request.stream, h2.ENHANCE_YOUR_CALM, b"too_many_pings"))
        peer.close()

    async with meeting(behave) as (_, client):
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT, "GOAWAY", "ENHANCE_YOUR_CALM", "too_many_pings")


async def test_goaway_after_response_headers_keeps_the_answer_coming() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(okh(request.stream), goaway(request.stream), msg(request.stream), trailers(request.stream, 9))
        await peer.gone()

    async with meeting(then_answer(behave)) as (_, client):
        failed(await call(client), Code.FAILED_PRECONDITION, Origin.SERVER)


async def test_a_call_whose_response_has_begun_is_not_sent_again_even_if_goaway_disowns_it() -> None:
    async def behave(peer: Connection) -> None:
        request, untouched = await peer.request(), await peer.request()
        assert untouched.stream > request.stream
        peer.send(okh(request.stream), goaway(0))
        await peer.gone()

    async with meeting(then_answer(behave)) as (server, client):
        first, second = await calls(client, 2)
        failed(first, Code.UNAVAILABLE, Origin.TRANSPORT, "GOAWAY")
        succeeded(second, attempts=2)
    assert [len(peer.requests) for peer in server.served] == [2, 1]


async def test_a_goaway_that_raises_its_last_stream_is_clamped() -> None:
    async def behave(peer: Connection) -> None:
        first, _ = await peer.request(), await peer.request()
        peer.send(goaway(first.stream), goaway(EVERYTHING), reply(first.stream))
        await peer.gone()

    async with meeting(then_answer(behave)) as (_, client):
        first, second = await calls(client, 2)
        succeeded(first)
        succeeded(second, attempts=2)
        assert anomalies(client) == 1


async def test_a_goaway_on_an_idle_connection_costs_no_call() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(reply(request.stream), goaway(EVERYTHING), goaway(request.stream))
        await peer.gone()

    async with meeting(then_answer(behave)) as (server, client):
        succeeded(await call(client))
        await asyncio.wait_for(server.connections[0].gone(), 2)
        succeeded(await call(client))
    assert len(server.served) == 2


async def test_calls_waiting_for_a_slot_move_on_without_a_retry() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(goaway(request.stream), reply(request.stream))
        await peer.gone()

    async with meeting(then_answer(behave), settings={h2.MAX_CONCURRENT_STREAMS: 1}) as (server, client):
        for result in await calls(client, 5):
            succeeded(result)
    assert [len(peer.requests) for peer in server.served] == [1, 4]


async def test_a_call_between_connections_still_ends_at_its_deadline() -> None:
    """The replacement accepts and never says SETTINGS: the call must not wait for the connect timeout."""

    async def behave(peer: Connection) -> None:
        if peer.index:
            await peer.gone()
            return
        peer.send(h2.settings())
        request = await peer.request()
        peer.send(h2.settings_ack(), goaway(EVERYTHING))
        await peer.barrier()
        peer.send(reply(request.stream))

    async with meeting(behave, handshake=False, connect_timeout_s=1.2) as (_, client):
        succeeded(await call(client))
        failed(await call(client, timeout_s=0.1), Code.DEADLINE_EXCEEDED, Origin.CLIENT)
        async with asyncio.timeout(1.8):
            for result in await calls(client, 3, timeout_s=0.1):
                failed(result, Code.DEADLINE_EXCEEDED, Origin.CLIENT)


# ---- connections that just end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [Connection.close, Connection.abort], ids=["fin", "rst"])
async def test_a_connection_that_ends_without_a_reply_loses_its_calls(ending: Callable[[Connection], None]) -> None:
    async def behave(peer: Connection) -> None:
        await greet(peer)
        for _ in range(3):
            await peer.request()
        ending(peer)

    async with meeting(behave) as (server, client):
        await greeted(client)  # of use, so that a client which wrongly retries connects again at once
        for result in await calls(client, 3):
            failed(result, Code.UNAVAILABLE, Origin.TRANSPORT, "connection")
    assert len(server.served) == 1


async def test_fin_and_reset_have_different_reasons() -> None:
    reasons = set()
    for ending in (Connection.close, Connection.abort):

        async def behave(peer: Connection, ending: Callable[[Connection], None] = ending) -> None:
            await peer.request()
            ending(peer)

        async with meeting(behave) as (_, client):
            reasons.add(failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT))
    assert len(reasons) == 2


async def test_a_connection_closed_after_each_reply_loses_nothing() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(reply(request.stream))
        peer.close()

    async with meeting(behave) as (server, client):
        for _ in range(2):
            succeeded(await call(client))
            await asyncio.wait_for(server.served[-1].gone(), 2)
    assert [len(peer.requests) for peer in server.served] == [1, 1]


async def test_a_connection_lost_in_the_middle_of_a_reply_is_unavailable() -> None:
    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(okh(request.stream), msg(request.stream))
        peer.close()

    async with meeting(then_answer(behave)) as (_, client):
        failed(await call(client), Code.UNAVAILABLE, Origin.TRANSPORT)


async def test_a_refused_call_prefers_nothing_dead() -> None:
    """Refused on a connection that is going away: the retry waits for the next one."""

    async def behave(peer: Connection) -> None:
        request = await peer.request()
        peer.send(rst(request.stream, h2.REFUSED_STREAM), goaway(EVERYTHING))
        await peer.gone()

    async with meeting(then_answer(behave)) as (server, client):
        succeeded(await call(client), attempts=2)
    assert [len(peer.requests) for peer in server.served] == [1, 1]
