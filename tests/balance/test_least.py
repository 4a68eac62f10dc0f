"""Least connections, least active and least request: whoever has the least load, and what happens among equals."""

from __future__ import annotations

from random import Random

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Picker
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, built, fleet

LOST = Reply(Code.UNAVAILABLE)


class Traffic:
    """Calls that begin, end and are given back at random, counted as an engine counts them."""

    def __init__(self, picker: Picker, peers: list[Peer], rng: Random) -> None:
        self.picker, self.peers, self.rng = picker, peers, rng
        self.now_ns = 0
        self.flying: list[tuple[int, Peer]] = []

    def pick(self) -> Peer:
        self.now_ns += self.rng.choice([0, 1000, 1_000_000])
        peer = self.picker.pick(Call(self.now_ns))
        peer.picks += 1
        self.flying.append((self.now_ns, peer))
        return peer

    def end(self, reply: Reply = OK) -> Peer | None:
        """End any call; returns whose it was."""
        if not self.flying:
            return None
        begun_ns, peer = self.flying.pop(self.rng.randrange(len(self.flying)))
        peer.finished += 1
        if isinstance(self.picker, Learning):
            self.picker.ended(peer, begun_ns, self.now_ns, reply)
        return peer


class NginxModel:
    """Least connections with smooth WRR among the tied, one peer at a time."""

    def __init__(self, weights: list[int]) -> None:
        self.weights = weights
        self.current = [0] * len(weights)

    def pick(self, conns: list[int]) -> int:
        weights, best, many = self.weights, 0, False
        for index in range(1, len(weights)):
            ours, theirs = conns[index] * weights[best], conns[best] * weights[index]
            if ours < theirs:
                best, many = index, False
            elif ours == theirs:
                many = True
        if not many:
            return best
        first, total = best, 0
        for index in range(first, len(weights)):
            if conns[index] * weights[first] == conns[first] * weights[index]:
                self.current[index] += weights[index]
                total += weights[index]
                if self.current[index] > self.current[best]:
                    best = index
        self.current[best] -= total
        return best


@pytest.mark.parametrize("case", range(25))
def test_least_conn_agrees_with_nginx_rule_over_10_000_picks_with_any_weights_and_traffic(case: int) -> None:
    rng = Random(case)
    peers = fleet(rng.choices([1, 1, 2, 3, 4, 7], k=rng.choice([1, 2, 3, 5, 9])))
    model = NginxModel([peer.weight for peer in peers])
    traffic = Traffic(built("least_conn", peers, failure_penalty="0s"), peers, rng)
    crowd = rng.choice([1, 3, 8, 30])
    for _ in range(400):
        expected = model.pick([peer.in_flight for peer in peers])
        assert traffic.pick() is peers[expected]
        while traffic.flying and (len(traffic.flying) > crowd or rng.random() < 0.3):
            traffic.end()
