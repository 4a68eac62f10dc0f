from __future__ import annotations

import heapq
from collections import Counter
from fractions import Fraction
from itertools import accumulate
from math import gcd
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.ahead import REPLAY
from lbctl.balance.deadlines import Deadlines
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Picker, Setup
from lbctl.balance.policies.table import POLICIES
from tests.balance.fleet import ANY, VECTORS, Service, drawn, fleet, letters, pieced

Weights = st.lists(st.integers(1, 30), min_size=1, max_size=8)
TIES = pytest.mark.parametrize("ties", ["keep", "fifo"])


def edf(peers: list[Peer], ties: str) -> Picker:
    policy = POLICIES["edf"].with_options({"ties": ties})
    return policy.build(peers, Setup(Random(1), policy.options))


def brute_force(weights: list[int], picks: int, ties: str) -> list[int]:
    """A heap of fractions; ties go by the order of entry, which is kept for life or new with every entry."""
    heap = [(Fraction(1, weight), index, index) for index, weight in enumerate(weights)]
    heapq.heapify(heap)
    taken = []
    for entry in range(len(weights), len(weights) + picks):
        deadline, order, index = heapq.heappop(heap)
        taken.append(index)
        heapq.heappush(heap, (deadline + Fraction(1, weights[index]), order if ties == "keep" else entry, index))
    return taken


@pytest.mark.parametrize(
    ("vector", "ties"),
    [
        (VECTORS["edf_grpcgo_equal"], ("keep", "fifo")),
        (VECTORS["edf_exact_5_1_1_keep_order"], ("keep",)),
        (VECTORS["edf_exact_5_1_1_fifo"], ("fifo",)),
        (VECTORS["edf_exact_1_2_3"], ("keep", "fifo")),
    ],
    ids=["equal", "keep", "fifo", "1 2 3"],
)
def test_the_order_is_as_published(vector: dict[str, dict[str, str]], ties: tuple[str, ...]) -> None:
    order = vector["expect"]["sequence"]
    for rule in ties:
        peers = fleet(vector["given"]["weights"])  # type: ignore[arg-type]
        assert letters(drawn(edf(peers, rule), len(order))) == order


def test_the_order_is_that_of_a_heap_of_fractions_in_ten_thousand_cases() -> None:
    rng = Random(4)
    for _ in range(10_000):
        weights = [rng.randint(1, 15) for _ in range(rng.randint(1, 5))]
        ties, count = rng.choice(["keep", "fifo"]), rng.randint(0, 30)
        taken = Deadlines(weights, [Fraction(0)] * len(weights), fifo=ties == "fifo").take(count)
        assert taken == brute_force(weights, count, ties)


@TIES
@given(weights=Weights, lives=st.lists(st.integers(0, 40), max_size=8))
def test_rebuilding_the_picker_at_any_moments_leaves_the_order_as_it_is(
    ties: str, weights: list[int], lives: list[int]
) -> None:
    peers = fleet(weights)
    picked = pieced(lambda: edf(peers, ties), lives)
    assert picked == [peers[index] for index in brute_force(weights, sum(lives), ties)]


@TIES
def test_the_order_is_that_of_a_heap_when_the_cycle_is_too_long_to_replay(ties: str) -> None:
    weights = [140_000, 110_011, 110_011, 7, 1]
    assert sum(weights) > REPLAY
    peers = fleet(weights)
    assert drawn(edf(peers, ties), 3000) == [peers[index] for index in brute_force(weights, 3000, ties)]


@TIES
@given(weights=Weights)
def test_cycles_are_exact(ties: str, weights: list[int]) -> None:
    reduced = [weight // gcd(*weights) for weight in weights]
    peers = fleet(weights)
    counts = Counter(drawn(edf(peers, ties), 3 * sum(reduced)))
    assert [counts[peer] for peer in peers] == [3 * weight for weight in reduced]


@given(Weights)
def test_a_count_is_less_than_one_above_and_less_than_n_p_below_its_share(weights: list[int]) -> None:
    size, total = len(weights), sum(weights)
    counts = [0] * size
    for picks, index in enumerate(brute_force(weights, min(2 * total, 150), "keep"), start=1):
        counts[index] += 1
        for weight, count in zip(weights, counts, strict=True):
            share = Fraction(weight, total)
            assert -size * share < picks * share - count < 1
    assert Deadlines(weights, [Fraction(0)] * size).bound() < max(1, size * max(weights) / total) + 1e-9


@given(st.lists(st.tuples(st.integers(1, 30), st.fractions(0, 1, max_denominator=50)), min_size=1, max_size=7))
def test_no_count_strays_further_than_the_bound_from_any_opening(opening: list[tuple[int, Fraction]]) -> None:
    weights, earned = [list(column) for column in zip(*opening, strict=True)]
    total = sum(weights)
    deadlines = Deadlines(weights, earned)
    bound = deadlines.bound()
    counts = [0] * len(weights)
    for picks, index in enumerate(deadlines.take(min(2 * int(total), 150)), start=1):
        counts[index] += 1
        assert max(abs(picks * w / total - c) for w, c in zip(weights, counts, strict=True)) <= bound + 1e-9


def test_one_that_joins_is_due_after_a_whole_interval() -> None:
    service = Service("edf", A=4, B=4)
    assert service.run(3) == "ABA"
    service.set(A=4, B=4, C=2)
    assert service.run(7) == "BABABCA"  # at 2/4 b is left, a and b at 3/4, and c 1/2 later than 2/4, with a and b


def test_a_new_weight_changes_the_rest_of_the_interval() -> None:
    service = Service("edf", A=10, B=1)
    assert service.run(5) == "AAAAA"  # B has waited half its interval
    service.set(A=10, B=5)
    assert service.run(2) == "AB"  # half of 1/5 is due with the next 1/10 of A


def test_changes_of_weights_without_end_do_not_make_deadlines_unwieldy() -> None:
    peers, rng = fleet([1, 1, 1, 1]), Random(6)
    earned = [Fraction(0)] * 4
    totals = [0.0] * 4
    counts = [0] * 4
    for _ in range(300):
        weights = [rng.randint(1, 1000) for _ in peers]
        deadlines = Deadlines(weights, earned)
        taken = deadlines.take(7)
        for index in taken:
            counts[index] += 1
        totals = [sum(pair) for pair in zip(totals, (7 * w / sum(weights) for w in weights), strict=True)]
        earned = deadlines.earned(taken[-1], Counter())
        assert all(0 <= part <= 1 and part.denominator < 1 << 40 for part in earned)
    assert max(abs(total - count) for total, count in zip(totals, counts, strict=True)) < 40


def test_why_shows_when_each_is_due_in_calls() -> None:
    picker = edf(fleet([2, 1]), "keep")
    peer, why = picker.why(ANY)
    assert (peer.instance.key, [figures for _, figures in why.rows]) == ("A", [("2", "1.5"), ("1", "3")])
    assert list(accumulate(letters([picker.pick(ANY) for _ in range(3)]))) == ["A", "AB", "ABA"]
