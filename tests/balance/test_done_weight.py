"""Weights that calls leave behind: half for a failure, one more for a success."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Setup
from lbctl.balance.policies.done_weight import POLICY, DoneWeight
from lbctl.balance.urn import Urn
from lbctl.errors import UsageError
from lbctl.model import Code, Reply
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import ANY, OK, VECTORS, fleet, instance

FAILED = Reply(Code.UNAVAILABLE)


def picker_of(peers: list[Peer], seed: int = 1, **options: str) -> DoneWeight:
    return DoneWeight(peers, Setup(Random(seed), POLICY.with_options(options).options))


def test_a_failure_halves_and_a_success_adds_one_within_the_bounds() -> None:
    (peer,) = fleet([9])
    picker = picker_of([peer], max="10")
    weights = []
    for reply in (OK, OK, FAILED, FAILED, FAILED, FAILED, OK):
        picker.ended(peer, 0, 1, reply)
        weights.append(peer.override)
    assert weights == [10, 10, 5, 2, 1, 1, 2]


@pytest.mark.parametrize("place", range(4))
def test_the_mean_weight_is_what_failures_and_successes_come_to(place: int) -> None:
    vector = VECTORS["done_callback_aimd"]
    given = vector["given"]
    rng = Random(place)
    (peer,) = fleet([1])
    picker = picker_of([peer], min=str(given["min"]), max=str(given["max"]))
    calls, total = 100_000, 0
    for _ in range(calls):
        picker.ended(peer, 0, 1, FAILED if rng.random() < given["failure_rate"][place] else OK)
        total += peer.override or 0
    assert total / calls == pytest.approx(vector["expect"]["mean_weight_simulated"][place], rel=0.03)
    failing = given["failure_rate"][place]
    assert vector["expect"]["mean_weight_meanfield_2(1-f)/f"][place] == pytest.approx(2 * (1 - failing) / failing)


def test_a_backend_that_fails_fast_sinks_to_the_least_weight_and_is_still_tried() -> None:
    peers = fleet([50, 50, 50])
    picker, counts = picker_of(peers), Counter[Peer]()
    for _ in range(20_000):
        peer = picker.pick(ANY)
        counts[peer] += 1
        picker.ended(peer, 0, 1, FAILED if peer is peers[1] else OK)
    assert [peer.override for peer in peers] == [100, 1, 100]
    assert 40 < counts[peers[1]] < 200  # 1 in 201 once it is down: 100 of 20,000


def test_a_backend_that_is_well_again_comes_back() -> None:
    peers = fleet([50, 1])
    picker = picker_of(peers)
    for _ in range(30_000):
        peer = picker.pick(ANY)
        picker.ended(peer, 0, 1, OK)
    assert [peer.override for peer in peers] == [100, 100]


def test_picks_are_drawn_by_the_weights_of_the_moment() -> None:
    peers = fleet([30, 10, 60])
    picker = picker_of(peers)
    counts = Counter(picker.pick(ANY) for _ in range(20_000))
    assert [counts[peer] / 20_000 for peer in peers] == pytest.approx([0.3, 0.1, 0.6], abs=0.015)
    picker.ended(peers[2], 0, 1, FAILED)
    assert picker.law().shares == pytest.approx([30 / 70, 10 / 70, 30 / 70])
    counts = Counter(picker.pick(ANY) for _ in range(20_000))
    assert [counts[peer] / 20_000 for peer in peers] == pytest.approx([3 / 7, 1 / 7, 3 / 7], abs=0.015)


def test_weights_outlive_the_picker_and_start_again_with_a_new_registered_weight() -> None:
    balancer = Balancer(POLICY, Random(1))
    for peer in balancer.update([instance("A", 20), instance("B", 20)]).added:
        balancer.mark(peer, ready=True)
    a, b = balancer.peers.values()
    assert balancer.picker is not None
    balancer.ended(a, 0, 1, FAILED)
    balancer.drain(b, drained=True)
    assert balancer.picker.law().shares == [1.0]
    balancer.drain(b, drained=False)
    assert balancer.picker.law().shares == pytest.approx([1 / 3, 2 / 3])
    balancer.update([instance("A", 30), instance("B", 20)])
    assert balancer.picker.law().shares == pytest.approx([3 / 5, 2 / 5])


def test_a_backend_that_warms_up_has_part_of_its_weight() -> None:
    peers = fleet([10, 10])
    peers[1].warmth = 0.25
    picker = picker_of(peers)
    assert picker.law().shares == pytest.approx([0.8, 0.2])
    picker.ended(peers[1], 0, 1, FAILED)
    assert picker.law().shares == pytest.approx([10 / 11.25, 1.25 / 11.25])


def test_why_shows_the_weights_of_the_moment() -> None:
    peers = fleet([3, 1])
    picker = picker_of(peers)
    picker.ended(peers[1], 0, 1, OK)
    _, why = picker.why(Call(1))
    assert why.rows == ((peers[0], ("3", "60.00%")), (peers[1], ("2", "40.00%")))


def test_bounds_that_contradict_each_other_are_a_usage_error() -> None:
    with pytest.raises(UsageError, match="min=5 is above max=4"):
        POLICY.with_options({"min": "5", "max": "4"})


class Slip:
    """Something to put into an urn."""

    def __init__(self, chance: int) -> None:
        self.chance, self.place = chance, 0


def test_an_urn_draws_by_chance_whatever_came_went_and_changed() -> None:
    for case in range(12):
        rng = Random(case)
        urn: Urn[Slip] = Urn(100, Random(case).random)
        slips: list[Slip] = []
        for _ in range(300):
            kind = rng.random()
            if kind < 0.4 or not slips:
                slips.append(Slip(rng.choice([1, 2, 3, 7, 64, 100])))
                urn.add(slips[-1])
            elif kind < 0.7:
                urn.remove(slips.pop(rng.randrange(len(slips))))
            else:
                urn.reweigh(rng.choice(slips), rng.choice([1, 2, 3, 7, 64, 100]))
            assert urn.total == sum(slip.chance for slip in slips)
        counts = Counter(urn.draw() for _ in range(20_000))
        assert set(counts) <= set(slips)
        expected = [20_000 * slip.chance / urn.total for slip in slips]
        chi2 = sum((counts[slip] - mean) ** 2 / mean for slip, mean in zip(slips, expected, strict=True))
        assert len(slips) == 1 or p_value(chi2, len(slips) - 1) > 1e-6


def test_an_end_counts_once_where_two_pickers_over_different_backends_are_told_of_it() -> None:
    peers = fleet([8, 8])
    pickers = [picker_of(peers[:1]), picker_of(peers[1:])]
    for picker in pickers:
        picker.ended(peers[0], 0, 1, FAILED)
    assert [peer.override for peer in peers] == [4, 8]
