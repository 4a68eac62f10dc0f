"""Fastest: estimates of latency, who is asked when nobody has heard of it for long, and nginx's least_time."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from lbctl.balance.estimates import Mean, Moving, Percentile99
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning
from lbctl.model import Reply
from tests.balance.fleet import OK, built, fleet
from tests.balance.traffic import LOST, MS, Traffic, busy

SECOND = 1000 * MS
METRICS = pytest.mark.parametrize("metric", ["ewma", "average", "p99", "dubbo"])


def answered(picker: object, peer: Peer, ms: int, *, at_ns: int = 10 * SECOND, reply: Reply = OK) -> None:
    """A call to the peer took so long."""
    assert isinstance(picker, Learning)
    picker.ended(peer, at_ns - ms * MS, at_ns, reply)


@METRICS
def test_latency_times_calls_in_flight_and_one_decides(metric: str) -> None:
    peers = busy(fleet([1, 1, 1]), [3, 0, 2])
    picker = built("fastest", peers, metric=metric, probe="0s")
    for peer, ms in zip(peers, [10, 40, 12], strict=True):
        answered(picker, peer, ms)
    assert picker.pick(Call(10 * SECOND)) is peers[2]  # 10 x 4, 40 x 1, 12 x 3


def test_the_lowest_latency_alone_takes_everything_when_asked_for() -> None:
    peers = busy(fleet([1, 1]), [50, 0])
    picker = built("fastest", peers, times_in_flight="false", probe="0s")
    answered(picker, peers[0], 10)
    answered(picker, peers[1], 11)
    assert picker.pick(Call(10 * SECOND)) is peers[0]


@METRICS
def test_the_chosen_score_is_the_least_of_all_at_every_pick(metric: str) -> None:
    for case in range(4):
        rng = Random(case)
        peers = fleet([1] * rng.choice([2, 5, 12]))
        picker = built("fastest", peers, seed=case, metric=metric, probe="0s", failure_penalty="0s", window="1h")
        traffic = Traffic(picker, peers, rng)
        samples: dict[Peer, list[tuple[int, int]]] = {peer: [] for peer in peers}
        traffic.heard = lambda peer, begun, now, reply, samples=samples: samples[peer].append((now, now - begun))  # type: ignore[misc]
        for _ in range(200):
            scores = [_score(metric, samples[peer], peer.in_flight) for peer in peers]
            chosen = peers.index(traffic.pick())
            assert scores[chosen] == pytest.approx(min(scores))
            traffic.now_ns += rng.choice([MS, 3 * MS, 20 * MS])
            traffic.thin_out(10)


def _score(metric: str, samples: list[tuple[int, int]], in_flight: int) -> float:
    """The rule, from all samples there were."""
    if not samples:
        return 0.0 if metric == "dubbo" or not in_flight else 1e9 * (in_flight + 1)
    took = [sample for _, sample in samples]
    if metric == "p99":
        return sorted(took)[math.ceil(0.99 * len(took)) - 1] * (in_flight + 1)
    if metric != "ewma":
        return sum(took) / len(took) * (in_flight + 1)
    value, last = 0, 0
    for now_ns, sample in samples:
        old = math.exp((last - now_ns) / 1e9) if value else 0.0
        value, last = int(value * old + sample * (1 - old)), now_ns
    return value * (in_flight + 1)


def test_dubbo_counts_only_calls_that_succeeded_and_draws_among_the_unknown_by_weight() -> None:
    peers = fleet([6, 3, 1])
    picker = built("fastest", peers, metric="dubbo", probe="0s", failure_penalty="0s")
    counts = Counter(picker.pick(Call(SECOND)) for _ in range(5000))
    assert [round(counts[peer] / 5000, 1) for peer in peers] == [0.6, 0.3, 0.1]
    for peer in peers:
        answered(picker, peer, 20)
    answered(picker, peers[1], 0, reply=LOST)
    answered(picker, peers[2], 10)
    assert picker.pick(Call(10 * SECOND)) is peers[2]  # 20, 20 and (20 + 10) / 2


def test_everybody_is_asked_once_before_anybody_is_asked_twice() -> None:
    peers = fleet([1] * 5)
    picker = built("fastest", peers)
    picked = []
    for _ in range(5):
        picked.append(picker.pick(Call(10 * SECOND)))
        picked[-1].picks += 1
    assert set(picked) == set(peers)


@METRICS
def test_who_had_no_call_for_the_probe_interval_is_sent_the_next_one(metric: str) -> None:
    peers = fleet([1, 1, 1])
    picker = built("fastest", peers, metric=metric, probe="2s")
    at_ms: dict[Peer, list[int]] = {peer: [] for peer in peers}
    for now_ms in range(10_000, 20_000, 50):
        peer = picker.pick(Call(now_ms * MS))
        at_ms[peer].append(now_ms)
        answered(picker, peer, 5 if peer is peers[1] else 40, at_ns=now_ms * MS + 40 * MS)
    for slow in (peers[0], peers[2]):
        gaps = {later - sooner for sooner, later in zip(at_ms[slow], at_ms[slow][1:], strict=False)}
        assert gaps <= {2050, 2100}
        assert len(at_ms[slow]) >= 4


def test_who_has_a_call_in_flight_is_not_probed_again() -> None:
    stuck, fine = fleet([1, 1])
    picker = built("fastest", [stuck, fine])
    answered(picker, fine, 5)
    first = picker.pick(Call(10 * SECOND))
    first.picks += 1
    assert first is stuck
    assert {picker.pick(Call(at_s * SECOND)) for at_s in range(11, 30)} == {fine}


def test_an_average_forgets_what_is_older_than_its_window() -> None:
    mean, highest, moving = Mean(30 * SECOND), Percentile99(30 * SECOND), Moving(SECOND)
    for estimate in (mean, highest, moving):
        assert estimate.value_ns(0) == 0
        estimate.add(100, 10 * SECOND)
        estimate.add(200, 12 * SECOND)
    assert mean.value_ns(12 * SECOND) == 150
    assert moving.value_ns(12 * SECOND) == int(100 * math.exp(-2) + 200 * (1 - math.exp(-2)))
    assert (mean.value_ns(40 * SECOND), highest.value_ns(41 * SECOND)) == (200, 200)
    assert (mean.value_ns(50 * SECOND), highest.value_ns(50 * SECOND)) == (0, 0)


def test_the_percentile_is_by_nearest_rank_of_a_thousand_samples_at_most() -> None:
    highest = Percentile99(SECOND)
    for sample in range(1, 101):
        highest.add(sample, 1)
    assert highest.value_ns(1) == 99
    highest.add(101, 1)
    assert highest.value_ns(1) == 100
    for sample in range(1000, 2000):
        highest.add(sample, 1)
    assert highest.value_ns(1) == 1989
