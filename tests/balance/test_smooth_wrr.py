from __future__ import annotations

import math
from collections import Counter
from itertools import groupby
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.ahead import REPLAY
from lbctl.balance.policies.base import Setup
from lbctl.balance.policies.smooth_wrr import STATES, SmoothWrr
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.smooth import Smooth, furthest, settled
from tests.balance.fleet import VECTORS, Service, built, drawn, fleet, instance, letters, pieced

Weights = st.lists(st.integers(1, 40), min_size=1, max_size=8)


def brute_force(weights: list[int], picks: int, current: list[int] | None = None) -> list[int]:
    """Follow the rule as it is written, one peer at a time."""
    current = list(current or [0] * len(weights))
    taken = []
    for _ in range(picks):
        best = 0
        for index, weight in enumerate(weights):
            current[index] += weight
            if current[index] > current[best]:
                best = index
        current[best] -= sum(weights)
        taken.append(best)
    return taken


@pytest.mark.parametrize(
    "vector",
    [VECTORS["swrr_5_1_1"], VECTORS["swrr_1_2_3"], VECTORS["swrr_20_5_5_5_1_1_1"], VECTORS["swrr_1_1_1_1"]],
    ids=["5 1 1", "1 2 3", "20 5 5 5 1 1 1", "equal"],
)
def test_the_order_is_as_published(vector: dict[str, Any]) -> None:
    order = letters(drawn(built("smooth_wrr", fleet(vector["given"]["weights"])), vector["given"]["picks"]))
    assert order == vector["expect"]["sequence"]


def test_current_weights_are_as_published_after_every_pick() -> None:
    trace = VECTORS["swrr_5_1_1_state"]["expect"]["pick_then_current_weights"]
    for picks, (_, current) in enumerate(trace, start=1):
        peers = fleet([5, 1, 1])
        picker = built("smooth_wrr", peers)
        drawn(picker, picks)
        picker.retire()
        assert [round(peer.credit * 7, 9) for peer in peers] == current


@given(Weights)
def test_the_order_is_that_of_the_rule(weights: list[int]) -> None:
    peers = fleet(weights)
    count = min(2 * sum(weights) + 3, 400)
    assert drawn(built("smooth_wrr", peers), count) == [peers[index] for index in brute_force(weights, count)]


def test_the_order_is_that_of_the_rule_when_the_cycle_is_too_long_to_replay() -> None:
    weights = [140_000, 110_011, 110_011, 7, 1]
    assert sum(weights) > REPLAY
    peers = fleet(weights)
    assert drawn(built("smooth_wrr", peers), 5000) == [peers[index] for index in brute_force(weights, 5000)]


@given(Weights, st.integers(0, 300))
def test_credit_is_what_each_peer_is_owed_and_sums_to_zero(weights: list[int], picks: int) -> None:
    peers = fleet(weights)
    picker = built("smooth_wrr", peers)
    counts = Counter(drawn(picker, picks))
    picker.retire()
    total = sum(weights)
    for peer, weight in zip(peers, weights, strict=True):
        assert math.isclose(peer.credit * total, picks * weight - counts[peer] * total, abs_tol=1e-6)
    assert abs(sum(peer.credit for peer in peers)) < 1e-9


@given(Weights)
def test_the_period_is_the_sum_of_weights_without_their_common_divisor(weights: list[int]) -> None:
    peers = fleet(weights)
    period = sum(weights) // math.gcd(*weights)
    order = drawn(built("smooth_wrr", peers), 2 * period)
    assert order[:period] == order[period:]
    counts = Counter(order[:period])
    assert [counts[peer] for peer in peers] == [weight // math.gcd(*weights) for weight in weights]


@given(Weights, st.lists(st.integers(0, 40), max_size=12))
def test_rebuilding_the_picker_at_any_moments_leaves_the_order_as_it_is(weights: list[int], lives: list[int]) -> None:
    peers = fleet(weights)
    picked = pieced(lambda: SmoothWrr(peers, Setup(Random(1))), lives)
    assert picked == [peers[index] for index in brute_force(weights, sum(lives))]


@pytest.mark.parametrize(("every", "biased"), [(1, (7000, 0, 0)), (2, (7000, 0, 0)), (3, (4667, 2333, 0))])
def test_frequent_rebuilds_do_not_favour_the_heaviest(every: int, biased: tuple[int, ...]) -> None:
    peers = fleet([5, 1, 1])
    counts: Counter[str] = Counter()
    for _ in range(0, 7000, every):
        picker = built("smooth_wrr", peers)
        counts.update(letters(drawn(picker, every)))
        picker.retire()
    assert all(abs(counts[key] - share) <= 2 for key, share in {"A": 5000, "B": 1000, "C": 1000}.items())
    assert (counts["A"], counts["B"], counts["C"]) != biased


def test_a_peer_that_leaves_causes_no_burst() -> None:
    vector = VECTORS["swrr_kratos_remove_burst"]
    service = Service("smooth_wrr", A=5, B=1, C=1)
    assert service.run(3) == vector["expect"]["first3"]
    service.set(B=1, C=1)
    after = service.run(10)
    assert after == "CBCBCBCBCB"
    assert after != vector["expect"]["then"]


def with_state(state: str, **weights: int) -> Service:
    service = Service("smooth_wrr", **weights)
    service.balancer.switch(POLICIES["smooth_wrr"].with_options({"state": state}))
    return service


def test_a_peer_that_leaves_with_its_current_weight_causes_the_burst_of_kratos() -> None:
    vector = VECTORS["swrr_kratos_remove_burst"]
    service = with_state("kratos", **vector["given"]["weights"])
    assert service.run(3) == vector["expect"]["first3"]
    service.set(B=1, C=1)
    assert service.run(vector["given"]["then_picks"]) == vector["expect"]["then"]


def test_current_weights_are_kept_as_kratos_keeps_them() -> None:
    vector = VECTORS["swrr_kratos_remove_burst"]
    service = with_state("kratos", **vector["given"]["weights"])
    service.run(3)
    picker = service.balancer.picker
    assert picker is not None
    picker.retire()
    current = {peer.instance.key: round(peer.credit, 6) for peer in service.balancer.peers.values()}
    assert current == vector["expect"]["current_weights_before_removal"]


@pytest.mark.parametrize("state", STATES)
def test_counts_are_those_of_kratos_own_test(state: str) -> None:
    vector = VECTORS["kratos_wrr_test"]
    a, b = vector["given"]["weights"]
    order = with_state(state, A=a, B=b).run(vector["given"]["picks"])
    assert [order.count("A"), order.count("B")] == vector["expect"]["counts"]


@given(Weights, Weights, st.integers(0, 30))
def test_kept_current_weights_go_on_as_the_rule_has_it_through_any_change(
    before: list[int], after: list[int], picks: int
) -> None:
    service = with_state("kratos", **{chr(ord("A") + n): weight for n, weight in enumerate(before)})
    service.run(picks)
    taken = brute_force(before, picks)
    current = [picks * weight - taken.count(index) * sum(before) for index, weight in enumerate(before)]
    current = [*current, *[0] * len(after)][: len(after)]
    service.set(**{chr(ord("A") + n): weight for n, weight in enumerate(after)})
    law = service.balancer.picker.law()  # type: ignore[union-attr]
    order = service.run(40)
    assert order == "".join(chr(ord("A") + index) for index in brute_force(after, 40, current))
    worst = max(abs(40 * share - order.count(chr(ord("A") + n))) for n, share in enumerate(law.shares))
    assert worst <= law.bound + 1e-4


@pytest.mark.parametrize(("every", "counts"), [(1, (7000, 0, 0)), (2, (7000, 0, 0)), (3, (4667, 2333, 0))])
def test_a_picker_that_starts_from_zero_favours_the_heaviest_when_it_is_rebuilt_often(
    every: int, counts: tuple[int, int, int]
) -> None:
    policy = POLICIES["smooth_wrr"].with_options({"state": "reset"})
    peers = fleet([5, 1, 1])
    order = ""
    for _ in range(0, 7000, every):
        picker = policy.build(peers, Setup(Random(1), policy.options))
        order += letters(drawn(picker, min(every, 7000 - len(order))))
        picker.retire()
    assert tuple(order.count(letter) for letter in "ABC") == counts


@pytest.mark.parametrize("part", ["warmth", "coverage"])
@pytest.mark.parametrize("state", ["spread", "kratos"])
def test_a_weight_of_which_only_a_part_counts_for_a_while_causes_no_burst(state: str, part: str) -> None:
    """However many picks that takes, the next cycles are as exact as ever."""
    for picks in range(12):
        service = with_state(state, A=5, B=1, C=1)
        setattr(service.peer("A"), part, 0.5)
        service.balancer.renew()
        service.run(picks)
        setattr(service.peer("A"), part, 1.0)
        service.balancer.renew()
        for _ in range(5):
            counts = Counter(service.run(7))
            assert all(abs(counts[key] - share) <= 1 for key, share in {"A": 5, "B": 1, "C": 1}.items())


@pytest.mark.parametrize("state", ["spread", "kratos"])
def test_a_peer_that_joins_starts_at_zero_and_the_others_go_on(state: str) -> None:
    vector = VECTORS["swrr_keep_state_add"]
    service = with_state(state, A=5, B=1, C=1)
    assert service.run(3) == vector["given"]["after"]
    service.set(A=5, B=1, C=1, D=1)
    assert service.run(16) == vector["expect"]["sequence"]


@given(Weights)
def test_runs_are_shorter_than_the_bound_on_what_a_peer_can_be_owed(weights: list[int]) -> None:
    order = brute_force(weights, 3 * sum(weights))
    peers = fleet(weights)
    assert drawn(built("smooth_wrr", peers), len(order)) == [peers[index] for index in order]
    if len(weights) > 1:
        harmonic = sum(1 / k for k in range(1, len(weights) + 1))
        assert max(len([*run]) for _, run in groupby(order)) < harmonic / (1 - max(weights) / sum(weights)) + 1e-9


def test_five_one_one_has_a_run_of_four_where_two_cycles_meet() -> None:
    vector = VECTORS["swrr_5_1_1"]
    order = letters(drawn(built("smooth_wrr", fleet(vector["given"]["weights"])), 14))
    assert max(len([*run]) for _, run in groupby(order)) == vector["expect"]["max_run_cyclic"]
    counts = [order[:7].count(letter) for letter in "ABC"]
    assert counts == vector["expect"]["counts_per_7"]
    deviations = [
        picks * weight / 7 - order[:picks].count(letter)
        for picks in range(1, 15)
        for letter, weight in zip("ABC", vector["given"]["weights"], strict=True)
    ]
    assert [min(deviations), max(deviations)] == pytest.approx(vector["expect"]["deviation_range"])


def test_the_order_is_that_of_the_rule_in_ten_thousand_cases() -> None:
    rng = Random(8)
    for _ in range(10_000):
        weights = [rng.randint(1, 20) for _ in range(rng.randint(1, 6))]
        weights = [weight // math.gcd(*weights) for weight in weights]
        count = rng.randint(0, 40)
        assert Smooth(weights, [0.0] * len(weights)).take(count) == brute_force(weights, count)


def test_a_weight_change_keeps_what_is_owed_and_causes_no_burst() -> None:
    service = Service("smooth_wrr", A=100, B=1, C=1)
    service.run(51)  # B is owed half a call: 50 current weight, which at a sum of 3 would be 17 calls in a row
    service.set(A=1, B=1, C=1)
    after = service.run(30)
    assert all(9 <= count <= 11 for count in Counter(after).values())
    assert "BBB" not in after
    assert "AAA" not in after


def test_the_same_list_again_changes_nothing() -> None:
    service = Service("smooth_wrr", A=5, B=1, C=1)
    order = service.run(2)
    for _ in range(5):
        service.set(A=5, B=1, C=1)
        order += service.run(1)
    assert order == "AABACAA"


def test_a_peer_that_flaps_gets_its_share_of_the_picks_it_was_there_for() -> None:
    service = Service("smooth_wrr", A=5, B=1, C=1, D=1)
    for turn in range(2000):
        service.balancer.mark(service.peer("D"), ready=turn % 2 == 0)
        service.run(3)
    expected = service.balancer.expectations()
    assert all(abs(peer.picks - expected[peer]) < 3 for peer in service.balancer.peers.values())
    assert service.peer("D").picks > 370  # 3000 picks with D there, an eighth of them its own


def test_two_registrations_of_one_address_are_two_peers() -> None:
    service = Service("smooth_wrr")
    change = service.balancer.update([instance("a1", 5, port=9), instance("a2", 1, port=9), instance("b", 1, port=8)])
    for peer in change.added:
        service.balancer.mark(peer, ready=True)
    service.run(7)
    assert [peer.picks for peer in change.added] == [5, 1, 1]


@given(Weights, st.data())
def test_no_count_strays_further_than_the_bound_from_any_opening(weights: list[int], data: st.DataObject) -> None:
    divisor = math.gcd(*weights)
    weights = [weight // divisor for weight in weights]
    size, total = len(weights), sum(weights)
    owed = data.draw(st.lists(st.floats(-2, 2), min_size=size, max_size=size))
    opening = settled(owed, weights)
    bound = furthest(opening)
    counts = [0] * size
    for picks, index in enumerate(Smooth(weights, opening).take(min(3 * total, 200)), start=1):
        counts[index] += 1
        worst = max(abs(picks * weight / total - count) for weight, count in zip(weights, counts, strict=True))
        assert worst <= bound + 1e-4


def test_the_bound_from_zero_is_the_published_one() -> None:
    assert furthest([0.0] * 3) == 1.0
    assert math.isclose(furthest([0.0] * 6), 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5 + 1 / 6)
