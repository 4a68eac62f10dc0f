"""Weights by thresholds: when they are made anew, of what, and what shares they give."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import NamedTuple

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer
from lbctl.balance.policies import weighted_random
from lbctl.balance.policies.base import Call, Learning, Setup
from lbctl.balance.policies.dynamic_weight import POLICY
from lbctl.balance.window import Window
from lbctl.errors import UsageError
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, fleet, instance

FAILED = Reply(Code.UNAVAILABLE)


class Kind(NamedTuple):
    """How a backend behaves: how long it takes, and every how manieth call fails (0: none)."""

    latency_s: float
    fails_every: int = 0


class Backends:
    """A balancer over connected backends of some kinds; calls end one after the other, 100 a second."""

    def __init__(self, kinds: dict[str, Kind], weights: dict[str, int], **options: str) -> None:
        self.now_ns = 10**9
        self.notes: list[tuple[str, str, str]] = []
        self.kinds = kinds
        self.balancer = Balancer(POLICY.with_options(options), Random(1))
        self.balancer.on_note = lambda kind, peer, text, level: self.notes.append((kind, peer.instance.key, text))
        self.set(weights)
        self.ended: Counter[str] = Counter()

    def set(self, weights: dict[str, int]) -> None:
        for peer in self.balancer.update(instance(key, weight) for key, weight in weights.items()).added:
            self.balancer.mark(peer, ready=True)

    def run(self, seconds: float) -> Counter[str]:
        """Go on for so long; the picks by key."""
        counts: Counter[str] = Counter()
        for _ in range(round(seconds * 100)):
            self.now_ns += 10_000_000
            counts[self._call().instance.key] += 1
        return counts

    def _call(self) -> Peer:
        picker = self.balancer.picker
        assert picker is not None
        peer = picker.pick(Call(self.now_ns))
        peer.picks += 1
        peer.finished += 1
        key = peer.instance.key
        self.ended[key] += 1
        kind = self.kinds[key]
        failed = kind.fails_every and self.ended[key] % kind.fails_every == 0
        begun_ns = self.now_ns - int(kind.latency_s * 1e9)
        self.balancer.ended(peer, begun_ns, self.now_ns, FAILED if failed else OK)
        return peer


def weights_of(backends: Backends) -> dict[str, int | None]:
    return {peer.instance.key: peer.override for peer in backends.balancer.peers.values()}


PLAIN = Kind(0.05, 20)  # neither fast nor slow, and 5 % fail: no threshold is passed
QUICK = {"interval": "10s", "window": "30s"}


def test_weights_are_made_anew_every_interval_and_picked_by() -> None:
    kinds = {"A": PLAIN, "B": Kind(0.2, 5), "C": Kind(0.001)}
    backends = Backends(kinds, dict.fromkeys("ABC", 4), **QUICK)
    assert backends.run(10) == {"A": 333, "B": 334, "C": 333} or max(backends.ended.values()) - 333 <= 1
    counts = backends.run(10)
    assert weights_of(backends) == {"A": None, "B": 1, "C": 9}
    assert [peer.weight_used for peer in backends.balancer.peers.values()] == [4, 1, 9]
    for key, weight in (("A", 4), ("B", 1), ("C", 9)):
        assert counts[key] == pytest.approx(1000 * weight / 14, abs=3)
    assert backends.balancer.evidence().overrun <= 0


def test_the_registered_weight_is_where_it_starts_each_time() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.05)}, {"A": 3, "B": 3}, **QUICK)
    backends.run(100)
    assert weights_of(backends) == {"A": None, "B": 6}  # and not 10, where doubling again and again would end
    assert len(backends.notes) == 1


def test_a_backend_that_is_well_again_gets_its_weight_back_once_its_errors_are_out_of_the_window() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.05, 2)}, {"A": 4, "B": 4}, **QUICK)
    backends.run(11)
    assert weights_of(backends)["B"] == 2
    backends.kinds["B"] = PLAIN
    backends.run(15)
    assert weights_of(backends)["B"] == 2
    backends.run(20)
    assert weights_of(backends)["B"] == 4


def test_changes_are_told_with_their_reason() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.2, 5)}, {"A": 4, "B": 4}, **QUICK)
    backends.run(11)
    assert backends.notes == [
        ("weight", "B", "weight 4 -> 1 (registered 4): errors 20% above 10%: halved, mean 200ms above 100ms: -1")
    ]


def test_a_new_registered_weight_counts_at_once() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.05)}, {"A": 2, "B": 2}, **QUICK)
    backends.run(11)
    assert weights_of(backends)["B"] == 4
    backends.set({"A": 2, "B": 1})
    assert backends.run(6)["B"] == pytest.approx(200, abs=3)
    backends.run(10)
    assert weights_of(backends)["B"] == 2


def test_a_set_that_changes_all_the_time_does_not_put_off_the_look_at_weights() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.05), "C": PLAIN}, {"A": 3, "B": 3, "C": 3}, **QUICK)
    (*_, c) = backends.balancer.peers.values()
    for turn in range(6):
        backends.balancer.drain(c, drained=turn % 2 == 0)
        backends.run(2)
    assert weights_of(backends)["B"] == 6


def test_a_backend_with_few_calls_keeps_its_weight() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.5, 1)}, {"A": 1000, "B": 5}, **QUICK)
    backends.run(11)
    assert backends.ended["B"] < 10
    assert weights_of(backends)["B"] is None


def test_backends_that_are_all_of_weight_zero_have_weights_too() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.001)}, {"A": 0, "B": 0}, **QUICK)
    assert abs(backends.run(10)["A"] - 500) <= 1
    assert backends.run(10)["B"] == pytest.approx(750, abs=3)
    assert weights_of(backends) == {"A": 1, "B": 3}


def test_another_policy_forgets_the_weights() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.001)}, {"A": 1, "B": 1}, **QUICK)
    backends.run(11)
    backends.balancer.switch(POLICY.with_options({"base": "weighted_random"}))
    assert abs(backends.run(1)["A"] - 50) <= 20
    assert weights_of(backends) == {"A": None, "B": None}


def test_draws_can_be_the_base_and_are_judged_as_draws() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.001)}, {"A": 3, "B": 3}, base="weighted_random", **QUICK)
    backends.run(60)
    evidence = backends.balancer.evidence()
    assert evidence.drawn == 6000
    assert evidence.chi2 < 30  # two epochs, two degrees of freedom


def test_the_base_has_options_of_its_own() -> None:
    options = POLICY.with_options({"base": "weighted_random", "base-opt": "form=hybrid+threshold=7"}).options
    assert options.picking() == weighted_random.POLICY.with_options({"form": "hybrid", "threshold": "7"})
    for wrong in ("form=none", "shape=1"):
        with pytest.raises(UsageError, match="weighted_random"):
            POLICY.with_options({"base": "weighted_random", "base-opt": wrong})


def test_why_tells_how_calls_ended() -> None:
    backends = Backends({"A": PLAIN, "B": Kind(0.2, 5)}, {"A": 4, "B": 4}, **QUICK)
    backends.run(11)
    picker = backends.balancer.picker
    assert picker is not None
    _, why = picker.why(Call(backends.now_ns))
    told = {peer.instance.key: figures[-1] for peer, figures in why.rows}
    calls = backends.ended["B"]
    assert told["B"] == f"4 registered, {calls} calls, {calls // 5} failed, mean 200ms"


def test_a_run_that_is_shorter_than_the_interval_is_told_so() -> None:
    backends = Backends({"A": PLAIN, "B": PLAIN}, {"A": 4, "B": 4})
    assert list(backends.balancer.doubts()) == []
    backends.run(20)
    assert list(backends.balancer.doubts()) == [
        "no weight was looked at yet: that happens every interval, 60s unless told otherwise"
    ]
    backends.run(45)
    assert list(backends.balancer.doubts()) == []


def test_an_end_counts_once_where_two_pickers_over_different_backends_are_told_of_it() -> None:
    peers, setup = fleet([5, 5]), Setup(Random(1), POLICY.options)
    pickers = [POLICY.build(peers[:1], setup), POLICY.build(peers[1:], setup)]
    for picker in pickers:
        assert isinstance(picker, Learning)
        picker.ended(peers[0], 0, 1_000_000, OK)
    assert [peer.memory.sums(1_000_000)[0] for peer in peers] == [1, 0]


@pytest.mark.parametrize("options", [{"error-low": "0.5"}, {"latency-low": "1s"}, {"min": "11"}])
def test_thresholds_that_contradict_each_other_are_a_usage_error(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="dynamic_weight"):
        POLICY.with_options(options)


def test_a_window_knows_what_a_list_of_all_calls_knows() -> None:
    rng, window, calls, now_ns = Random(3), Window(30_000), [(0, 0, True)][:0], 0
    for _ in range(10_000):
        now_ns += rng.choice([0, 1, 50, 400, 900, 20_000]) if rng.random() < 0.9 else 1
        latency_ns, ok = rng.randrange(1000), rng.random() < 0.8
        window.add(now_ns - latency_ns, now_ns, ok=ok)
        calls.append((now_ns, latency_ns, ok))
        since = (now_ns // 1000 - 29) * 1000
        calls = [call for call in calls if call[0] >= since]
        requests, errors, mean_s = window.sums(now_ns)
        assert (requests, errors) == (len(calls), sum(not ok for _, _, ok in calls))
        assert mean_s == pytest.approx(sum(latency for _, latency, _ in calls) / len(calls) / 1e9)
