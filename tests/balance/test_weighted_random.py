from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import islice, pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.alias import AliasTable
from lbctl.balance.draws import EXPANDED, Alias, Cumulative, Expanded, Hybrid, Table, capped, weight_cap
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Law, Picker, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.slots import drawn as table_of
from lbctl.balance.slots import numbers
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import ANY, VECTORS, built, drawn, fleet, letters

Weights = st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any)
FORMS = ("table", "expanded", "cumulative", "alias", "hybrid", "dynamic")


def random_by(peers: list[Peer], seed: int = 1, **options: str) -> Picker:
    policy = POLICIES["weighted_random"].with_options(options)
    return policy.build(peers, Setup(Random(seed), policy.options))


def chi_square(counts: Counter[int], weights: list[int]) -> float:
    total, picks = sum(weights), sum(counts.values())
    return sum((counts[index] - picks * w / total) ** 2 / (picks * w / total) for index, w in enumerate(weights) if w)


def test_expanded_and_cumulative_map_the_same_number_to_the_same_backend() -> None:
    expanded, cumulative = Expanded([5, 1, 1]), Cumulative([5, 1, 1])
    assert [expanded.index(number) for number in range(7)] == [0, 0, 0, 0, 0, 1, 2]
    assert [cumulative.index(number) for number in range(7)] == [0, 0, 0, 0, 0, 1, 2]


@given(Weights, st.integers(0, 31))
def test_every_form_gives_each_backend_as_many_numbers_as_its_weight(weights: list[int], threshold: int) -> None:
    for draws in (Cumulative(weights), Hybrid(weights, threshold)):
        counts = Counter(draws.index(number) for number in range(draws.size))
        assert [counts[index] for index in range(len(weights))] == weights
    expanded = Expanded(weights)
    counts = Counter(expanded.index(number) for number in range(expanded.size))
    assert [counts[index] * sum(weights) for index in range(len(weights))] == [w * expanded.size for w in weights]


def test_the_alias_tables_law_is_exactly_that_of_the_weights_in_ten_thousand_cases() -> None:
    rng = Random(7)
    for _ in range(10_000):
        weights = [rng.choice([0, 1, rng.randint(1, 10**9)]) for _ in range(rng.randint(1, 12))]
        weights[0] = weights[0] or 1
        table, total = AliasTable(weights), sum(weights)
        assert [Fraction(part, table.size) for part in table.parts()] == [Fraction(w, total) for w in weights]
        assert all(0 <= own <= total for own in table.own)


@given(Weights)
def test_the_alias_table_maps_numbers_as_its_law_says(weights: list[int]) -> None:
    table = AliasTable(weights)
    counts = Counter(table.index(number) for number in range(table.size))
    assert [counts[index] for index in range(len(weights))] == table.parts()


@pytest.mark.parametrize(
    "draws", [Expanded, Cumulative, Alias, Table, lambda weights: Hybrid(weights, 20)], ids=range(5)
)
@pytest.mark.parametrize("weights", [[5, 1, 1], [100, 20, 21, 3, 3], [0, 7, 0, 1], [60] * 9])
def test_draws_follow_the_law(draws: Any, weights: list[int]) -> None:  # noqa: ANN401  # classes and functions
    letters = "ABCDEFGHI"[: len(weights)]
    counts = Counter(map(letters.index, islice(draws(weights).over(letters, Random(9)), 20_000)))
    assert all(weights[index] for index in counts)
    assert p_value(chi_square(counts, weights), sum(map(bool, weights)) - 1) > 1e-6


@pytest.mark.parametrize("scale", [1, 1000, 10**9])
def test_a_table_too_small_for_the_weights_keeps_the_law(scale: int) -> None:
    weights = [50 * scale, 13 * scale, 13 * scale, scale + 1, 23 * scale]
    table = Table(weights, 256)
    counts = Counter(map("ABCDE".index, islice(table.over("ABCDE", Random(9)), 20_000)))
    assert p_value(chi_square(counts, weights), 4) > 1e-6


@pytest.mark.parametrize("bits", [8, 9, 16, 17])
def test_blocks_of_random_bits_are_numbers_of_so_many_bits(bits: int) -> None:
    found = [number for block in islice(numbers(1 << bits, Random(5)), 8) for number in block][:2048]
    assert len(found) == 2048
    assert 0 <= min(found) < 1 << bits - 6 < (1 << bits) - (1 << bits - 6) <= max(found) < 1 << bits
    for bit in range(bits):
        assert abs(sum(number >> bit & 1 for number in found) - 1024) < 136  # six standard deviations


class EveryByte(Random):
    """Makes every byte as often as any other, in order."""

    def randbytes(self, n: int) -> bytes:
        return (bytes(range(256)) * (n // 256 + 1))[:n]


@pytest.mark.parametrize("count", [1, 3, 129, 200, 256])
def test_items_get_exactly_as_many_bytes_each(count: int) -> None:
    blocks = 256 // count * count  # of 32, 64 and 128 bytes; then of 256
    skipped = sum(min(size, blocks) for size in (32, 64, 128))
    draws = [*islice(table_of(range(1, count + 1), EveryByte()), skipped, skipped + blocks)]
    assert Counter(draws) == dict.fromkeys(range(1, count + 1), 256 // count)


class Scripted(EveryByte):
    """Makes the words it was given, then zeros."""

    def __init__(self, *words: int) -> None:
        super().__init__()
        self.words = [*words]

    def getrandbits(self, k: int) -> int:
        return self.words.pop(0) if self.words else 0


def test_where_pieces_meet_bits_are_drawn_until_they_say_whose_the_number_is() -> None:
    """Three equal pieces, four slots: 1/3 is .01 0101..., 2/3 is .10 1010..., and more ones are above, zeros below."""
    rng = Scripted(0x55555555, 0, 0xAAAAAAAA, 0xFFFFFFFF, 0x55555555, 0xFFFFFFFF, 0xAAAAAAAA, 0)
    assert "".join(islice(Cumulative([1, 1, 1], 4).over("ABC", rng), 12)) == "AACCABBCAABC"


@pytest.mark.parametrize("count", [1, 3, 129, 257, 1000, 4243, 70_000])
def test_a_table_draws_every_item_with_the_same_chance(count: int) -> None:
    items = range(1, count + 1)
    draws = [*islice(table_of(items, Random(3)), 40_000)]
    assert set(draws) <= set(items)
    parts = Counter(draw * min(count, 10) // (count + 1) for draw in draws)
    expected = [sum(item * min(count, 10) // (count + 1) == part for item in items) for part in range(min(count, 10))]
    assert p_value(chi_square(parts, expected), max(1, min(count, 10) - 1)) > 1e-6


def test_numbers_in_slots_of_several_backends_are_looked_up_in_the_sums() -> None:
    """Ten thousand backends of weight 1 on a guide of 256 slots: none is wholly one's own."""
    weights = [1] * 10_000
    items = range(1, 10_001)
    counts = Counter(islice(Cumulative(weights, 256).over(items, Random(9)), 100_000))
    grouped = Counter(number // 1000 for number in (item - 1 for item in counts.elements()))
    assert p_value(chi_square(grouped, [1] * 10), 9) > 1e-6
    assert len(counts) > 9980  # 10,000 (1 - 1 / e^10) = 9999.5 are met


@pytest.mark.parametrize("form", FORMS)
def test_every_form_draws_independently_by_weight(form: str) -> None:
    peers, weights = fleet([50, 30, 15, 5]), [50, 30, 15, 5]
    picker = random_by(peers, form=form)
    order = letters(drawn(picker, 20_000))
    counts = Counter("ABCD".index(letter) for letter in order)
    assert picker.law() == Law([0.5, 0.3, 0.15, 0.05], drawn=True)
    assert p_value(chi_square(counts, weights), 3) > 1e-6
    repeats = sum(a == b for a, b in pairwise(order)) / (len(order) - 1)
    assert abs(repeats - (0.25 + 0.09 + 0.0225 + 0.0025)) < 0.025  # sum of p squared, six standard deviations


@pytest.mark.parametrize("form", FORMS)
def test_every_form_takes_weights_far_beyond_any_table(form: str) -> None:
    heavy, light = fleet([999_999_999, 1])
    assert EXPANDED < 999_999_999
    counts = Counter(drawn(random_by([heavy, light], form=form), 5000))
    assert counts[heavy] >= (4850 if form == "dynamic" else 4999)


def test_the_cap_on_weights_is_as_published() -> None:
    vector = VECTORS["dynamic_max_weight"]
    caps = [weight_cap(memory_limit, count) for count, memory_limit in vector["given"]["cases"]]
    assert caps == vector["expect"]["max_weight"]


@pytest.mark.parametrize(
    ("weights", "mapping", "expected"),
    [
        ([100, 1], "clamp", [5, 1]),
        ([50, 25], "clamp", [5, 5]),
        ([100, 1], "scale", [5, 1]),
        ([50, 25], "scale", [5, 3]),  # 2.5, halves go up
        ([1000, 1, 400], "scale", [5, 1, 2]),
        ([5, 2], "clamp", [5, 2]),
        ([5, 2], "scale", [5, 2]),
        ([2, 1], "scale", [2, 1]),  # what fits is left alone
    ],
)
def test_weights_above_the_cap_are_cut_or_scaled(weights: list[int], mapping: str, expected: list[int]) -> None:
    assert capped(weights, 5, mapping) == expected


@pytest.mark.parametrize(("mapping", "shares"), [("clamp", [0.5, 0.5]), ("scale", [0.625, 0.375])])
def test_the_law_of_dynamic_is_that_after_weights_were_cut(mapping: str, shares: list[float]) -> None:
    peers = fleet([50, 25])
    picker = random_by(peers, form="dynamic", memory_limit="80", mapping=mapping)
    assert picker.law().shares == shares
    counts = Counter(drawn(picker, 10_000))
    assert (
        p_value(sum((counts[p] - 10_000 * s) ** 2 / (10_000 * s) for p, s in zip(peers, shares, strict=True)), 1) > 1e-6
    )
    _, why = picker.why(ANY)
    assert why.columns == ("weight", "counts as", "chance")
    assert [figures[:2] for _, figures in why.rows] == [("50", "5"), ("25", "5" if mapping == "clamp" else "3")]


@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=50),
    st.integers(1, 10_000),
    st.sampled_from(["clamp", "scale"]),
)
def test_a_dynamic_list_fits_its_limit_unless_the_least_cap_is_more(
    weights: list[int], limit: int, mapping: str
) -> None:
    cap = weight_cap(limit, len(weights))
    drawn_by = capped(weights, cap, mapping)
    assert 1 <= min(drawn_by) <= max(drawn_by) <= cap
    assert 8 * sum(drawn_by) <= max(limit, 8 * 5 * len(weights))


def test_a_draw_misses_no_backend_for_longer_than_chance_allows() -> None:
    peers = fleet([98, 1, 1])
    assert set(drawn(built("weighted_random", peers), 1375)) == set(peers)  # a miss has a chance of 1e-6
