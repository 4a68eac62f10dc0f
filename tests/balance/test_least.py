"""Least connections and least active: whoever has the least load, and what happens among equals."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from itertools import chain, pairwise
from math import log2
from random import Random

import pytest

from lbctl.balance.levels import Spot, spots_of
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.policies.base import Call, Learning, Setup
from lbctl.balance.policies.least_active import go_draw
from lbctl.balance.policies.least_conn import fwlc_key
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.ties import Drawn
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import OK, VECTORS, Service, built, drawn, fleet, letters
from tests.balance.traffic import Chosen, Traffic, busy

EVERYBODY = [
    ("least_conn", {}),
    ("least_conn", {"ties": "rotate"}),
    ("least_conn", {"ties": "random"}),
    ("least_conn", {"ties": "first"}),
    ("least_conn", {"key": "fwlc", "ties": "rotate"}),
    ("least_active", {}),
    ("least_active", {"dialect": "go"}),
    ("least_request", {"full_scan": "true"}),
]
SCANS = pytest.mark.parametrize(("policy", "options"), EVERYBODY, ids=str)


def load_of(policy: str, options: dict[str, str], peer: Peer) -> float:
    """The load that the policy compares."""
    if options.get("key") == "fwlc":
        return 0 if not peer.in_flight else (peer.in_flight + 1) * 4096 // (16 * peer.weight)
    return peer.in_flight / (peer.weight if policy == "least_conn" else 1)


class Nginx:
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
    weights, sizes = ([1, 1, 2, 3, 4, 7], [1, 2, 3, 5, 9]) if case % 3 else (range(1, 90), [12, 25, 60])
    peers = fleet(rng.choices(weights, k=rng.choice(sizes)))
    model = Nginx([peer.weight for peer in peers])
    traffic = Traffic(built("least_conn", peers, failure_penalty="0s"), peers, rng)
    crowd = rng.choice([1, 3, 8, 30])
    for _ in range(400):
        expected = model.pick([peer.in_flight for peer in peers])
        assert traffic.pick() is peers[expected]
        traffic.thin_out(crowd)


@pytest.mark.parametrize("case", range(3))
def test_nginx_rule_holds_where_everybody_has_another_weight(case: int) -> None:
    rng = Random(case)
    peers = fleet(rng.sample(range(1, 100_000), 90))
    model = Nginx([peer.weight for peer in peers])
    traffic = Traffic(built("least_conn", peers, failure_penalty="0s"), peers, rng)
    for _ in range(60):
        for _ in range(rng.choice([1, 3, 20, 100])):
            expected = model.pick([peer.in_flight for peer in peers])
            assert traffic.pick() is peers[expected]
        traffic.thin_out(rng.choice([0, 10, 40]))


@pytest.mark.parametrize("case", range(6))
def test_who_was_about_to_be_chosen_and_has_more_calls_than_known_leaves_no_trace_in_the_turns(case: int) -> None:
    rng = Random(case)
    peers = fleet(rng.choices([1, 2, 3], k=rng.choice([3, 5, 40])))
    model = Nginx([peer.weight for peer in peers])
    traffic = Traffic(built("least_conn", peers, failure_penalty="0s"), peers, rng)
    for _ in range(300):
        next_one = peers[deepcopy(model).pick([peer.in_flight for peer in peers])]
        is_moved = rng.random() < 0.5
        next_one.picks += is_moved
        expected = model.pick([peer.in_flight for peer in peers])
        assert traffic.pick() is peers[expected]
        traffic.flying += [(0, next_one)] * is_moved
        traffic.thin_out(rng.choice([0, 2, 60]))


def test_nothing_in_flight_leaves_least_conn_to_smooth_wrr() -> None:
    vector = VECTORS["nginx_least_conn_sequential"]
    picks = drawn(built("least_conn", fleet(vector["given"]["weights"])), vector["given"]["requests"])
    assert letters(picks) == vector["expect"]["sequence"]


def test_turns_among_equals_go_on_where_they_were_when_the_picker_is_built_anew() -> None:
    vector = VECTORS["nginx_least_conn_sequential"]
    peers, picked = fleet(vector["given"]["weights"]), ""
    for _ in vector["expect"]["sequence"]:
        picker = built("least_conn", peers)
        picked += letters(drawn(picker, 1))
        picker.retire()
    assert picked == vector["expect"]["sequence"]


def test_haproxy_keys_are_as_computed_from_its_rule() -> None:
    for case in VECTORS["haproxy_fwlc_key"]["expect"]["cases"]:
        assert fwlc_key(case["eweight"] // 16, case["inflight"]) == case["key"]


def test_haproxy_takes_the_idle_first_and_then_counts_the_call_that_is_to_come() -> None:
    peers = busy(fleet([2, 1]), [1, 0])
    fwlc, ratio = (built("least_conn", peers, key=key, ties="rotate") for key in ("fwlc", "ratio"))
    assert (fwlc.pick(Call(1)), ratio.pick(Call(1))) == (peers[1], peers[1])
    busy(peers, [2, 1])  # 3 x 4096 / 32 and 2 x 4096 / 16; 2 / 2 and 1 / 1
    assert fwlc.pick(Call(2)) is peers[0]


def test_rotating_among_equals_is_round_robin_while_nothing_is_in_flight() -> None:
    assert letters(drawn(built("least_conn", fleet([3, 1, 1]), ties="rotate"), 7)) == "ABCABCA"


def test_first_among_equals_gets_everything_while_nothing_is_in_flight() -> None:
    assert letters(drawn(built("least_conn", fleet([1, 1, 9]), ties="first"), 5)) == "AAAAA"


@SCANS
def test_the_chosen_load_is_the_least_of_all_at_every_pick(policy: str, options: dict[str, str]) -> None:
    for case in range(5):
        rng = Random(case)
        peers = fleet(rng.choices([1, 2, 3, 5], k=rng.choice([2, 5, 12])))
        traffic = Traffic(built(policy, peers, case, failure_penalty="0s", **options), peers, rng)
        for _ in range(300):
            loads = [load_of(policy, options, peer) for peer in peers]
            assert loads[peers.index(traffic.pick())] == min(loads)
            traffic.thin_out(20)


@SCANS
def test_calls_that_are_given_back_unheard_are_noticed_within_a_few_rounds(
    policy: str, options: dict[str, str]
) -> None:
    peers = fleet([1] * 5)
    picker = built(policy, peers, 1, **options)
    for _ in range(100):
        picker.pick(Call(1)).picks += 1
    busy(peers, [20, 20, 20, 3, 20])  # of one, 17 are taken back
    found = {picker.pick(Call(2)) for _ in range(4 * len(peers) + 1)}
    assert peers[3] in found


@SCANS
def test_calls_that_the_policy_did_not_pick_count_at_once(policy: str, options: dict[str, str]) -> None:
    peers = fleet([1, 1])
    picker = built(policy, peers, 1, **options)
    drawn(picker, 3)
    busy(peers, [5, 0])
    assert picker.pick(Call(1)) is peers[1]
    busy(peers, [5, 9])
    assert {picker.pick(Call(2)) for _ in range(3)} == {peers[0]}


def test_ties_of_least_active_are_drawn_by_weight_and_independently() -> None:
    peers = fleet([5, 1, 1, 3])
    order = drawn(built("least_active", peers, seed=3), 7000)
    counts = Counter(order)
    expected = [7000 * peer.weight / 10 for peer in peers]
    assert p_value(sum((counts[p] - e) ** 2 / e for p, e in zip(peers, expected, strict=True)), 3) > 1e-6
    repeats = sum(one is other for one, other in pairwise(order)) / len(order)
    assert abs(repeats - (0.25 + 0.01 + 0.01 + 0.09)) < 0.035  # six standard deviations


def test_ties_of_some_are_drawn_by_weight_while_others_come_and_go() -> None:
    peers = fleet([4, 2, 1, 1])
    picker, counts, rng = built("least_active", peers, seed=5), Counter[Peer](), Random(1)
    for number in range(12_000):
        peers[3].picks = peers[3].finished + rng.choice([0, 1])  # in the tie now and then
        assert isinstance(picker, Learning)
        picker.ended(peers[3], 0, number, OK)
        is_tied = not peers[3].in_flight
        chosen = picker.pick(Call(number))
        if not is_tied:
            counts[chosen] += 1
    total = counts.total()
    expected = {peers[0]: total * 4 / 7, peers[1]: total * 2 / 7, peers[2]: total / 7}
    assert set(counts) == set(expected)
    assert p_value(sum((counts[peer] - e) ** 2 / e for peer, e in expected.items()), 2) > 1e-6


def test_ties_of_hundreds_are_drawn_by_weight_while_others_come_and_go() -> None:
    peers = fleet([4, 1] * 200)
    moving, staying = peers[:100], peers[100:]
    picker, counts, rng = built("least_active", peers, seed=7), Counter[Peer](), Random(2)
    assert isinstance(picker, Learning)
    for number in range(20_000):
        peer = rng.choice(moving)
        peer.picks = peer.finished + rng.choice([0, 1])
        picker.ended(peer, 0, number, OK)
        chosen = picker.pick(Call(number))
        assert not chosen.in_flight
        counts[chosen] += 1
    total = sum(counts[peer] for peer in staying)
    expected = {peer: total * peer.weight / 750 for peer in staying}
    assert p_value(sum((counts[peer] - e) ** 2 / e for peer, e in expected.items()), 299) > 1e-6
    heavy = sum(counts[peer] for peer in staying[::2])
    assert p_value((heavy - 0.8 * total) ** 2 / (0.16 * total), 1) > 1e-6


def test_the_heaviest_share_alike_also_when_turns_of_the_lightest_have_gone_on_for_long() -> None:
    weights = [1, 999_999_999, 999_999_999]
    light, one, other = spots_of(fleet(weights), [Kept() for _ in weights], weights, weights)
    rng = Random(11)
    level = Drawn(0.0, chain([-1e7], iter(lambda: log2(1.0 - rng.random()), None)))
    level.fresh[light] = None
    assert level.pop() is light
    counts = Counter[Spot]()
    for _ in range(4000):
        level.fresh = {one: None, other: None}
        counts[level.pop()] += 1
        level.pop()
    assert abs(counts[one] - 2000) < 190  # six standard deviations


class Same(Random):
    """Always draws the same."""

    def random(self) -> float:
        return 0.5


@pytest.mark.parametrize("leaver", [0, 1])
def test_who_leaves_a_tie_is_not_mistaken_for_another_who_has_drawn_the_same(leaver: int) -> None:
    peers, policy = fleet([2, 2, 2, 1]), POLICIES["least_active"]
    picker = policy.build(peers, Setup(Same(), policy.options))
    assert isinstance(picker, Learning)
    chosen = picker.pick(Call(1))
    chosen.picks += 1
    left = [peer for peer in peers[:3] if peer is not chosen]
    gone = left.pop(leaver)
    gone.picks += 1
    picker.ended(gone, 0, 2, OK)
    assert [picker.pick(Call(3))] == left


def test_dubbo_go_loses_a_chance_of_the_first_among_unequal_weights() -> None:
    """The bias #dubbogo_leastactive_bias: every offset that can be drawn, worked out by hand for weights 5 1 1."""
    found = [go_draw([5, 1, 1], Chosen((offset - 1, 7), (2, 3))) for offset in range(1, 8)]
    assert found == [0, 0, 0, 0, 1, 2, 2]  # of offset 7 nobody is found, and one is drawn evenly: the third here
    counts = Counter(letters(drawn(built("least_active", fleet([5, 1, 1]), dialect="go"), 10_500)))
    expected = {"A": 6500, "B": 2000, "C": 2000}  # (5 - 1) / 7 + 1 / 21, and 1 / 7 + 1 / 21
    assert p_value(sum((counts[name] - e) ** 2 / e for name, e in expected.items()), 2) > 1e-6


def test_dubbo_go_draws_equal_weights_evenly() -> None:
    assert {go_draw([3, 3], Chosen((index, 2))) for index in (0, 1)} == {0, 1}


@pytest.mark.parametrize("policy", ["least_conn", "least_active", "least_request"])
def test_one_that_joins_is_idle_and_gets_calls_until_it_is_as_loaded_as_the_rest(policy: str) -> None:
    service = Service(policy, A=1, B=1)
    service.run(20)
    service.set(A=1, B=1, C=1)
    joined = service.run(8)
    if policy == "least_request":
        assert joined.count("C") >= 2
    else:
        assert joined == "C" * 8
