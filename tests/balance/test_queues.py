"""Published results on queues and bins, which policies and the simulation that judges them have to reproduce."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from statistics import fmean

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Setup
from lbctl.balance.policies.table import POLICIES
from tests.balance.fleet import fleet
from tests.balance.simulation import Simulation, serves

pytestmark = pytest.mark.slow
JSQ: tuple[str, dict[str, str]] = ("least_request", {"full_scan": "true"})
LATENCY = {"q_rif": "1"}
RR: tuple[str, dict[str, str]] = ("round_robin", {})


def mean_time(form: tuple[str, dict[str, str]], size: int, calls: int, seed: int) -> float:
    """The mean time of calls, in service times, at 90 % load, from when the queues have become what they are."""
    policy, options = form
    backends = [serves(1.0) for _ in range(size)]
    simulation = Simulation(policy, backends, options, seed=seed, skip=1000 * size)
    simulation.open_loop(0.9 * size, 1000 * size + calls)
    return simulation.mean_s()


@pytest.mark.parametrize(
    ("form", "size", "seeds", "expected"),
    [
        (RR, 100, 2, 5.20),
        (RR, 10, 3, 5.60),
        (JSQ, 100, 1, 1.069),
        (JSQ, 10, 1, 1.93),
        (JSQ, 2, 2, 5.42),
    ],
)
def test_queues_at_90_percent_are_as_long_as_published(
    form: tuple[str, dict[str, str]], size: int, seeds: int, expected: float
) -> None:
    found = fmean(mean_time(form, size, 120_000, 10 * seed) for seed in range(seeds))
    assert found == pytest.approx(expected, rel=0.03)


def erlang_c(servers: int, load: float) -> float:
    """The mean time in a queue with so many servers behind it, in service times."""
    offered = servers * load
    terms = [offered**k / math.factorial(k) for k in range(servers + 1)]
    waits = terms[-1] / (1 - load)
    return 1 + waits / (sum(terms[:-1]) + waits) / (servers * (1 - load))


def test_no_policy_beats_one_queue_before_all_servers() -> None:
    assert erlang_c(10, 0.9) == pytest.approx(1.669, abs=5e-4)
    for form in (JSQ, ("least_conn", {}), ("p2c", {})):
        assert mean_time(form, 10, 60_000, 3) > erlang_c(10, 0.9)


def test_one_server_is_an_m_m_1_queue() -> None:
    """At 90 % load calls take 10 service times on average, and 1 % more than 46.05."""
    assert erlang_c(1, 0.9) == pytest.approx(10)
    means, parts = [], []
    for seed in range(2):
        simulation = Simulation("random", [serves(1.0)], seed=seed, skip=2000, limit_s=math.log(100) / (1 - 0.9))
        simulation.open_loop(0.9, 400_000)
        means.append(simulation.mean_s())
        parts.append(simulation.above / simulation.picks.total())
    assert fmean(means) == pytest.approx(10, rel=0.05)
    assert fmean(parts) == pytest.approx(0.01, abs=0.002)


@pytest.mark.parametrize(("draws", "expected"), [(1, 5.45), (2, 3.0), (3, 2.3)])
def test_the_fullest_of_as_many_bins_as_balls_is_as_full_as_published(draws: int, expected: float) -> None:
    found = fmean(max(thrown(draws, 1000, 1000, seed).values()) for seed in range(100))
    assert found == pytest.approx(expected, abs=0.2)


def test_with_very_many_balls_two_choices_stay_close_to_the_mean_and_one_does_not() -> None:
    gaps = [fmean(max(thrown(draws, 10, 100_000, seed).values()) - 10_000 for seed in range(20)) for draws in (1, 2)]
    assert gaps[0] == pytest.approx(171, abs=4 * 50 / math.sqrt(20))
    assert gaps[1] == pytest.approx(1.2, abs=0.5)


def thrown(draws: int, bins: int, balls: int, seed: int) -> Counter[Peer]:
    """How many balls are in each bin, of which each went to the emptiest of so many drawn."""
    name, options = ("random", {}) if draws == 1 else ("least_request", {"choice_count": str(draws)})
    policy = POLICIES[name].with_options(options)
    peers, call = fleet([1] * bins), Call(1)
    picker = policy.build(peers, Setup(Random(seed), policy.options))
    for _ in range(balls):
        picker.pick(call).picks += 1
    return Counter({peer: peer.picks for peer in peers})


def test_prequal_holds_where_turns_fail_and_is_better_than_by_latency_alone() -> None:
    """Half of the machines are busy otherwise, so with turns they are full long before all together are.

    Backends answer probes with the time that a call takes there at the load that they have.
    """
    found = {}
    for name, policy, options in (
        ("turns", "round_robin", {}),
        ("both", "prequal", {}),
        ("latency", "prequal", LATENCY),
    ):
        backends = [serves(0.01 if place % 2 else 0.02) for place in range(20)]
        simulation = Simulation(policy, backends, options, skip=5000, told_s=at_its_load)
        simulation.open_loop(1500 * 0.8, 20_000)
        found[name] = simulation.mean_s() / 0.01
    assert found["both"] < found["latency"] < 5 < 50 < found["turns"]


def at_its_load(place: int, in_flight: int) -> float:
    return (in_flight + 1) * (0.01 if place % 2 else 0.02)
