"""Least request by gRPC's rules and by Envoy's."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from lbctl.balance.policies.base import Call, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.two_choices import replaced_shares
from lbctl.errors import UsageError
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import VECTORS, built, drawn, fleet, letters
from tests.balance.traffic import Chosen, Traffic, busy


def test_least_request_takes_the_first_of_equal_samples_and_may_draw_one_twice() -> None:
    vector = VECTORS["least_request_ties"]
    for samples, picked in zip(vector["given"]["samples"], vector["expect"]["picked"], strict=True):
        peers = busy(fleet([1, 1, 1]), vector["given"]["active"])
        policy = POLICIES["least_request"]
        picker = policy.build(peers, Setup(Chosen(*((index, 3) for index in samples)), policy.options))
        assert picker.pick(Call(1)) is peers[picked]


@pytest.mark.parametrize("case", range(25))
def test_least_request_agrees_with_its_rule_over_10_000_picks(case: int) -> None:
    rng, draws, choices = Random(case), Random(case), 2 + case % 4
    peers = fleet([1] * rng.choice([1, 2, 3, 8]))
    policy = POLICIES["least_request"].with_options({"choice-count": str(choices)})
    traffic = Traffic(policy.build(peers, Setup(Random(case), policy.options)), peers, rng)
    for _ in range(400):
        samples = [peers[int(draws.random() * len(peers))] for _ in range(choices)]
        best = samples[0]
        for peer in samples[1:]:
            if peer.in_flight < best.in_flight:
                best = peer
        assert traffic.pick() is best
        traffic.thin_out(2 * len(peers))


@pytest.mark.parametrize("draws", [2, 3])
def test_frozen_loads_share_as_ranks_with_replacement_do(draws: int) -> None:
    vector = VECTORS["pod_static_rank_with_replacement"]
    shares = vector["expect"][f"d{draws}"]
    assert replaced_shares(vector["given"]["n"], draws) == pytest.approx(shares)
    peers = busy(fleet([1] * 5), range(5))
    picker = built("least_request", peers, choice_count=str(draws))
    counts = Counter(picker.pick(Call(1)) for _ in range(20_000))
    chi2 = sum((counts[peer] - 20_000 * e) ** 2 / (20_000 * e) for peer, e in zip(peers, shares, strict=True))
    assert p_value(chi2, 4) > 1e-6


def test_more_than_ten_choices_are_ten_and_fewer_than_two_are_a_mistake() -> None:
    peers = busy(fleet([1] * 3), [5, 5, 0])
    many = POLICIES["least_request"].with_options({"choice-count": "99"})
    misses = Chosen(*[(0, 3)] * 10, (2, 3))
    assert many.build(peers, Setup(misses, many.options)).pick(Call(1)) is peers[0]  # the eleventh is not drawn
    with pytest.raises(UsageError, match="at least 2"):
        POLICIES["least_request"].with_options({"choice-count": "1"})


def test_envoy_draws_like_grpc_while_all_weights_are_equal() -> None:
    peers = busy(fleet([4, 4, 4]), [0, 3, 1])
    grpc, envoy = (built("least_request", peers, seed=9, mode=mode) for mode in ("grpc", "envoy"))
    assert [grpc.pick(Call(1)) for _ in range(100)] == [envoy.pick(Call(1)) for _ in range(100)]


@pytest.mark.parametrize(("bias", "loads", "expected"), [(0, [9, 0, 0], [5, 3, 2]), (1, [4, 0, 0], [1, 3, 2])])
def test_envoy_lowers_unequal_weights_by_what_is_in_flight(bias: int, loads: list[int], expected: list[int]) -> None:
    """#envoy_weighted_least_request: weight / (active + 1) ^ bias, earliest deadline first."""
    peers = busy(fleet([5, 3, 2]), loads)
    picker = built("least_request", peers, mode="envoy", active_request_bias=str(bias))
    counts = Counter(picker.pick(Call(1)) for _ in range(6000))
    for peer, part in zip(peers, expected, strict=True):
        assert abs(counts[peer] - 6000 * part / sum(expected)) <= 6


def test_envoys_queue_begins_anew_with_each_change_of_the_set_within_the_first_round() -> None:
    """The order from the beginning is AAAABCA, and up to 2 picks of it are passed over, each number as often."""
    policy, peers, rng = POLICIES["least_request"].with_options({"mode": "envoy"}), fleet([5, 1, 1]), Random(1)
    starts = Counter(letters(drawn(policy.build(peers, Setup(rng, policy.options)), 3)) for _ in range(6000))
    assert set(starts) == {"AAA", "AAB"}
    assert p_value((starts["AAB"] - 2000) ** 2 / 2000 + (starts["AAA"] - 4000) ** 2 / 4000, 1) > 1e-6


def test_envoy_scan_is_fair_among_equals() -> None:
    counts = Counter(letters(drawn(built("least_request", fleet([9, 1, 1]), full_scan="true"), 9000)))
    assert p_value(sum((counts[name] - 3000) ** 2 / 3000 for name in "ABC"), 2) > 1e-6
