"""Streams that are sent several times at once: until when they are, and how much of one a client keeps for that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lbctl.load.plan import Repeating
from lbctl.wire.request import Request, Stream
from tests.load.again import take_much, unavailable
from tests.load.hedging import HOSTS, answer, at, cancelled, ended, hedging, outcome, seen, waiting
from tests.load.rig import Rig, instance, plan, request
from tests.wire import frames as h2


def streaming(*, client: bool = False, server: bool = True, **more: Any) -> Request:  # noqa: ANN401  # Stream's own
    stream = Stream(client=client, server=server, **{"messages": (b"x",), **more})
    return replace(request(20.0), stream=stream)


def one_stream(repeating: Repeating, wanted: Request) -> Rig:
    return Rig(plan(1, 1, timeout_s=20.0), repeating=repeating, wanted=wanted)


async def test_a_server_stream_is_hedged_until_its_headers_come() -> None:
    rig = one_stream(hedging(), streaming())
    await rig.begin(*HOSTS)
    assert await at(rig, 60) == 2
    slow, quick = waiting(rig)
    end = rig.end(quick)
    stream = end.waiting.pop()
    await rig.do(lambda: end.say(h2.okh(stream), h2.msg(stream)))
    assert (cancelled(rig), rig.engine.in_flight) == (1, 1)
    assert await at(rig, 200) == 2
    await rig.do(lambda: end.say(h2.msg(stream), h2.msg(stream), h2.trailers(stream)))
    assert outcome(rig) == (1, 0, 1, 1)
    assert (rig.tally.streams.sent, rig.tally.streams.received) == (1, 3)
    assert rig.backends.lanes[instance(slow).identity].row.ok == 0
    await ended(rig)


async def test_a_stream_that_fails_before_its_headers_is_survived_and_not_after() -> None:
    rig = one_stream(hedging(), streaming())
    await rig.begin(*HOSTS)
    await answer(rig, waiting(rig)[0], unavailable)
    assert seen(rig) == 2
    await answer(rig, waiting(rig)[0], lambda stream: h2.okh(stream) + h2.msg(stream) + h2.trailers(stream, 14))
    assert outcome(rig) == (0, 1, 1, 0)
    await ended(rig)


def pieces(rig: Rig, number: int) -> int:
    """The octets of messages that one backend was sent."""
    return sum(end.octets for end in rig.host(number).ends)


async def test_every_attempt_of_a_client_stream_is_sent_all_of_it() -> None:
    rig = one_stream(hedging(attempts=2), streaming(client=True, server=False, messages=(b"abc",), count=4))
    await rig.begin(1, 2)
    assert await at(rig, 50) == 2
    assert [pieces(rig, number) for number in (1, 2)] == [32, 32]
    await answer(rig, waiting(rig)[1])
    assert outcome(rig) == (1, 0, 1, 1)
    await ended(rig)


async def test_a_stream_that_is_more_than_a_client_keeps_is_committed_and_not_hedged() -> None:
    large = (b"y" * 100_000,)  # two of them are kept
    rig = one_stream(hedging(), streaming(client=True, messages=large, count=3))
    await rig.begin(*HOSTS)
    assert await at(rig, 60) == 2  # two messages are what the first window takes
    first, second = waiting_or_open(rig)
    await take_much(rig, second)
    assert rig.end(first).cancelled
    assert await at(rig, 300) == 2
    await answer(rig, second)
    assert outcome(rig) == (1, 0, 1, 1)
    await ended(rig)


def waiting_or_open(rig: Rig) -> list[int]:
    """Where attempts are, complete or not, in the order in which they were made."""
    found = [(rig.end(number).previous[-1] or b"0", number) for number in HOSTS if rig.end(number).previous]
    return [number for _, number in sorted(found)]


async def test_a_call_whose_message_a_client_would_not_keep_is_sent_once() -> None:
    rig = one_stream(hedging(), replace(request(20.0), message=b"z" * (256 << 10)))
    await rig.begin(1)
    await take_much(rig, 1)
    assert await at(rig, 300) == 1
    await answer(rig, 1, unavailable)
    assert outcome(rig) == (0, 1, 0, 0)
    await ended(rig)
