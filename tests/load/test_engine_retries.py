"""Calls that a policy sends again: when, where to, until when, and that each ends once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lbctl.balance.service_config import Throttling
from lbctl.load.accounts import CANCELLED
from lbctl.load.plan import Plan
from lbctl.load.throttle import Allowance
from lbctl.model import Code, Origin
from tests.load.again import PUSHBACK, failing, one_call, unavailable
from tests.load.retries import answer, counts, retrying, wait_out
from tests.load.rig import Rig, instance, paced, plan
from tests.wire import frames as h2


def errors(rig: Rig) -> dict[tuple[Code, Origin, str], int]:
    return {(group.code, group.origin, group.message): group.count for group in rig.tally.error_groups()}


# ---- another attempt -------------------------------------------------------------------------------------------------


async def test_a_failed_call_is_sent_again_elsewhere_after_its_delay() -> None:
    rig = one_call(retrying())
    await rig.begin(1, 2, 3)
    began = rig.clock.now_ns()
    places = [await answer(rig, unavailable)]
    assert counts(rig) == (0, 0, 0, 1)
    assert rig.engine.in_flight == 1
    first = await wait_out(rig)
    places.append(await answer(rig, unavailable))
    second = await wait_out(rig)
    places.append(await answer(rig))
    assert 80 <= first <= 120
    assert 160 <= second <= 240
    assert counts(rig) == (1, 0, 2, 0)
    assert sorted(places) == [1, 2, 3]
    assert [rig.end(number).previous for number in places] == [[None], [b"1"], [b"2"]]
    assert rig.tally.latency.max_us == (rig.clock.now_ns() - began) // 1000
    assert [rig.backends.lanes[instance(number).identity].passed for number in places] == [1, 1, 0]
    assert rig.idle
    await rig.aclose()


async def test_of_each_backend_what_was_sent_is_what_it_saw_and_the_law_knows_all_picks() -> None:
    rig = Rig(plan(1, 30), repeating=retrying())
    await rig.begin(1, 2, 3)
    while not rig.idle:
        (failing_now,) = (port for port in (1, 2, 3) if rig.end(port).waiting)
        if await answer(rig, unavailable if failing_now == 2 else h2.reply) == 2:
            await wait_out(rig)
    peers = [rig.backends.lanes[instance(number).identity].peer for number in (1, 2, 3)]
    assert [peer.sent for peer in peers] == [rig.end(number).heads for number in (1, 2, 3)]
    assert sum(peer.sent for peer in peers) == rig.backends.attempts == 30 + counts(rig)[2]
    assert max(peer.judged for peer in peers) - min(peer.judged for peer in peers) <= 1  # turns, to the pick
    await rig.aclose()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("policy", ["random", "weighted_random", "p2c"])
async def test_chance_sends_no_attempt_where_one_was(policy: str, seed: int) -> None:
    rig = Rig(plan(1, 1), policy, seed=seed, repeating=retrying())
    await rig.begin(1, 2, 3)
    places = []
    for _ in range(2):
        places.append(await answer(rig, unavailable))
        await wait_out(rig)
    places.append(await answer(rig))
    assert sorted(places) == [1, 2, 3]
    await rig.aclose()


async def test_the_deadline_that_an_attempt_states_is_what_is_left_of_the_call() -> None:
    rig = one_call(retrying(), timeout_s=5.0)
    await rig.begin(1, 2)
    first = await answer(rig, unavailable)
    waited_ms = await wait_out(rig)
    second = await answer(rig)
    assert rig.end(first).timeouts == [b"5000m"]
    (stated,) = rig.end(second).timeouts
    assert stated is not None
    assert int(stated[:-1]) == pytest.approx(5000 - waited_ms, abs=1)
    await rig.aclose()


async def test_the_last_attempt_ends_the_call_with_what_it_said() -> None:
    rig = one_call(retrying(attempts=3))
    await rig.begin(1, 2)
    await answer(rig, unavailable)
    await wait_out(rig)
    await answer(rig, unavailable)
    await wait_out(rig)
    last = await answer(rig, failing(14, ("grpc-message", "gone")))
    assert counts(rig) == (0, 1, 2, 0)
    assert errors(rig) == {(Code.UNAVAILABLE, Origin.SERVER, "gone"): 1}
    assert rig.backends.lanes[instance(last).identity].row.errors == 1
    assert rig.attempts is not None
    assert rig.attempts.counts.exhausted == 1
    await rig.aclose()


@pytest.mark.parametrize(
    ("how", "retried"),
    [
        (failing(14), True),
        (failing(8), True),
        (failing(13), False),
        (failing(0, (PUSHBACK, "5")), False),
        (lambda stream: h2.okh(stream) + h2.trailers(stream, 14), False),  # headers came: committed
        (lambda stream: h2.okh(stream) + h2.msg(stream) + h2.trailers(stream, 14), False),
        (lambda stream: h2.okh(stream) + h2.rst(stream, 7), False),
        (lambda stream: h2.rst(stream, h2.CANCEL), False),  # CANCELLED is not among the codes
        (failing(14, (PUSHBACK, "0")), True),
        (failing(14, (PUSHBACK, "-1")), False),
        (failing(14, (PUSHBACK, "soon")), False),
        (failing(14, (PUSHBACK, "5"), (PUSHBACK, "5")), False),
        (failing(13, (PUSHBACK, "5")), False),  # a pushback makes no code retryable
    ],
)
async def test_what_is_sent_again_and_what_is_not(how: Callable[[int], bytes], retried: bool) -> None:
    rig = one_call(retrying(3, Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED))
    await rig.begin(1, 2)
    await answer(rig, how)
    assert counts(rig)[2] + counts(rig)[3] == rig.engine.in_flight == retried
    if retried:
        await rig.pass_(0.5)
        await answer(rig)
        assert counts(rig) == (1, 0, 1, 0)
    await rig.aclose()


async def test_a_call_that_is_lost_with_its_connection_is_sent_again() -> None:
    rig = Rig(plan(1, 1), repeating=retrying())
    await rig.begin(1, 2)
    (number,) = (number for number in (1, 2) if rig.end(number).waiting)
    await rig.do(rig.end(number).drop)
    await wait_out(rig)
    assert await answer(rig) != number
    assert counts(rig) == (1, 0, 1, 0)
    await rig.aclose()


async def test_a_pushback_is_waited_for_exactly_and_delays_begin_anew_after_it() -> None:
    rig = one_call(retrying(attempts=5))
    await rig.begin(1)
    waited = []
    for how in (unavailable, unavailable, failing(14, (PUSHBACK, "700")), unavailable):
        await answer(rig, how)
        waited.append(await wait_out(rig))
    assert waited[2] == 700
    for delay, base in zip((waited[0], waited[1], waited[3]), (100, 200, 100), strict=True):
        assert 0.8 * base <= delay <= 1.2 * base
    await answer(rig)
    await rig.aclose()


async def test_what_a_server_did_not_process_is_sent_again_at_once_and_then_by_the_policy() -> None:
    rig = one_call(retrying(attempts=2))
    await rig.begin(1, 2)

    def refused(stream: int) -> bytes:
        return h2.rst(stream, h2.REFUSED_STREAM)

    first = await answer(rig, refused)
    assert rig.engine.retries == {"refused": 1}
    second = await answer(rig, refused)  # already sent: no delay
    assert second != first
    assert counts(rig) == (0, 0, 0, 1)
    await wait_out(rig)
    await answer(rig, refused)  # no longer the first attempt: it counts
    assert counts(rig) == (0, 1, 1, 0)
    assert sum(rig.end(number).previous.count(b"1") for number in (1, 2)) == 1
    await rig.aclose()


async def test_with_no_backend_left_an_attempt_waits_for_one() -> None:
    rig = one_call(retrying())
    await rig.begin(1)
    await answer(rig, unavailable)
    rig.host(1).mode = "refuse"
    await rig.do(rig.end(1).drop)
    await wait_out(rig)
    assert rig.engine.parked == 1
    rig.host(1).mode = "accept"
    await rig.do(rig.network.sleep.wake)
    assert rig.end(1).previous == [b"1"]
    await answer(rig)
    assert counts(rig) == (1, 0, 1, 0)
    await rig.aclose()


# ---- breakers --------------------------------------------------------------------------------------------------------


async def test_a_retry_is_a_request_to_the_breaker_that_bounds_them() -> None:
    rig = Rig(paced(1000.0, 3), repeating=retrying(initial_ms=30), most_requests=1)
    await rig.begin(1)
    await answer(rig, unavailable)  # it waits, and is at no backend
    await rig.pass_(0.001)
    assert rig.end(1).heads == 2
    await rig.pass_(0.05)
    assert rig.gate is not None
    assert rig.gate.turned_away == {"max-requests": 2}  # the third call and the retry of the first
    told = "the next attempt was dropped by breaker max-requests, after UNAVAILABLE"
    assert errors(rig)[Code.UNAVAILABLE, Origin.CLIENT, told] == 1
    await answer(rig)
    assert counts(rig) == (1, 2, 0, 0)
    assert rig.idle
    await rig.aclose()


# ---- ends while a call waits -----------------------------------------------------------------------------------------


async def test_the_deadline_ends_a_call_that_waits() -> None:
    rig = one_call(retrying(initial_ms=900), timeout_s=0.5)
    await rig.begin(1)
    await answer(rig, unavailable)
    await rig.expire(0.499)
    assert counts(rig) == (0, 0, 0, 1)
    await rig.expire(0.001)
    assert counts(rig) == (0, 1, 0, 0)
    told = "deadline exceeded before the next attempt, after UNAVAILABLE"
    assert errors(rig) == {(Code.DEADLINE_EXCEEDED, Origin.CLIENT, told): 1}
    assert rig.idle
    await rig.pass_(5.0)
    assert rig.end(1).heads == 1
    await rig.aclose()


async def test_a_call_whose_deadline_has_passed_when_its_time_comes_is_not_sent() -> None:
    rig = one_call(retrying(initial_ms=900), timeout_s=0.5)
    await rig.begin(1)
    await answer(rig, unavailable)
    await rig.pass_(5.0)  # nobody has looked for deadlines yet
    assert rig.end(1).heads == 1
    assert counts(rig) == (0, 0, 0, 1)
    await rig.expire(0.0)
    assert counts(rig) == (0, 1, 0, 0)
    await rig.aclose()


async def test_the_end_of_the_run_cancels_a_call_that_waits() -> None:
    rig = one_call(retrying())
    await rig.begin(1)
    await answer(rig, unavailable)
    await rig.do(rig.cancel)
    assert (rig.tally.cancelled, rig.tally.errors, rig.engine.in_flight) == (1, 0, 0)
    assert rig.ring.due_ns is None
    assert rig.idle
    await rig.aclose()


async def test_a_run_that_is_given_up_ends_it_with_what_was_said_last() -> None:
    rig = one_call(retrying())
    await rig.begin(1)
    await answer(rig, failing(14, ("grpc-message", "busy")))
    rig.loop.close()
    await rig.do(rig.engine.give_up)
    assert errors(rig) == {(Code.UNAVAILABLE, Origin.SERVER, "busy"): 1}
    assert rig.idle
    await rig.aclose()


async def test_nothing_is_sent_again_while_the_run_is_being_cancelled() -> None:
    rig = Rig(plan(2, 2), repeating=retrying(3, Code.CANCELLED, Code.UNAVAILABLE))
    await rig.begin(1)
    await rig.do(rig.cancel)
    assert (rig.tally.cancelled, rig.engine.in_flight) == (2, 0)
    assert CANCELLED.code is Code.CANCELLED
    await rig.aclose()


# ---- loops -----------------------------------------------------------------------------------------------------------


async def test_a_call_that_waits_takes_its_place_in_a_closed_loop() -> None:
    rig = Rig(plan(2, 6), repeating=retrying())
    await rig.begin(1)
    await rig.do(lambda: rig.end(1).answer(1, unavailable))
    assert (rig.engine.issued, len(rig.end(1).waiting)) == (2, 1)
    await rig.do(lambda: rig.end(1).answer(1))
    assert (rig.engine.issued, len(rig.end(1).waiting)) == (3, 1)
    await rig.finish()
    assert (rig.tally.ok, rig.attempts.counts.sent if rig.attempts else 0) == (6, 1)
    await rig.aclose()


async def test_an_open_loop_goes_on_while_calls_wait() -> None:
    rig = Rig(paced(100.0, 5), repeating=retrying(initial_ms=30))
    await rig.begin(1)
    for _ in range(4):
        await rig.do(lambda: rig.end(1).answer(10, unavailable))
        await rig.pass_(0.01)
    assert rig.engine.issued == 5
    assert counts(rig)[2] >= 1
    await rig.finish()
    assert rig.tally.ok + rig.tally.errors == 5
    await rig.aclose()


async def test_one_of_many_calls_of_a_batch_is_sent_again_alone() -> None:
    rig = Rig(plan(8, 8), repeating=retrying())
    await rig.begin(1)
    await rig.do(lambda: rig.end(1).answer(3))
    await rig.do(lambda: rig.end(1).answer(1, unavailable))
    await rig.do(lambda: rig.end(1).answer(4))
    assert counts(rig) == (7, 0, 0, 1)
    await wait_out(rig)
    await answer(rig)
    assert counts(rig) == (8, 0, 1, 0)
    assert rig.end(1).previous == [None] * 8 + [b"1"]
    await rig.aclose()


# ---- what keeps retries down -----------------------------------------------------------------------------------------


async def test_half_of_the_tokens_stop_retries_and_successes_allow_them_again() -> None:
    rig = Rig(plan(1, 40), repeating=retrying(attempts=2, initial_ms=1, throttling=Throttling(4000, 500)))
    await rig.begin(1)

    async def one(how: Callable[[int], bytes]) -> bool:
        """Answer a call; whether it waits for another attempt then."""
        await answer(rig, how)
        return counts(rig)[3] == 1

    assert await one(unavailable)  # 3 of 4 are left
    await wait_out(rig)
    assert not await one(unavailable)  # 2: that was the last attempt, too
    assert not await one(unavailable)  # 1
    assert not await one(failing(13))  # not a code that counts
    for _ in range(4):
        await one(h2.reply)  # 1.5, 2, 2.5, 3
    assert not await one(unavailable)  # 2
    for _ in range(3):
        await one(h2.reply)  # 3.5
    assert await one(unavailable)  # 2.5
    assert rig.attempts is not None
    assert rig.attempts.throttle is not None
    assert rig.attempts.throttle.tokens == 2500
    assert rig.attempts.counts.throttled == 3
    await rig.do(rig.cancel)
    await rig.aclose()


async def test_a_server_that_wants_no_retry_costs_a_token_whatever_the_code() -> None:
    rig = one_call(retrying(throttling=Throttling(4000, 500)))
    await rig.begin(1)
    await answer(rig, failing(13, (PUSHBACK, "-1")))
    assert rig.attempts is not None
    assert rig.attempts.throttle is not None
    assert (rig.attempts.throttle.tokens, rig.attempts.counts.refused) == (3000, 1)
    await rig.aclose()


async def test_a_budget_pays_for_so_many_retries() -> None:
    rig = Rig(plan(1, 20), repeating=retrying(attempts=2, initial_ms=1, budget=Allowance(0.25, 0.0, 10.0)))
    await rig.begin(1)
    for _ in range(20):
        await answer(rig, unavailable)
        if counts(rig)[3]:
            await wait_out(rig)
            await answer(rig)
    assert rig.attempts is not None
    assert (rig.attempts.counts.sent, rig.attempts.counts.throttled) == (5, 15)
    assert (rig.tally.ok, rig.tally.errors) == (5, 15)
    await rig.aclose()


@pytest.mark.parametrize("load", [plan(3, 9, timeout_s=0.0), paced(1000.0, 9, timeout_s=0.0)])
async def test_calls_without_a_deadline_are_retried_too(load: Plan) -> None:
    rig = Rig(load, "random", repeating=retrying(attempts=5))
    await rig.begin(1, 2)
    for _ in range(3):
        for number in (1, 2):
            await rig.do(lambda number=number: rig.end(number).answer(10, unavailable))  # type: ignore[misc]
        await rig.pass_(0.5)
    await rig.finish()
    assert rig.tally.ok == 9
    assert all(stated is None for number in (1, 2) for stated in rig.end(number).timeouts)
    await rig.aclose()
