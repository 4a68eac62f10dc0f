"""Kratos's p2c, against its vectors and against its rule written down plainly."""

from __future__ import annotations

from math import exp, sqrt
from random import Random

import pytest

from lbctl.balance.ewma import moved
from lbctl.balance.kratos import Node
from lbctl.balance.policies.base import Call, Learning, Setup
from lbctl.balance.policies.table import POLICIES
from tests.balance.fleet import OK, VECTORS, built, fleet
from tests.balance.traffic import MS, REPLIES, Traffic, busy

SECOND = 1000 * MS


class Kratos:
    """One node as Kratos keeps it."""

    def __init__(self) -> None:
        self.lag, self.success, self.stamp, self.inflight = 0, 1000, 0, 1
        self.slots = [0] * 200
        self.reqs, self.last_pick = 0, -(10**18)
        self.weight, self.weighed = 0.0, -(10**18)

    def predict(self, now: int) -> int:
        starts = [start for start in self.slots if start]
        slow = [now - start for start in starts if now - start > self.lag]
        return sum(slow) // len(slow) if len(slow) >= len(starts) // 2 + 1 else 0

    def load(self, now: int) -> int:
        if self.lag == 0:
            return 100_000 * self.inflight
        return int(sqrt(max(self.lag, self.predict(now)) + 5_000_000)) * self.inflight

    def weigh(self, now: int) -> float:
        if now - self.weighed > 5_000_000:
            self.weight, self.weighed = self.success * 10_000 / self.load(now), now
        return self.weight

    def pick(self, now: int) -> None:
        self.last_pick, self.inflight, self.reqs = now, self.inflight + 1, self.reqs + 1
        if not self.slots[self.reqs % 200]:
            self.slots[self.reqs % 200] = now

    def done(self, start: int, now: int, code: int) -> None:
        if start in self.slots:
            self.slots[self.slots.index(start)] = 0
        self.inflight -= 1
        w = exp(-max(now - self.stamp, 0) / 6e8) if self.lag else 0.0
        self.stamp = now
        self.lag = int(self.lag * w + (now - start) * (1 - w))
        self.success = int(self.success * w + (0 if code in {1, 4, 14} else 1000) * (1 - w))


def kratos_choice(nodes: list[Kratos], rng: Random, now: int) -> int:
    a, b = int(rng.random() * len(nodes)), int(rng.random() * (len(nodes) - 1))
    b += b >= a
    weight_b, weight_a = nodes[b].weigh(now), nodes[a].weigh(now)
    chosen, other = (b, a) if weight_b > weight_a else (a, b)
    if now - nodes[other].last_pick > 3 * 10**9:
        chosen = other
    nodes[chosen].pick(now)
    return chosen


@pytest.mark.parametrize("case", range(25))
def test_kratos_p2c_agrees_with_kratos_over_10_000_picks_with_failures(case: int) -> None:
    rng = Random(case)
    peers = fleet([1] * rng.choice([2, 3, 4, 9]))
    policy = POLICIES["kratos_p2c"].with_options({"failure-penalty": "0s"})
    traffic = Traffic(policy.build(peers, Setup(Random(case), policy.options)), peers, rng)
    nodes = {peer: Kratos() for peer in peers}
    traffic.heard = lambda peer, begun_ns, now_ns, reply: nodes[peer].done(begun_ns, now_ns, reply.code)
    draws, crowd = Random(case), rng.choice([3, 12, 700])
    for _ in range(400):
        assert traffic.pick() is peers[kratos_choice([*nodes.values()], draws, traffic.now_ns)]
        traffic.wait()
        traffic.thin_out(crowd, REPLIES)


def test_loads_and_weights_are_as_computed_from_the_rule() -> None:
    for case in VECTORS["kratos_load_weight"]["expect"]["cases"]:
        (peer,) = busy(fleet([1]), [case["inflight"] - 1])  # Kratos begins with one
        node = Node(case["lag_ms"] * MS, case["success"])
        assert node.load(peer, SECOND) == case["load"]
        assert -node.cost(peer, SECOND) == pytest.approx(case["weight"], rel=1e-12)


def test_latency_moves_as_published() -> None:
    given = VECTORS["kratos_ewma"]["given"]
    lag, _ = moved(given["old_lag_ns"], given["sample_ns"], round(given["gap_s"] * 1e9), round(given["tau_s"] * 1e9))
    assert lag == VECTORS["kratos_ewma"]["expect"]["new_lag_ns"]


def test_calls_in_flight_that_are_late_count_once_they_are_the_majority() -> None:
    (peer,) = busy(fleet([1]), [4])
    node = Node(10 * MS)
    for begun_ms in (0, 20, 85, 95):
        node.picked(SECOND + begun_ms * MS)
    assert node.predicted_ns(peer, SECOND + 95 * MS) == 0  # 95 and 75 ms old: two of four are not more than half
    assert node.predicted_ns(peer, SECOND + 96 * MS) == (96 + 76 + 11) * MS // 3


def test_a_weight_is_kept_for_five_milliseconds() -> None:
    (peer,) = busy(fleet([1]), [0])
    node = Node(20 * MS)
    node.cache_ns = 5 * MS
    first = node.cost(peer, SECOND)
    busy([peer], [9])
    assert node.cost(peer, SECOND + 5 * MS) == first
    assert node.cost(peer, SECOND + 5 * MS + 1) == pytest.approx(first / 10)


def test_calls_that_were_given_back_do_not_grow_old_in_their_slots() -> None:
    peers = fleet([1, 1])
    picker = built("kratos_p2c", peers)
    for _ in range(50):
        picker.pick(Call(SECOND)).picks += 1
    assert isinstance(picker, Learning)
    for peer in peers:
        peer.finished = peer.picks - 1  # all but one are taken back
        peer.finished += 1
        picker.ended(peer, SECOND, SECOND + 10 * MS, OK)
        assert peer.memory.predicted_ns(peer, 1000 * SECOND) == 0


def test_a_loser_is_forced_after_strictly_more_than_three_seconds() -> None:
    for age_ns, forced in [(3 * SECOND, False), (3 * SECOND + 1, True)]:
        fast, slow = fleet([1, 1])
        fast.memory = Node(MS, picked_ns=100 * SECOND)
        slow.memory = Node(SECOND, picked_ns=100 * SECOND - age_ns)
        assert built("kratos_p2c", [fast, slow]).pick(Call(100 * SECOND)) is (slow if forced else fast)
