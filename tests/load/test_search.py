"""The search for the highest rate, before models of servers: a knee, noise, never good enough, without end."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.load.search import Search
from lbctl.stats.searched import AT_LEAST, FAILED, FAILS, FOUND, HOLDS, INTERRUPTED, LIMITED

Trial = Callable[[float], tuple[str, bool]]


def searched(search: Search, trial: Trial) -> list[float]:
    """Every rate that is tried until the search is over, at most 200."""
    tried: list[float] = []
    while (rate := search.next_rate()) is not None:
        assert len(tried) < 200
        tried.append(rate)
        verdict, close = trial(rate)
        search.take(verdict, close=close)
    return tried


def knee(capacity: float, limit_ms: float = 20.0, noise: Callable[[], float] = lambda: 1.0) -> Trial:
    """A queue whose p99 is 4.6 service times of 1 ms at no load and grows without end towards its capacity."""

    def trial(rate: float) -> tuple[str, bool]:
        p99 = 4.6 / (1 - rate / capacity) * noise() if rate < capacity else float("inf")
        return HOLDS if p99 < limit_ms else FAILS, abs(p99 - limit_ms) <= 0.1 * limit_ms

    return trial


def best(capacity: float, limit_ms: float = 20.0) -> float:
    return capacity * (1 - 4.6 / limit_ms)


@given(st.floats(150, 200_000), st.sampled_from([0.01, 0.05, 0.2]))
def test_the_knee_of_a_server_is_found_within_the_precision(capacity: float, precision: float) -> None:
    search = Search(100.0, precision)
    tried = searched(search, knee(capacity))
    assert search.ended == FOUND
    assert search.low is not None
    assert search.high is not None
    assert search.low < best(capacity) <= search.high * (1 + 1e-9)
    assert search.high - search.low <= precision * search.low or search.high - search.low <= 2e-3 * search.low
    assert len(tried) <= 60


def test_the_worked_example() -> None:
    search = Search(100.0, 0.05)
    tried = searched(search, lambda rate: (HOLDS if rate < 550 else FAILS, False))
    assert tried == [100, 200, 400, 800, 800, 565.7, 475.7, 518.8, 541.7]
    assert (search.low, search.high, search.ended) == (541.7, 565.7, FOUND)


def test_noise_moves_the_result_by_little_and_never_ends_the_search_early() -> None:
    found = []
    for seed in range(200):
        random = Random(seed)
        search = Search(100.0, 0.05)
        searched(search, knee(10_000, noise=lambda random=random: random.lognormvariate(0, 0.1)))  # type: ignore[misc]
        assert search.low is not None
        found.append(search.low / best(10_000))
    assert min(found) > 0.9
    assert max(found) < 1.1


def test_a_hiccup_at_a_low_rate_is_tried_again() -> None:
    random = Random(3)
    for _ in range(100):
        hiccup = random.randrange(8)
        count = iter(range(1000))

        def trial(rate: float, count=count, hiccup=hiccup) -> tuple[str, bool]:  # type: ignore[no-untyped-def]  # noqa: ANN001
            return FAILS if next(count) == hiccup or rate >= 10_000 else HOLDS, False

        search = Search(100.0, 0.05)
        searched(search, trial)
        assert search.low is not None
        assert search.low >= 9_500


def test_where_even_the_lowest_rate_fails_it_is_tried_twice_and_that_is_all() -> None:
    search = Search(100.0, 0.05)
    assert searched(search, lambda rate: (FAILS, False)) == [100, 100]
    assert (search.low, search.high, search.ended) == (None, 100, FAILED)


def test_where_the_generator_is_the_limit_the_result_is_a_lower_bound() -> None:
    search = Search(100.0, 0.05)
    searched(search, lambda rate: (HOLDS if rate < 5000 else LIMITED, False))
    assert search.ended == AT_LEAST
    assert search.low is not None
    assert 4_700 < search.low < 5000


@pytest.mark.parametrize(
    ("verdicts", "ended"),
    [([LIMITED, LIMITED], AT_LEAST), ([FAILS, HOLDS, FAILS], FOUND), ([FAILS, HOLDS, LIMITED], AT_LEAST)],
)
def test_the_result_is_a_lower_bound_where_half_of_what_failed_was_the_generator(
    verdicts: list[str], ended: str
) -> None:
    search = Search(100.0, 2.0)  # one rate that holds and one that does not are enough
    search.take(HOLDS, close=False)
    for verdict in verdicts:
        search.take(verdict, close=True)
    assert (search.low, search.high, search.ended) == (100, 200, ended)


def test_what_is_close_is_decided_by_the_majority_of_three() -> None:
    search = Search(100.0, 0.05)
    search.take(HOLDS, close=True)
    assert (search.next_rate(), search.ended) == (100, INTERRUPTED)
    search.take(FAILS, close=False)
    assert search.next_rate() == 100
    search.take(HOLDS, close=True)
    assert (search.low, search.next_rate()) == (100, 200)


def test_a_rate_that_nothing_stops_ends_at_the_most_that_can_be_asked_for() -> None:
    search = Search(100.0, 0.05, most=1000)
    assert searched(search, lambda rate: (HOLDS, False)) == [100, 200, 400, 800, 1000]
    assert (search.low, search.high, search.ended) == (1000, None, AT_LEAST)


@pytest.mark.parametrize("precision", [1e-9, 1e-4])
def test_a_precision_that_no_rate_can_tell_apart_ends_all_the_same(precision: float) -> None:
    search = Search(0.5, precision)
    assert len(searched(search, lambda rate: (HOLDS if rate < 3.3333333 else FAILS, False))) < 60
