"""Peak EWMA as Finagle, Tower and Envoy have it."""

from __future__ import annotations

from math import exp
from random import Random

import pytest

from lbctl.balance.ewma import Peak, Sampled
from lbctl.balance.peak_costs import Envoy, Finagle, Node, Tower, envoy_cost
from lbctl.balance.policies.base import Call, Learning, Setup
from lbctl.balance.policies.table import POLICIES
from tests.balance.fleet import OK, VECTORS, built, fleet
from tests.balance.traffic import MS, REPLIES, Traffic, busy

SECOND = 1000 * MS
PENALTY = (2**63 - 1) >> 16


def test_finagle_averages_as_computed_from_its_source() -> None:
    given = VECTORS["finagle_peak_ewma"]["given"]
    events = [(0, 100), (1, 0), (1, 50), (2, 300)]  # seconds, and the sample in ms: a read is one of 0
    assert [event for _, event in given["events"]] == ["sample 100 ms", "read", "sample 50 ms", "sample 300 ms"]
    peak, found = Peak(), []
    for at_s, sample_ms in events:
        found.append(peak.observe(sample_ms, at_s * SECOND, given["tau_s"] * 1e9))
    assert found == pytest.approx(VECTORS["finagle_peak_ewma"]["expect"]["ewma_ms"], rel=1e-12)


def test_tower_costs_follow_its_published_timeline() -> None:
    vector = VECTORS["tower_peak_ewma"]
    node = Node()
    (peer,) = fleet([1])
    tower = Tower([(peer, node)] * 2, 1.0, vector["given"]["default_rtt_ms"] / 1000, Random(1))
    loads = vector["expect"]["loads_ms"]

    def cost_ms(in_flight: int, at_ms: int) -> float:
        return tower.cost(node, in_flight, at_ms * MS) / MS

    assert cost_ms(0, 0) == loads["0"]
    assert cost_ms(1, 100) > 20
    assert cost_ms(2, 200) > 40
    tower.learn(node, 200 * MS, 300 * MS)
    assert cost_ms(1, 300) == loads["300"]
    tower.learn(node, 200 * MS, 400 * MS)
    assert cost_ms(0, 400) == loads["400"]
    assert cost_ms(0, 1400) < 100
    assert cost_ms(0, 11_400) < 0.1


def test_envoy_costs_are_as_published() -> None:
    given = VECTORS["envoy_peak_ewma_cost"]["given"]
    for case in VECTORS["envoy_peak_ewma_cost"]["expect"]["cases"]:
        assert envoy_cost(case["rtt"], case["active"], given["default_rtt_ms"]) == case["cost"]


def test_finagle_is_cautious_with_who_never_answered_and_busy() -> None:
    (peer,) = fleet([1])
    finagle = Finagle([(peer, Node())] * 2, 10.0, 0.0, Random(1))
    assert [finagle.cost(Node(), in_flight, SECOND) for in_flight in (0, 1, 7)] == [0.0, PENALTY + 1, PENALTY + 7]


def test_tower_takes_who_was_forgotten_altogether_for_the_fastest() -> None:
    (peer,) = fleet([1])
    node = Node()
    tower = Tower([(peer, node)] * 2, 1.0, 0.0, Random(1))
    assert tower.cost(node, 3, SECOND) == 30 * MS * 4
    assert tower.cost(node, 3, 1000 * SECOND) == 0.0


def test_a_peak_replaces_the_average_and_other_samples_stay_within_all_there_were() -> None:
    for case in range(200):
        rng = Random(case)
        peak, now_ns, samples = Peak(), 0, [0.0]
        for _ in range(50):
            now_ns += rng.choice([0, 1000, rng.randrange(20 * SECOND)])
            samples.append(rng.uniform(1, 1e9))
            before = peak.value
            after = peak.observe(samples[-1], now_ns, 1e10)
            assert after >= samples[-1] * (1 - 1e-12) or after < before
            assert after == samples[-1] or samples[-1] <= before
            assert 0.0 <= after <= max(samples)


def test_envoy_averages_what_waited_when_a_tenth_of_a_second_is_over() -> None:
    node = Node()
    (peer,) = fleet([1])
    envoy = Envoy([(peer, node)] * 2, 10.0, 0.0, Random(1))
    assert envoy.cost(node, 0, SECOND) == 10.0
    envoy.learn(node, 40 * MS, SECOND + 10 * MS)
    envoy.learn(node, 80 * MS, SECOND + 20 * MS)
    assert envoy.cost(node, 0, SECOND + 99 * MS) == 10.0
    assert envoy.cost(node, 1, SECOND + 100 * MS) == pytest.approx(2 * (40 + (1 - exp(-0.001)) * 40))


def test_envoy_takes_a_sample_at_the_time_of_the_one_before_as_it_is_and_keeps_a_thousand() -> None:
    sampled = Sampled()
    for number in range(1500):
        sampled.add(float(number), SECOND)
    assert len(sampled.waiting) == 1000
    sampled.average(1e10)
    assert sampled.value_ms == 1499.0


@pytest.mark.parametrize("dialect", ["finagle", "tower", "envoy"])
@pytest.mark.parametrize("case", range(5))
def test_the_lower_cost_of_two_different_ones_is_chosen_at_every_pick(dialect: str, case: int) -> None:
    rng = Random(case)
    peers = fleet([1] * rng.choice([2, 3, 9]))
    policy = POLICIES["peak_ewma"].with_options({"dialect": dialect})
    traffic = Traffic(policy.build(peers, Setup(Random(case), policy.options)), peers, rng)
    silent = policy.build(peers, Setup(Random(case), policy.options))  # the same draws and memories
    for _ in range(300):
        told, why = silent.why(Call(traffic.now_ns))
        (first, figures), (second, others) = why.rows
        cost, other = float(figures[2]), float(others[2])
        assert first is not second
        assert told is (first if cost < other else second) or cost == other
        assert traffic.pick() is told or dialect == "envoy"  # whose averages are as of its own last look
        traffic.wait()
        traffic.thin_out(12, REPLIES)


class FinagleNode:
    """One node as Finagle keeps it."""

    def __init__(self) -> None:
        self.cost, self.stamp, self.pending = 0.0, 10**12, 0

    def observe(self, rtt: float, now: int) -> None:
        w = exp(-max(now - self.stamp, 0) / 1e10)
        self.cost = rtt if rtt > self.cost else self.cost * w + rtt * (1 - w)
        self.stamp = now

    def load(self, now: int) -> float:
        self.observe(0.0, now)
        if self.cost == 0.0 and self.pending:
            return PENALTY + self.pending
        return self.cost * (self.pending + 1)

    def end(self, start: int, now: int) -> None:
        self.pending -= 1
        self.observe(now - start, now)


@pytest.mark.parametrize("case", range(25))
def test_peak_ewma_agrees_with_finagle_over_10_000_picks(case: int) -> None:
    rng, draws = Random(case), Random(case)
    peers = fleet([1] * (2 + case % 7))
    policy = POLICIES["peak_ewma"].with_options({"failure-penalty": "0s"})
    traffic = Traffic(policy.build(peers, Setup(Random(case), policy.options)), peers, rng)
    nodes = {peer: FinagleNode() for peer in peers}
    traffic.heard = lambda peer, begun_ns, now_ns, reply: nodes[peer].end(begun_ns, now_ns)
    for _ in range(400):
        a, b = int(draws.random() * len(peers)), int(draws.random() * (len(peers) - 1))
        b += b >= a
        load, rival = (nodes[peers[index]].load(traffic.now_ns) for index in (a, b))
        expected = peers[a if load <= rival else b]
        assert traffic.pick() is expected
        nodes[expected].pending += 1
        traffic.wait()
        traffic.thin_out(12, REPLIES)


def test_who_was_slow_is_tried_again_when_it_has_been_forgotten() -> None:
    slow, fast = fleet([1, 1])
    picker = built("peak_ewma", [slow, fast])
    assert isinstance(picker, Learning)
    picker.ended(slow, 0, 1000 * MS, OK)
    picked = []
    for at_s in range(2, 120):
        peer = picker.pick(Call(at_s * SECOND))
        picker.ended(peer, at_s * SECOND, at_s * SECOND + 10 * MS, OK)
        picked.append(peer)
    assert picked[:30] == [fast] * 30
    assert slow in picked


def test_latency_times_busyness_decides() -> None:
    peers = busy(fleet([1, 1]), [0, 0])
    picker = built("peak_ewma", peers)
    assert isinstance(picker, Learning)
    picker.ended(peers[0], 0, 10 * MS, OK)
    picker.ended(peers[1], 0, 30 * MS, OK)
    busy(peers, [1, 0])
    assert picker.pick(Call(31 * MS)) is peers[0]  # 10 x 2 < 30 x 1
    busy(peers, [3, 0])
    assert picker.pick(Call(31 * MS)) is peers[1]  # 10 x 4 > 30 x 1
