from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.policies.base import Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.stride import CLAMPS, WRAP, K, StaticStride, scaled
from tests.balance.fleet import ANY, VECTORS, built, drawn, fleet, letters, pieced

Weights = st.lists(st.one_of(st.integers(1, 30), st.floats(0.001, 1000)), min_size=1, max_size=9)


def brute_force(scaled: list[int], sequence: int, picks: int) -> tuple[list[int], int]:
    """Ask one backend after the other, as the rule is written; returns the turns and the number that is next."""
    taken: list[int] = []
    while len(taken) < picks:
        generation, index = divmod(sequence, len(scaled))
        if (scaled[index] * generation + index * 32767) % 65535 >= 65535 - scaled[index]:
            taken.append(index)
        sequence = (sequence + 1) % (1 << 32)
    return taken, sequence


@pytest.mark.parametrize(
    "vector",
    [
        VECTORS["stride_core_1_2_3"],
        VECTORS["stride_core_min_clamp"],
        VECTORS["stride_java_neg"],
        VECTORS["stride_java_max_clamp"],
    ],
    ids=["core", "core min", "java neg", "java max"],
)
def test_scaled_weights_picks_and_counts_are_as_published(vector: dict[str, Any]) -> None:
    given, expect = vector["given"], vector["expect"]
    stride = StaticStride(given["weights"], given["sequence_start"], given["impl"])
    turns = list(islice(stride, given["picks"]))
    assert stride.scaled == expect["scaled_weights"]
    assert turns[: len(expect["first_picks"])] == expect["first_picks"]
    assert [turns.count(index) for index in range(len(given["weights"]))] == expect["counts"]


def test_the_sequence_goes_on_from_zero_at_the_wrap() -> None:
    vector = VECTORS["stride_java_wraparound"]
    assert vector["given"]["sequence_start"] == "2^32-1"
    stride = StaticStride(vector["given"]["weights"], WRAP - 1, "java")
    assert list(islice(stride, 6)) == vector["expect"]["picks"]
    assert stride.sequence < 40


def test_the_turns_are_those_of_the_rule_in_ten_thousand_cases() -> None:
    rng = Random(5)
    for _ in range(10_000):
        weights = [rng.choice([0, 1, 5, 100, rng.uniform(0.1, 50)]) for _ in range(rng.randint(1, 7))]
        start = rng.choice([0, rng.randrange(WRAP), WRAP - rng.randint(1, 30)])
        clamp, count = rng.choice(CLAMPS), rng.randint(0, 40)
        stride = StaticStride(weights, start, clamp)
        turns, after = brute_force(scaled(weights, clamp), start, count)
        assert list(islice(stride, count)) == turns
        assert stride.sequence == after


@pytest.mark.parametrize(
    ("weights", "clamp", "expected"),
    [
        ([5, 1, 1], "none", [65535, 13107, 13107]),
        ([3, 0, 1], "core", [65535, 43690, 21845]),  # 0 is unknown and counts as the mean, 2
        ([1e6, 1], "none", [65535, 0]),  # grpc-go: starved for ever
        ([1e6, 1], "core", [65535, 328]),
        ([1e6, 1], "java", [65535, 3277]),  # a tenth of the mean, which is half of the largest
        ([81] + [1] * 19, "core", [65535] + [1311] * 19),  # mean 5, so 81 counts as 50
        ([81] + [1] * 19, "none", [65535] + [809] * 19),
        ([7, 7, 7], "java", [65535] * 3),
        ([0, 0, 4], "core", [65535] * 3),  # fewer than two are known: plain turns
        ([0, -1], "none", [65535] * 2),
        ([4], "core", [65535]),
    ],
)
def test_weights_are_scaled_to_the_largest_and_clamped_as_each_implementation_does(
    weights: list[float], clamp: str, expected: list[int]
) -> None:
    assert scaled(weights, clamp) == expected


def test_counts_over_a_whole_period_are_the_scaled_weights() -> None:
    stride = StaticStride([5, 1, 1], 0)
    counts = Counter(islice(stride, sum(stride.scaled)))
    assert [counts[index] for index in range(3)] == stride.scaled == [K, 13107, 13107]
    assert 3 * (K - 1) < stride.sequence <= 3 * K


@given(Weights, st.integers(0, WRAP // 2), st.integers(1, 40))
def test_over_whole_generations_a_count_is_within_one_of_its_part(
    weights: list[float], start: int, generations: int
) -> None:
    stride = StaticStride(weights, start - start % len(weights))
    counts = [0] * len(weights)
    end = stride.sequence + generations * len(weights)
    while True:
        index = stride.next()
        if stride.sequence > end:
            break
        counts[index] += 1
    for weight, count in zip(stride.scaled, counts, strict=True):
        assert abs(count - generations * weight / K) < 1


@given(Weights, st.integers(0, WRAP // 2), st.integers(1, 150))
def test_no_count_strays_further_than_the_bound_from_any_sequence_number(
    weights: list[float], start: int, picks: int
) -> None:
    stride = StaticStride(weights, start)
    bound, shares = stride.bound(), stride.shares()
    counts = [0] * len(weights)
    for number, index in enumerate(islice(stride, picks), start=1):
        counts[index] += 1
        assert max(abs(number * share - count) for share, count in zip(shares, counts, strict=True)) <= bound + 1e-9


def test_the_bound_knows_that_a_crowd_of_light_ones_comes_in_two_lumps() -> None:
    stride = StaticStride([1000] + [1] * 400, 0)
    bound, shares = stride.bound(), stride.shares()
    heavy, worst = 0, 0.0
    for number, index in enumerate(islice(stride, 6000), start=1):
        heavy += index == 0
        worst = max(worst, abs(number * shares[0] - heavy))
    assert 20 < worst <= bound < 2.5 * worst


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.lists(st.integers(0, 30), max_size=8))
def test_rebuilding_the_picker_at_any_moments_leaves_the_order_as_it_is(weights: list[int], lives: list[int]) -> None:
    whole, peers = fleet(weights), fleet(weights)
    picked = pieced(lambda: built("static_stride", peers, seed=3), lives)
    assert letters(picked) == letters(drawn(built("static_stride", whole, seed=3), sum(lives)))


def test_a_weight_that_scales_to_nothing_is_starved_unless_clamped() -> None:
    for clamp, least in (("none", 0), ("core", 20), ("java", 200)):
        policy = POLICIES["static_stride"].with_options({"clamp": clamp})
        heavy, light = fleet([1_000_000, 1])
        picker = policy.build([heavy, light], Setup(Random(1), policy.options))
        counts = Counter(drawn(picker, 5000))
        assert counts[light] >= least
        share = picker.law().shares[1]
        assert abs(counts[light] - 5000 * share) <= picker.law().bound
        assert (share == 0) == (clamp == "none")


def test_a_successor_over_another_set_goes_on_with_the_number() -> None:
    peers = fleet([5, 1, 1, 2])
    picker = built("static_stride", peers[:3], seed=9)
    drawn(picker, 10)
    picker.retire()
    number = peers[0].memory.value
    turns, after = brute_force(scaled([1, 1, 2]), number, 6)
    successor = built("static_stride", peers[1:])
    assert drawn(successor, 6) == [peers[1:][index] for index in turns]
    successor.retire()
    assert all(peer.memory.value == after for peer in peers)


def test_why_tells_the_sequence_number_that_was_asked() -> None:
    picker = built("static_stride", fleet([3, 1]), seed=2)
    numbers = [int(picker.why(ANY)[1].text.rsplit(" ", 1)[1]) for _ in range(4)]
    turns, _ = brute_force([65535, 21845], numbers[0], 4)
    assert [number % 2 for number in numbers] == turns
