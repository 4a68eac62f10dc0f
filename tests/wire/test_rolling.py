"""Servers that replace their connections all the time, under load: the acceptance bar is no error and no lost call."""

from __future__ import annotations

import asyncio

import pytest

from lbctl.model import Code
from tests.scripted import Behaviour, Connection
from tests.wire import frames as h2
from tests.wire.clients import CallResult, Client
from tests.wire.frames import goaway, reply
from tests.wire.harness import call, meeting

pytestmark = pytest.mark.usefixtures("door")

EVERYTHING = 2**31 - 1
WORKERS, CALLS = 32, 1600


async def load(client: Client) -> list[CallResult]:
    """A closed loop of workers."""
    left = iter(range(CALLS))

    async def work() -> list[CallResult]:
        return [await call(client, b"n" * 100) for _ in left]

    return [result for results in await asyncio.gather(*(work() for _ in range(WORKERS))) for result in results]


def serving(limit: int, farewell: Behaviour) -> Behaviour:
    """Answer ``limit`` requests, then say goodbye in the given way, and answer what was still open."""

    async def behave(peer: Connection) -> None:
        for number in range(limit):
            request = await peer.request()
            if number < limit - 1:
                peer.send(reply(request.stream))
        await farewell(peer)

    return behave


async def in_two_steps(peer: Connection) -> None:
    """As grpc-go does at a connection's maximum age: notice, PING round trip, last id, answers, close by the client."""
    peer.send(goaway(EVERYTHING), h2.ping())
    await peer.seen(h2.PING, ack=True)
    await peer.barrier()
    peer.send(goaway(peer.ledger.highest), *(reply(sid) for sid, state in peer.ledger.streams.items() if state.is_open))
    await peer.gone()


async def at_once(peer: Connection) -> None:
    """As proxies do after so many requests: one GOAWAY with the last id they took."""
    known = [request.stream for request in peer.requests.values() if request.complete]
    peer.send(goaway(max(known)), *(reply(sid) for sid in known if peer.ledger.streams[sid].is_open))
    await peer.gone()


async def test_graceful_replacement_under_load_costs_no_error_and_no_retry() -> None:
    async with meeting(serving(60, in_two_steps)) as (server, client):
        results = await load(client)
    assert len(results) == CALLS
    assert {(result.reply.code, result.attempts) for result in results} == {(Code.OK, 1)}
    assert sum(len(peer.requests) for peer in server.connections) == CALLS
    assert len(server.served) >= CALLS // 100


async def test_abrupt_replacement_under_load_costs_retries_and_no_error() -> None:
    async with meeting(serving(100, at_once)) as (server, client):
        results = await load(client)
    assert len(results) == CALLS
    assert {result.reply.code for result in results} == {Code.OK}
    assert max(result.attempts for result in results) <= 2
    assert len(server.served) >= CALLS // 150


async def test_a_stream_limit_under_load_is_never_exceeded_and_costs_nothing() -> None:
    async def behave(peer: Connection) -> None:
        limit = 7
        while True:
            first = await peer.request()
            await peer.barrier()
            limit = 3 + (limit * 5) % 11
            lowered = h2.settings({h2.MAX_CONCURRENT_STREAMS: limit})
            peer.send(lowered, *(reply(request.stream) for request in (first, *peer.pending())))

    async with meeting(behave, settings={h2.MAX_CONCURRENT_STREAMS: 7}) as (server, client):
        results = await load(client)
    assert {(result.reply.code, result.attempts) for result in results} == {(Code.OK, 1)}
    assert len(server.connections) == 1
