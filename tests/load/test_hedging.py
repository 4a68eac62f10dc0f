"""Calls that are sent several times at once: when, what decides them, and what becomes of the other attempts."""

from __future__ import annotations

import pytest

from lbctl.balance.service_config import Throttling
from lbctl.load.throttle import Allowance
from lbctl.model import Code, Origin
from tests.load.again import PUSHBACK, failing, one_call, unavailable
from tests.load.hedging import HOSTS, answer, at, cancelled, ended, hedging, outcome, seen, waiting
from tests.load.rig import Rig, instance, paced, plan
from tests.wire import frames as h2

# ---- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempts", "delay_ms", "expected"),
    [
        (3, 50, {0: 1, 49: 1, 50: 2, 99: 2, 100: 3, 400: 3}),
        (2, 50, {49: 1, 50: 2, 400: 2}),
        (5, 10, {9: 1, 10: 2, 20: 3, 30: 4, 40: 5, 400: 5}),
        (3, 0, {0: 3, 400: 3}),
    ],
)
async def test_attempts_are_made_one_delay_apart_until_all_are(
    attempts: int, delay_ms: int, expected: dict[float, int]
) -> None:
    """Attempts at 0, d, 2d ... as gRFC A6 says."""
    rig = one_call(hedging(attempts, delay_ms))
    await rig.begin(*HOSTS)
    await rig.do(lambda: None)
    assert {time: await at(rig, time) for time in expected} == expected
    await answer(rig, waiting(rig)[0])
    assert outcome(rig)[:3] == (1, 0, attempts - 1)
    await ended(rig)


async def test_attempts_go_to_different_backends_and_say_how_many_came_before() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 100)
    assert sorted(waiting(rig)) == [1, 2, 3]
    assert sorted(stated or b"" for number in HOSTS for stated in rig.end(number).previous) == [b"", b"1", b"2"]
    await answer(rig, 1)
    await ended(rig)


async def test_a_call_that_is_answered_in_time_is_one_attempt() -> None:
    rig = Rig(plan(2, 10), repeating=hedging())
    await rig.begin(1, 2)
    for _ in range(10):
        for number in (1, 2):
            await answer(rig, number)
    assert outcome(rig) == (10, 0, 0, 0)
    await ended(rig)


# ---- what decides ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("winner", [0, 1, 2])
async def test_the_first_good_answer_counts_and_the_others_are_cancelled(winner: int) -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 100)
    place = waiting(rig)[winner]
    await rig.pass_(0.007)
    await answer(rig, place)
    assert outcome(rig) == (1, 0, 2, 2)
    assert cancelled(rig) == 2
    rows = {number: rig.backends.lanes[instance(number).identity].row for number in HOSTS}
    assert {number for number, row in rows.items() if row.ok} == {place}
    assert rig.tally.latency.max_us == 107_000
    await ended(rig)


async def test_a_failure_that_is_not_fatal_brings_the_next_attempt_at_once_and_delays_count_from_it() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 10)
    await answer(rig, waiting(rig)[0], unavailable)
    assert seen(rig) == 2
    assert await at(rig, 59) == 2
    assert await at(rig, 60) == 3
    for place in waiting(rig):
        await answer(rig, place, unavailable)
    assert outcome(rig) == (0, 1, 2, 0)
    assert rig.attempts is not None
    assert rig.attempts.counts.exhausted == 1
    await ended(rig)


async def test_a_fatal_code_ends_the_call_and_the_other_attempts() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 50)
    await answer(rig, waiting(rig)[1], failing(3))
    assert outcome(rig) == (0, 1, 1, 1)
    assert [group.code for group in rig.tally.error_groups()] == [Code.INVALID_ARGUMENT]
    await ended(rig)


async def test_an_attempt_whose_headers_came_decides_whatever_its_code() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 50)
    await answer(rig, waiting(rig)[0], lambda stream: h2.okh(stream) + h2.trailers(stream, 14))
    assert outcome(rig) == (0, 1, 1, 1)
    await ended(rig)


async def test_a_failure_is_survived_by_attempts_that_are_still_on_their_way() -> None:
    rig = one_call(hedging(attempts=2))
    await rig.begin(*HOSTS)
    await at(rig, 50)
    first, second = waiting(rig)
    await answer(rig, second, failing(13))
    assert rig.engine.in_flight == 1
    await answer(rig, first)
    assert outcome(rig) == (1, 0, 1, 0)
    assert rig.backends.lanes[instance(second).identity].passed == 1
    await ended(rig)


async def test_two_good_answers_in_one_read_are_one_call() -> None:
    rig = one_call(hedging())
    await rig.begin(1)
    await at(rig, 100)
    assert len(rig.end(1).waiting) == 3
    await rig.do(lambda: rig.end(1).answer(3))
    assert outcome(rig) == (1, 0, 2, 0)
    assert cancelled(rig) == 0
    await ended(rig)


async def test_the_first_response_headers_commit_the_call_to_their_attempt() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 50)
    first, second = waiting(rig)
    end = rig.end(second)
    await rig.do(lambda: end.say(h2.okh(end.waiting[0])))
    assert (cancelled(rig), outcome(rig)) == (1, (0, 0, 1, 1))
    assert not rig.end(first).waiting
    assert await at(rig, 200) == 2  # nothing follows either
    await rig.do(lambda: end.say(h2.msg(end.waiting[0]), h2.trailers(end.waiting.pop())))
    assert outcome(rig) == (1, 0, 1, 1)
    began = rig.tally.first_byte.histogram(rig.tally.service_time)
    assert (began.total, began.total_us) == (1, 0)  # the second attempt's headers came as soon as it was written
    await ended(rig)


async def test_a_committed_call_ends_as_its_attempt_does() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 50)
    place = waiting(rig)[0]
    end = rig.end(place)
    await rig.do(lambda: end.say(h2.okh(end.waiting[0])))
    await rig.do(end.drop)
    assert outcome(rig) == (0, 1, 1, 1)
    await ended(rig)


async def test_a_whole_answer_decides_before_one_that_has_begun_in_the_same_read() -> None:
    rig = one_call(hedging(attempts=2))
    await rig.begin(1)
    await at(rig, 50)
    first, second = rig.end(1).waiting
    rig.end(1).waiting.clear()
    await rig.do(lambda: rig.end(1).say(h2.okh(first), h2.reply(second)))
    assert outcome(rig) == (1, 0, 1, 1)
    assert rig.end(1).cancelled == [first]
    await ended(rig)


async def test_the_deadline_ends_every_attempt_as_one_call() -> None:
    rig = one_call(hedging(), timeout_s=0.12)
    await rig.begin(*HOSTS)
    await at(rig, 100)
    await rig.expire(0.02)
    assert outcome(rig)[:2] == (0, 1)
    assert [(group.code, group.origin) for group in rig.tally.error_groups()] == [
        (Code.DEADLINE_EXCEEDED, Origin.CLIENT)
    ]
    assert cancelled(rig) == 3
    await ended(rig)


async def test_the_end_of_the_run_cancels_every_attempt_as_one_call() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 60)
    await rig.do(rig.cancel)
    assert rig.tally.cancelled == 1
    await ended(rig)


async def test_an_attempt_on_a_lost_connection_is_survived() -> None:
    rig = one_call(hedging(attempts=2))
    await rig.begin(1, 2)
    await at(rig, 50)
    first, second = waiting(rig)
    await rig.do(rig.end(first).drop)
    await answer(rig, second)
    assert outcome(rig)[:3] == (1, 0, 1)
    await ended(rig)


async def test_attempts_that_wait_for_a_backend_are_forgotten_with_their_call() -> None:
    rig = one_call(hedging())
    await rig.begin(1)
    rig.host(1).mode = "refuse"
    await rig.do(lambda: rig.end(1).goaway(2**31 - 1))  # it finishes what it has, and takes nothing new
    await rig.do(rig.network.sleep.wake)
    await at(rig, 100)
    assert rig.engine.parked == 2
    await answer(rig, 1)
    assert rig.engine.parked == 0
    assert outcome(rig) == (1, 0, 2, 2)
    assert rig.tally.waits["connection"].calls == 2
    await ended(rig)


async def test_attempts_that_all_wait_for_a_backend_have_one_deadline() -> None:
    rig = one_call(hedging(), timeout_s=1.0)
    rig.host(1).mode = "hang"
    await rig.begin(1)
    await at(rig, 100)
    assert rig.engine.parked == 3
    await rig.expire(1.0)
    assert (rig.engine.parked, rig.tally.errors) == (0, 1)
    assert rig.idle
    await rig.aclose()


# ---- what keeps hedges down ------------------------------------------------------------------------------------------


async def test_a_pushback_says_when_the_next_attempt_is_made() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 10)
    await answer(rig, waiting(rig)[0], failing(14, (PUSHBACK, "200")))
    assert rig.engine.in_flight == 1
    assert await at(rig, 209) == 1
    assert await at(rig, 210) == 2
    await answer(rig, waiting(rig)[0])
    await ended(rig)


async def test_a_server_that_wants_no_more_stops_attempts_and_not_those_on_their_way() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await at(rig, 50)
    first, second = waiting(rig)
    await answer(rig, first, failing(14, (PUSHBACK, "-1")))
    assert await at(rig, 300) == 2
    await answer(rig, second)
    assert outcome(rig) == (1, 0, 1, 0)
    await ended(rig)


async def test_a_server_that_wants_no_more_ends_a_call_without_other_attempts() -> None:
    rig = one_call(hedging())
    await rig.begin(*HOSTS)
    await answer(rig, waiting(rig)[0], failing(14, (PUSHBACK, "-1")))
    assert outcome(rig) == (0, 1, 0, 0)
    await ended(rig)


async def test_a_call_that_waits_for_its_next_attempt_has_a_deadline() -> None:
    rig = one_call(hedging(), timeout_s=0.1)
    await rig.begin(*HOSTS)
    await answer(rig, waiting(rig)[0], failing(14, (PUSHBACK, "200")))
    await rig.expire(0.1)
    (group,) = rig.tally.error_groups()
    assert group.message == "deadline exceeded before the next attempt, after UNAVAILABLE"
    await ended(rig)


async def test_half_of_the_tokens_stop_hedges() -> None:
    rig = Rig(plan(1, 3), repeating=hedging(attempts=2, throttling=Throttling(2000, 900)))
    await rig.begin(*HOSTS)
    assert rig.attempts is not None
    await at(rig, 50)
    first, second = waiting(rig)
    await answer(rig, second, unavailable)  # half of the tokens are gone
    await answer(rig, first, failing(13))  # and the rest, for the last attempt
    await rig.pass_(1.0)
    assert (rig.tally.errors, seen(rig), rig.attempts.counts.throttled) == (1, 3, 1)
    await answer(rig, waiting(rig)[0])
    await rig.pass_(0.1)
    assert (seen(rig), rig.attempts.counts.throttled) == (4, 2)  # 0.9 of 2: still too few
    await answer(rig, waiting(rig)[0])
    assert rig.attempts.throttle is not None
    assert rig.attempts.throttle.tokens == 1800
    await rig.aclose()


async def test_a_budget_pays_for_so_many_hedges() -> None:
    rig = Rig(plan(1, 8), repeating=hedging(attempts=2, budget=Allowance(0.25, 0.0, 60.0)))
    await rig.begin(1, 2)
    for _ in range(8):
        await rig.pass_(0.06)
        await answer(rig, waiting(rig)[0])
    assert rig.attempts is not None
    assert (rig.tally.ok, rig.attempts.counts.sent, rig.attempts.counts.throttled) == (8, 2, 6)
    await ended(rig)


async def test_an_open_loop_hedges_what_it_sends_and_not_what_it_drops() -> None:
    rig = Rig(paced(1000.0, 10, most=2), repeating=hedging(attempts=2, delay_ms=5))
    await rig.begin(1)
    await at(rig, 20)
    assert (rig.engine.issued, rig.loop.dropped) == (2, 8)
    assert seen(rig) == 4
    await rig.do(lambda: rig.end(1).answer(4))
    assert outcome(rig)[:3] == (2, 0, 2)
    await ended(rig)
