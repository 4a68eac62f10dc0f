"""Who has the lowest score, by brute force; how ties are broken; and calls whose end nobody tells."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import is_fault
from lbctl.balance.policies.base import Call, Learning
from lbctl.commands.bench import size_of
from lbctl.model import Reply
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import OK, built, fleet
from tests.balance.traffic import MS, REPLIES, Traffic, busy

SECOND = 1000 * MS


class Model:
    """The rule for one backend, from all that ever happened to it: ewma, a decay of 1 s, a penalty of 1 s."""

    def __init__(self) -> None:
        self.latency_ns = 0
        self.heard_ns = 0
        self.kept_until_ns: list[int] = []

    def hear(self, took_ns: int, now_ns: int, reply: Reply) -> None:
        if is_fault(reply):
            took_ns = max(took_ns, SECOND)
            self.kept_until_ns.append(now_ns + SECOND)
        kept = math.exp((self.heard_ns - now_ns) / SECOND) if self.latency_ns else 0.0
        self.latency_ns = int(self.latency_ns * kept + took_ns * (1 - kept))
        self.heard_ns = now_ns

    def score(self, in_flight: int, now_ns: int, *, times_in_flight: bool) -> tuple[float, float]:
        """Return the least and the greatest it can be: slots that become free within 1/64 do so together."""
        least = sum(until_ns > now_ns for until_ns in self.kept_until_ns)
        most = sum(until_ns + SECOND // 64 > now_ns for until_ns in self.kept_until_ns)
        if not self.latency_ns:
            return (1e9 * (in_flight + least + 1) if in_flight + least else 0.0, 1e9 * (in_flight + most + 1))
        calls = in_flight if times_in_flight else 0
        return self.latency_ns * (calls + least + 1), self.latency_ns * (calls + most + 1)


@pytest.mark.parametrize("times_in_flight", [True, False])
def test_the_chosen_has_the_lowest_score_whatever_calls_come_to(times_in_flight: bool) -> None:
    for case in range(6):
        rng = Random(case)
        peers = fleet([rng.randint(1, 9) for _ in range(rng.choice([1, 2, 7, 30]))])
        picker = built("fastest", peers, seed=case, probe="0s", times_in_flight=str(times_in_flight).lower())
        traffic = Traffic(picker, peers, rng)
        models = {peer: Model() for peer in peers}
        traffic.heard = lambda peer, begun, now, reply, models=models: models[peer].hear(now - begun, now, reply)  # type: ignore[misc]
        for _ in range(400):
            scores = {
                peer: model.score(peer.in_flight, traffic.now_ns, times_in_flight=times_in_flight)
                for peer, model in models.items()
            }
            least, _ = scores[traffic.pick()]
            assert least <= min(most for _, most in scores.values()) * (1 + 1e-6)
            traffic.wait()
            traffic.thin_out(10, REPLIES)


def test_equals_are_drawn_by_weight_each_time_anew() -> None:
    weights = [6, 3, 1]
    peers = fleet(weights)
    picker = built("fastest", peers, probe="0s")
    assert isinstance(picker, Learning)
    for peer in peers:
        picker.ended(peer, 0, MS, OK)
    drawn = []
    for number in range(1, 6001):
        peer = picker.pick(Call(number * MS))
        drawn.append(peer)
        picker.ended(peer, (number - 1) * MS, number * MS, OK)
    shares = {peer: weight / 10 for peer, weight in zip(peers, weights, strict=True)}
    counts = Counter(pairwise(drawn))
    expected = {(one, other): shares[one] * shares[other] * 5999 for one in peers for other in peers}
    chi2 = sum((counts[pair] - mean) ** 2 / mean for pair, mean in expected.items())
    assert p_value(chi2, 8) > 1e-6


def test_of_many_equals_nobody_is_drawn_again_before_its_call_ends() -> None:
    """Without putting back: who is second is drawn among the others, by weight."""
    first_two: Counter[tuple[int, int]] = Counter()
    for seed in range(3000):
        peers = fleet([5, 3, 2])
        picker = built("fastest", peers, seed=seed, probe="0s")
        order = []
        for _ in range(3):
            peer = picker.pick(Call(SECOND))
            peer.picks += 1
            order.append(peers.index(peer))
        first_two[order[0], order[1]] += 1
    parts = [0.5, 0.3, 0.2]
    expected = {(a, b): 3000 * parts[a] * parts[b] / (1 - parts[a]) for a in range(3) for b in range(3) if a != b}
    chi2 = sum((first_two[pair] - mean) ** 2 / mean for pair, mean in expected.items())
    assert first_two.total() == sum(first_two[pair] for pair in expected)
    assert p_value(chi2, 5) > 1e-6


def test_calls_given_back_unsent_are_noticed_though_nobody_is_told() -> None:
    fast, slow = peers = busy(fleet([1, 1]), [9, 0])
    picker = built("fastest", [fast, slow], probe="0s")
    assert isinstance(picker, Learning)
    for peer, ms in zip(peers, [10, 50], strict=True):
        picker.ended(peer, 0, ms * MS, OK)
    assert picker.pick(Call(SECOND)) is slow  # 100 and 50
    for _ in range(9):
        fast.give_back()
    assert [picker.pick(Call(SECOND + ms * MS)) for ms in (1, 2, 3)][-1] is fast


def test_a_lowest_score_is_not_believed_when_calls_have_begun_without_a_pick() -> None:
    for count in (2, 9):
        peers = fleet([1] * count)
        picker = built("fastest", peers, probe="0s")
        assert isinstance(picker, Learning)
        for peer in peers:
            picker.ended(peer, 0, 10 * MS, OK)
        busy(peers, [0] + [3] * (count - 1))  # of retries, for example
        assert picker.pick(Call(11 * MS)) is peers[0]


def test_what_a_picker_keeps_does_not_grow_with_the_number_of_calls() -> None:
    """The same latencies give rise to ties, others to ever new scores."""
    for took_ms in ([5], range(1, 60)):
        rng = Random(1)
        peers = fleet([1, 2, 3, 4])
        picker = built("fastest", peers)
        traffic = Traffic(picker, peers, rng)
        sizes = []
        for _ in range(2):
            for _ in range(1500):
                traffic.pick()
                traffic.now_ns += rng.choice(took_ms) * MS
                traffic.thin_out(20)
            sizes.append(size_of([picker], without=[peers]))
        assert sizes[1] < 2 * sizes[0] + 20_000


def test_a_peer_that_is_not_in_the_set_is_none_of_its_business() -> None:
    peers = fleet([1, 1])
    picker = built("fastest", peers[:1])
    assert isinstance(picker, Learning)
    picker.ended(Peer(peers[1].instance), 0, MS, OK)
    assert picker.pick(Call(SECOND)) is peers[0]
