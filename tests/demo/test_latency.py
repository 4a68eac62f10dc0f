from random import Random
from statistics import median, pstdev

import pytest

from lbctl.demo.latency import Behaviour, Fixed, Latency, LogNormal, decode, encode


def test_a_fixed_latency_is_the_same_for_every_call() -> None:
    assert {Fixed(0.002).sample(Random(number)) for number in range(10)} == {0.002}


def test_half_of_the_lognormal_delays_are_above_the_median() -> None:
    rng = Random(1)
    samples = [LogNormal(0.002, 0.5).sample(rng) for _ in range(20_000)]
    assert median(samples) == pytest.approx(0.002, rel=0.03)


def test_sigma_is_the_spread_of_the_logarithms() -> None:
    from math import log

    rng = Random(1)
    assert pstdev(log(LogNormal(0.002, 0.5).sample(rng)) for _ in range(20_000)) == pytest.approx(0.5, rel=0.03)


def test_a_lognormal_with_sigma_zero_is_its_median() -> None:
    assert LogNormal(0.002, 0.0).sample(Random(1)) == 0.002


@pytest.mark.parametrize("latency", [Fixed(0.002), Fixed(0.0), LogNormal(0.002, 0.5)])
def test_a_model_survives_the_way_to_the_backend_process(latency: Latency) -> None:
    assert decode(encode(latency)) == latency


def test_the_same_seed_gives_the_same_delays_and_failures() -> None:
    first, second = (Behaviour(LogNormal(0.002, 0.5), 0.1, "7/0") for _ in range(2))
    assert [(first.delay(), first.fails()) for _ in range(500)] == [
        (second.delay(), second.fails()) for _ in range(500)
    ]


def test_two_backends_of_one_seed_differ() -> None:
    first, second = (Behaviour(LogNormal(0.002, 0.5), 0.1, f"7/{index}") for index in range(2))
    assert [first.delay() for _ in range(5)] != [second.delay() for _ in range(5)]


def test_another_latency_model_leaves_the_failing_calls_where_they_were() -> None:
    fixed, spread = Behaviour(Fixed(0.001), 0.1, "7/0"), Behaviour(LogNormal(0.002, 0.5), 0.1, "7/0")
    assert [(fixed.delay(), fixed.fails())[1] for _ in range(500)] == [
        (spread.delay(), spread.fails())[1] for _ in range(500)
    ]


@pytest.mark.parametrize(("rate", "failures"), [(0.0, 0), (1.0, 1000)])
def test_a_rate_of_none_or_all_is_exact(rate: float, failures: int) -> None:
    behaviour = Behaviour(Fixed(0.0), rate, "1")
    assert sum(behaviour.fails() for _ in range(1000)) == failures


def test_failures_come_at_their_rate() -> None:
    behaviour = Behaviour(Fixed(0.0), 0.005, "1")
    # 500 expected of 100,000; five standard deviations are 112.
    assert sum(behaviour.fails() for _ in range(100_000)) == pytest.approx(500, abs=112)
