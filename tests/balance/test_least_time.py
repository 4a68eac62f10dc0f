"""Fastest by nginx's least_time."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from lbctl.balance.least_time import Node, averaged, eta_ms
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import is_fault
from lbctl.balance.policies.base import Call, Learning
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, VECTORS, built, drawn, fleet, letters
from tests.balance.simulation import Simulation, takes
from tests.balance.traffic import MS, REPLIES, Traffic, busy

SECOND = 1000 * MS


def answered(picker: object, peer: Peer, ms: int, *, at_ns: int = 10 * SECOND, reply: Reply = OK) -> None:
    """A call to the peer took so long."""
    assert isinstance(picker, Learning)
    picker.ended(peer, at_ns - ms * MS, at_ns, reply)


def test_nginx_averages_five_percent_of_what_is_new() -> None:
    """#nginx_least_time_avg: the first as it is, then floor(0.5 + .05 sample + .95 average)."""
    assert averaged(0, 37) == 37
    for average, sample in [(100, 200), (10, 0), (1, 1000), (9, 19), (5000, 1)]:
        assert averaged(average, sample) == math.floor((50 + 5 * sample + 95 * average) / 100)


def test_nginx_estimates_are_as_computed_from_its_source() -> None:
    vector = VECTORS["nginx_least_time_eta"]
    found = [eta_ms(time_ms, conns) for time_ms, conns in vector["given"]["rt_ms_conns"]]
    assert found == vector["expect"]["eta"]


def test_nginx_asks_a_slow_peer_once_and_then_the_other() -> None:
    vector = VECTORS["nginx_least_time_t"]
    slow = vector["given"]["slow_peer"] - 1
    backends = [takes(0.5 if index == slow else 0.001) for index in range(vector["given"]["peers"])]
    simulation = Simulation("fastest", backends, {"metric": "nginx", "failure_penalty": "0s"})
    simulation.closed_loop(vector["given"]["concurrency"], vector["given"]["requests"])
    assert [simulation.picks[index] for index in range(2)] == vector["expect"]["counts"]


def test_nginx_gives_an_idle_heavier_server_everything_at_a_concurrency_of_one() -> None:
    """#nginx_least_time_weight_sequential: weights 2 1 1, 40 calls."""
    picks = letters(drawn(built("fastest", fleet([2, 1, 1]), metric="nginx"), 40))
    assert Counter(picks) == {"A": 40}


def test_nginx_takes_turns_among_equals_by_smooth_wrr() -> None:
    peers = fleet([1, 1, 1])
    assert letters(drawn(built("fastest", peers, metric="nginx"), 6)) == "ABCABC"


@pytest.mark.parametrize(
    ("timeout_s", "times_ms"), [(1, {10: 400, 11: 400, 12: 200, 13: 200, 14: 100, 999: 0}), (0, {10: 400, 11: 200})]
)
def test_nginx_halves_the_time_of_who_was_not_looked_at(timeout_s: int, times_ms: dict[int, int]) -> None:
    node = Node()
    node.average_ms, node.checked_s = 400, 10
    assert {at_s: node.time_ms(at_s * 1000, timeout_s) for at_s in times_ms} == times_ms


def test_nginx_tries_a_slow_peer_again_when_its_time_was_halved_often_enough() -> None:
    slow, fast = fleet([1, 1])
    picker = built("fastest", [slow, fast], metric="nginx", fail_timeout="1s")
    assert picker.pick(Call(10 * SECOND)) is slow
    answered(picker, slow, 400)
    picked = []
    for at_ms in range(10_000, 20_000, 100):
        picked.append(picker.pick(Call(at_ms * MS)))
        answered(picker, picked[-1], 400 if picked[-1] is slow else 90, at_ns=at_ms * MS)
    assert set(picked[:50]) == {fast}
    assert slow in picked


def test_nginx_inflight_counts_the_age_of_what_is_not_answered() -> None:
    for inflight, shares in (("false", 3), ("true", 1)):
        stuck, fine = fleet([1, 1])
        picker = built("fastest", [stuck, fine], metric="nginx", inflight=inflight)
        picked: list[Peer] = []
        for at_ms in range(10_000, 20_000, 50):
            peer = picker.pick(Call(at_ms * MS))
            peer.picks += 1
            picked.append(peer)
            if peer is fine:
                peer.finished += 1
                answered(picker, peer, 45, at_ns=(at_ms + 45) * MS)
        assert picked.count(stuck) == shares  # 20 x (1 + k) is 60 for k = 2, a tie; or its first call alone


def test_nginx_ignores_the_time_of_failed_calls_unless_they_are_penalised() -> None:
    for penalty, expected in (("0s", 0), ("1s", 1000)):
        (peer,) = fleet([1])
        picker = built("fastest", [peer], metric="nginx", failure_penalty=penalty)
        answered(picker, peer, 3, reply=Reply(Code.UNAVAILABLE))
        assert peer.memory.average_ms == expected


def test_nginx_does_not_halve_the_time_of_who_failed_just_now() -> None:
    (peer,) = fleet([1])
    picker = built("fastest", [peer], metric="nginx", failure_penalty="0s")
    answered(picker, peer, 400, at_ns=10 * SECOND)
    answered(picker, peer, 1, at_ns=100 * SECOND, reply=Reply(Code.UNAVAILABLE))
    assert (peer.memory.time_ms(105_000, 10), peer.memory.time_ms(111_000, 10)) == (400, 200)


class Scan:
    """The rule by a look at everybody at every pick; time-out 1 s, penalty 1 s."""

    def __init__(self, peers: list[Peer]) -> None:
        self.peers = peers
        self.nodes = [Node() for _ in peers]
        self.current = [0] * len(peers)

    def pick(self, now_ns: int) -> int:
        keys = []
        for peer, node in zip(self.peers, self.nodes, strict=True):
            time_ms = node.time_ms(now_ns // MS, 1)
            keys.append(Fraction(eta_ms(time_ms, peer.in_flight + node.at(now_ns)), peer.weight))
        least = min(keys)
        tied = [index for index, key in enumerate(keys) if key == least]
        for index in tied:
            self.current[index] += self.peers[index].weight
        chosen = max(tied, key=lambda index: self.current[index])
        self.current[chosen] -= sum(self.peers[index].weight for index in tied)
        node = self.nodes[chosen]
        node.checked_s = now_ns // SECOND if now_ns // SECOND - node.checked_s > 1 else node.checked_s
        return chosen

    def hear(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        node, took_ms = self.nodes[self.peers.index(peer)], (now_ns - begun_ns) // MS
        if is_fault(reply):
            node.checked_s = now_ns // SECOND
            node.add(now_ns, SECOND)
            took_ms = max(took_ms, 1000)
        if reply.is_ok or is_fault(reply):
            node.average_ms = averaged(node.average_ms, took_ms)


@pytest.mark.parametrize("size", [1, 3, 12, 40])
def test_picks_are_those_of_a_look_at_everybody_at_every_pick(size: int) -> None:
    for case in range(4):
        rng = Random(case)
        peers = fleet([rng.choice([1, 2, 3, 4, 6, rng.randint(1, 1000)]) for _ in range(size)])
        traffic = Traffic(built("fastest", peers, metric="nginx", fail_timeout="1s"), peers, rng)
        scan = Scan(peers)
        traffic.heard = scan.hear
        for _ in range(500):
            expected = scan.pick(traffic.now_ns)
            assert peers.index(traffic.pick()) == expected
            traffic.wait()
            traffic.thin_out(rng.choice([2, size, 3 * size]), REPLIES)
        traffic.picker.retire()
        total = sum(peer.weight for peer in peers)
        assert [round(peer.credit * total) for peer in peers] == scan.current


def test_nginx_notices_calls_that_were_given_back_unsent() -> None:
    fast, slow = peers = busy(fleet([1, 1]), [9, 0])
    picker = built("fastest", [fast, slow], metric="nginx")
    for peer, ms in zip(peers, [10, 190], strict=True):
        answered(picker, peer, ms)
    picker.pick(Call(10 * SECOND))  # 200 and 200
    for _ in range(9):
        fast.give_back()
    assert [picker.pick(Call(10 * SECOND)) for _ in range(9)][-1] is fast
