"""Breakers before the pick: their formulas, their invariants, and the cliff."""

from __future__ import annotations

from random import Random

import pytest

from lbctl.balance.guards.breakers import (
    GozeroBreaker,
    GozeroOptions,
    KratosOptions,
    MaxRequests,
    MaxRequestsOptions,
    SreBreaker,
    SreOptions,
    gozero_drop,
    sre_drop,
    streaks,
)
from lbctl.balance.guards.window import Window
from lbctl.model import Code
from tests.balance.fleet import VECTORS
from tests.balance.guards.ward import SECOND

MS = 1_000_000


def test_go_zeros_formula() -> None:
    for case in VECTORS["gozero_breaker"]["expect"]["cases"]:
        drop = gozero_drop(case["total"], case["accepts"], case["failing"], case["working"])
        assert drop == pytest.approx(case["drop"], abs=5e-5)


def test_kratos_formula() -> None:
    vector = VECTORS["kratos_sre_breaker"]
    options = KratosOptions()
    for (total, accepted), drop in zip(vector["given"]["cases"], vector["expect"]["drop"], strict=True):
        assert sre_drop(total, accepted, options.k, options.minimum) == pytest.approx(drop, abs=5e-5)


def test_as_many_requests_as_grpc_allows_are_in_flight_and_no_more() -> None:
    vector = VECTORS["grpc_xds_circuit_breaker"]
    limit = vector["given"]["max_requests_default"]
    breaker = MaxRequests(MaxRequestsOptions())
    assert breaker.admit(10, limit - 3, 0) == 3
    assert breaker.admit(10, limit, 0) == breaker.admit(10, limit + 5, 0) == 0
    assert breaker.admit(limit, 0, 0) == limit


@pytest.mark.parametrize("k", [1.5, 2.0])
def test_nothing_is_dropped_while_one_of_k_requests_is_accepted(k: float) -> None:
    for total in range(200):
        for accepted in range(total + 1):
            drop = sre_drop(total, accepted, k)
            assert 0 <= drop < 1
            assert (drop == 0) is (accepted * k >= total)
            go = gozero_drop(total, accepted, failing=0, working=0)
            assert 0 <= go < 1
            assert not (accepted * 1.5 >= total and go)


@pytest.mark.slow
def test_below_one_of_k_almost_everything_is_dropped_and_above_nothing() -> None:
    vector = VECTORS["sre_breaker_collapse"]
    expected = vector["expect"]
    law, simulated = expected["passes_per_window_law_1/(1-Ks)"], expected["passes_per_window_simulated"]
    for success, exact, seen in zip(vector["given"]["backend_success"], law, simulated, strict=True):
        bounds = (
            (seen, seen) if exact == "no drops" else (exact, seen)
        )  # the law is one for averages, and ignores chance
        assert 0.6 * min(bounds) <= _passes_a_window(success, vector["given"]["K"]) <= 1.4 * max(bounds), success


def _passes_a_window(success: float, k: float) -> float:
    """Calls that get through in a window of 3 s, at 1000 a second, once it has settled: the mean of three runs."""
    return sum(_one_run(success, k, seed) for seed in (10, 11, 12)) / 3


def _one_run(success: float, k: float, seed: int) -> float:
    answers = Random(seed)
    breaker = SreBreaker("sre", SreOptions(k=k, window=3.0, buckets=30), Random(seed + 1))
    if success < 0.5:
        breaker._window.add(0, drops=3000)  # it takes minutes to come down by itself
    seconds, passed = (150 if success < 0.5 else 9), 0
    for number in range(seconds * 1000):
        now_ns = number * MS
        if breaker.admit(1, 0, now_ns):
            passed += number >= 6000
            breaker.ended(Code.OK if answers.random() < success else Code.UNAVAILABLE, 1, now_ns)
    return passed / (seconds - 6) * 3


def test_calls_that_were_dropped_count_as_requests() -> None:
    breaker = SreBreaker("kratos", KratosOptions(), Random(1))
    breaker.ended(Code.UNAVAILABLE, 100, 0)
    admitted = breaker.admit(10_000, 0, 0)
    assert admitted < 10  # 1 of 101 at first, then ever fewer


def test_what_is_too_old_is_forgotten() -> None:
    breaker = SreBreaker("kratos", KratosOptions(), Random(1))
    breaker.ended(Code.UNAVAILABLE, 1000, 0)
    assert breaker.admit(100, 0, 2 * SECOND) < 10
    assert breaker.admit(100, 0, 6 * SECOND) == 100


@pytest.mark.parametrize("code", [Code.NOT_FOUND, Code.INVALID_ARGUMENT, Code.OK])
def test_what_says_nothing_against_the_service_counts_as_accepted(code: Code) -> None:
    for breaker in (SreBreaker("sre", SreOptions(), Random(1)), GozeroBreaker(GozeroOptions(), Random(1))):
        breaker.ended(code, 1000, 0)
        breaker.ended(Code.UNAVAILABLE, 400, 0)
        assert breaker.admit(100, 0, 0) == 100


def test_go_zero_lets_one_call_a_second_pass_whatever_it_thinks() -> None:
    breaker = GozeroBreaker(GozeroOptions(), Random(3))
    now = SECOND
    for place in range(40):  # failing buckets only: almost everything is dropped
        breaker.ended(Code.UNAVAILABLE, 50, now + place * 250 * MS)
    now += 39 * 250 * MS
    while not breaker.admit(1, 0, now):
        pass
    passed = []
    for step in range(5000):
        at = now + step * MS
        breaker.ended(Code.UNAVAILABLE, 10, at)
        if breaker.admit(1, 0, at):
            passed.append(step)
    gaps = [after - before for before, after in zip([0, *passed], passed, strict=False)]
    assert all(gap <= 1001 for gap in gaps)
    assert len(passed) >= 4


def test_streaks_are_counted_from_the_newest_bucket() -> None:
    ok, bad, both, none = (3, 0, 0), (0, 2, 0), (1, 1, 0), (0, 0, 5)
    assert streaks([bad, bad, ok, ok]) == (0, 2)
    assert streaks([ok, bad, none, bad]) == (2, 0)
    assert streaks([ok, both]) == (0, 0)
    assert streaks([none, none]) == (0, 0)


def test_a_window_holds_what_a_list_of_times_holds() -> None:
    rng = Random(2)
    for _ in range(50):
        buckets, width = rng.randint(1, 8), rng.randint(1, 50)
        window, events, now = Window(buckets, width), list[tuple[int, int, int, int]](), 0
        for _ in range(100):
            now += rng.choice((0, 1, width, width * buckets, rng.randint(0, 100)))
            event = (now, rng.randint(0, 3), rng.randint(0, 3), rng.randint(0, 3))
            events.append(event)
            window.add(*event)
            inside = [e for e in events if e[0] // width > now // width - buckets]
            assert window.successes == sum(e[1] for e in inside)
            assert window.failures == sum(e[2] for e in inside)
            assert window.drops == sum(e[3] for e in inside)
            newest = window.oldest_first()[-1]
            assert newest[0] == sum(e[1] for e in inside if e[0] // width == now // width)
