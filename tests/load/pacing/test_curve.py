"""Rates that change: calls come due as the area under the rate grows, by exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from lbctl.load.pacing.base import NEVER_NS
from lbctl.load.pacing.curve import Curve, Stage
from lbctl.load.pacing.schedule import ramp, steps

S = 10**9
RATES = st.one_of(st.just(0.0), st.floats(0.01, 100_000))
STAGES = st.lists(st.builds(Stage, st.floats(0.01, 3600), RATES, RATES), min_size=1, max_size=6)
EXAMPLE = (Stage(10, 0, 10), Stage(5, 10, 10), Stage(2, 0, 0), Stage(math.inf, 4, 4))


def area(stages: list[Stage], at_s: float) -> float:
    """How many calls have come due until then, by rational arithmetic."""
    due, left = Fraction(0), Fraction(at_s)
    for stage in stages:
        length = Fraction(stage.seconds)
        past = min(left, length)
        first, last = Fraction(stage.first), Fraction(stage.last)
        due += past * first + (last - first) / length * past * past / 2
        left -= past
    return float(due)


def test_the_worked_example() -> None:
    curve = Curve(EXAMPLE)
    due = {number: curve.due_ns(number) / S for number in (0, 12.5, 50, 99, 100, 101)}
    assert due == {0: 0, 12.5: 5, 50: 10, 99: 14.9, 100: 17, 101: 17.25}
    assert [curve.rate(at_s * S) for at_s in (0, 5, 12, 16, 20)] == [0, 5, 10, 0, 4]


def test_nothing_is_due_after_the_last_stage() -> None:
    curve = Curve([Stage(2, 10, 10)])
    assert [curve.due_ns(number) for number in (19, 20, 21)] == [1_900_000_000, NEVER_NS, NEVER_NS]
    assert (curve.rate(3 * S), curve.calls(3 * S)) == (0, 20)


def test_a_rate_of_nothing_at_first_lets_the_first_call_wait() -> None:
    assert Curve([Stage(3, 0, 0), Stage(1, 2, 2)]).due_ns(0) == 3 * S


@given(STAGES, st.floats(0, 1))
def test_a_call_is_due_when_the_area_is_its_number(stages: list[Stage], part: float) -> None:
    whole = area(stages, math.fsum(stage.seconds for stage in stages))
    number = math.floor(whole * part)
    due_ns = Curve(stages).due_ns(number)
    assume(due_ns < NEVER_NS)
    steepest = max(max(stage.first, stage.last) for stage in stages)
    assert abs(area(stages, due_ns / S) - number) <= 1e-9 * whole + steepest * 1e-6 + 1e-9


@given(STAGES)
def test_calls_are_due_in_their_order(stages: list[Stage]) -> None:
    curve = Curve(stages)
    due = [curve.due_ns(number) for number in range(50)]
    assert due == sorted(due)


@given(STAGES, st.floats(0, 1), st.floats(0.1, 10))
def test_another_rate_holds_from_now_on_and_stages_end_when_they_did(
    stages: list[Stage], part: float, factor: float
) -> None:
    length_s = sum(stage.seconds for stage in stages)
    now_ns = int(length_s * part * S)
    curve = Curve(stages)
    rate = curve.rate(now_ns)
    after = curve.scaled(factor, now_ns)
    if not rate:
        return
    assert math.isclose(after.rate(now_ns), rate * factor, rel_tol=1e-3)
    real = after.rate(now_ns) / rate
    assert after.calls(now_ns) == curve.calls(now_ns)
    end_ns = int(length_s * S) + S
    left = curve.calls(end_ns) - curve.calls(now_ns)
    assert math.isclose(
        after.calls(end_ns) - curve.calls(now_ns), left * real, rel_tol=1e-6, abs_tol=1e-6 * (1 + curve.calls(end_ns))
    )


def test_a_ramp_goes_on_at_its_last_rate() -> None:
    curve = Curve(ramp(100, 300, 2))
    assert [curve.rate(at_s * S) for at_s in (0, 1, 2, 100)] == [100, 200, 300, 300]
    assert curve.calls(3 * S) == 400 + 300


def test_steps_reach_both_ends_in_either_direction() -> None:
    assert [stage.first for stage in steps(100, 350, 100, 5)] == [100, 200, 300, 350]
    assert [stage.first for stage in steps(0.3, 0.1, 0.1, 5)] == [0.3, 0.19999999999999998, 0.09999999999999998]
    assert {(stage.seconds, stage.first == stage.last) for stage in steps(1, 9, 2, 5)} == {(5, True)}
