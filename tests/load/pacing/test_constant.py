"""When calls are due: by exact arithmetic, for any rate and any number of calls."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from lbctl.load.pacing.constant import Constant

RATES = st.floats(0.01, 1_000_000)
NUMBERS = st.integers(0, 100_000_000)
STEP_NS = 10**9


def test_the_first_call_is_due_at_once_and_the_next_one_after_the_whole_gap() -> None:
    pacer = Constant(1000.0)
    assert [pacer.due_ns(number) for number in range(4)] == [0, 1_000_000, 2_000_000, 3_000_000]


@given(RATES, NUMBERS)
def test_a_call_is_due_at_its_number_by_the_rate(rps: float, number: int) -> None:
    exact = Fraction(number) * STEP_NS / Fraction(rps)
    assert abs(Constant(rps).due_ns(number) - exact) <= 1 + exact / 10**15


@given(RATES, NUMBERS)
def test_no_call_is_due_before_the_one_ahead_of_it(rps: float, number: int) -> None:
    pacer = Constant(rps)
    assert pacer.due_ns(number) <= pacer.due_ns(number + 1)


@given(RATES, st.integers(0, 1_000_000), st.floats(0, 100))
def test_the_count_is_that_of_the_calls_due_before_the_end(rps: float, number: int, gaps: float) -> None:
    pacer = Constant(rps)
    end_ns = pacer.due_ns(number) + int(gaps * STEP_NS / rps)
    count = pacer.count(number, end_ns)
    assert pacer.due_ns(number + count) >= end_ns
    assert not count or pacer.due_ns(number + count - 1) < end_ns


def test_a_second_of_a_rate_has_exactly_that_many_calls() -> None:
    for rps in (1, 3, 7, 100, 999, 1000, 33_333, 50_000):
        assert Constant(float(rps)).count(0, STEP_NS) == rps


@given(RATES, st.integers(1, 1_000_000), st.floats(0, 1), st.floats(0.1, 10))
def test_another_rate_passes_what_is_left_of_the_gap_and_then_keeps_its_own(
    rps: float, number: int, part: float, factor: float
) -> None:
    pacer = Constant(rps)
    before_ns, due_ns = pacer.due_ns(number - 1), pacer.due_ns(number)
    now_ns = before_ns + int((due_ns - before_ns) * part)
    after = pacer.scaled(factor, number, now_ns)
    assert abs(after.rps / (rps * factor) - 1) < 1e-3
    left_ns = after.due_ns(number) - now_ns
    assert abs(left_ns - (due_ns - now_ns) * rps / after.rps) <= 2
    gap_ns = after.due_ns(number + 1000) - after.due_ns(number)
    assert abs(gap_ns - 1000 * STEP_NS / after.rps) <= 2 + gap_ns / 10**12


def test_a_rate_that_was_overtaken_by_time_begins_anew_now() -> None:
    assert Constant(1000.0).scaled(2.0, 5, 80_000_000).due_ns(5) == 80_000_000
