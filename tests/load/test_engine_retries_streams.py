"""Streams and large calls that a policy sends again: until when, and how much of one a client keeps for that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.wire.request import Request, Stream
from tests.load.again import take_much, unavailable
from tests.load.retries import answer, counts, retrying, wait_out
from tests.load.rig import Rig, plan, request
from tests.wire import frames as h2

STREAM = Stream(client=False, server=True, messages=(b"x",))


def one_call(wanted: Request) -> Rig:
    return Rig(plan(1, 1), repeating=retrying(), wanted=wanted)


async def after_a_failure(wanted: Request) -> tuple[int, int, int, int]:
    """What is counted when the first attempt of such a call has been taken whole and has failed."""
    rig = one_call(wanted)
    await rig.begin(1)
    await take_much(rig, 1)
    await answer(rig, unavailable)
    found = counts(rig)
    await rig.do(rig.cancel)
    await rig.aclose()
    return found


@pytest.mark.parametrize("client", [False, True])
async def test_a_stream_that_failed_before_its_headers_is_sent_again_with_all_its_messages(client: bool) -> None:
    stream = replace(STREAM, client=client, messages=(b"a", b"bc"), count=3 if client else 1)
    rig = one_call(replace(request(), stream=stream))
    await rig.begin(1, 2)
    first = await answer(rig, unavailable)
    await wait_out(rig)
    second = await answer(rig, lambda number: h2.okh(number) + h2.msg(number) * 3 + h2.trailers(number))
    assert first != second
    assert rig.end(first).octets == rig.end(second).octets == (19 if client else 6)
    assert counts(rig) == (1, 0, 1, 0)
    assert rig.tally.streams.received == 3
    await rig.aclose()


async def test_a_stream_whose_headers_came_is_not_sent_again() -> None:
    rig = one_call(replace(request(), stream=STREAM))
    await rig.begin(1, 2)
    await answer(rig, lambda number: h2.okh(number) + h2.msg(number) + h2.trailers(number, 14))
    assert counts(rig) == (0, 1, 0, 0)
    await rig.aclose()


@pytest.mark.parametrize(("octets", "retried"), [((256 << 10) - 5, True), ((256 << 10) - 4, False)])
async def test_a_call_is_sent_again_if_a_client_keeps_so_much_of_one(octets: int, retried: bool) -> None:
    """256 KiB of messages, each with the five octets in front of it."""
    wanted = replace(request(), message=b"m" * octets)
    assert await after_a_failure(wanted) == (0, not retried, 0, retried)


@pytest.mark.parametrize(("count", "retried"), [(2, True), (3, False)])
async def test_a_client_stream_is_sent_again_as_long_as_all_of_it_is_kept(count: int, retried: bool) -> None:
    stream = replace(STREAM, client=True, messages=(b"m" * 100_000,), count=count)
    assert await after_a_failure(replace(request(), stream=stream)) == (0, not retried, 0, retried)
