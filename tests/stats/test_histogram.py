from __future__ import annotations

import json
import sys
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.stats.histogram import BUCKETS, Histogram, bucket_of, lower_edge, middle, rank

HOUR_US = 3_600_000_000
Durations = st.lists(
    st.one_of(st.integers(0, 300), st.integers(0, 100_000), st.integers(0, HOUR_US)), min_size=1, max_size=200
)
QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)


def histogram(*durations: int) -> Histogram:
    made = Histogram()
    for us in durations:
        made.record(us)
    return made


def nearest_rank(durations: list[int], q: float) -> int:
    return sorted(durations)[max(1, ceil(q * len(durations))) - 1]


@given(Durations)
def test_quantiles_are_the_nearest_rank_of_the_sorted_durations_within_one_percent(durations: list[int]) -> None:
    found = histogram(*durations).quantiles(QUANTILES)
    for q, us in zip(QUANTILES, found, strict=True):
        exact = nearest_rank(durations, q)
        assert abs(us - exact) <= exact * 0.01


@given(Durations)
def test_quantiles_rise_and_stay_between_the_least_and_the_greatest(durations: list[int]) -> None:
    found = histogram(*durations).quantiles(QUANTILES)
    assert found == sorted(found)
    assert min(durations) <= found[0]
    assert found[-1] <= max(durations)


def test_quantiles_of_five_durations_are_the_textbook_ones() -> None:
    made = histogram(15, 20, 35, 40, 50)
    assert made.quantiles((0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)) == [15, 20, 35, 40, 50, 50, 50]


@pytest.mark.parametrize("percent", ["7", "14", "28", "50", "55", "56", "57", "90", "99", "99.9", "99.99"])
def test_ranks_are_those_of_exact_arithmetic(percent: str) -> None:
    share = Fraction(percent) / 100
    for total in (*range(1, 2_000), 10_000, 1_000_000, 123_456_789, 10**12):
        assert rank(float(percent) / 100, total) == max(1, ceil(share * total))


def test_one_duration_is_every_quantile() -> None:
    assert set(histogram(123_457).quantiles(QUANTILES)) == {123_457}


def test_a_quantile_of_nothing_is_an_error_and_the_mean_of_nothing_is_zero() -> None:
    with pytest.raises(ValueError, match="no durations"):
        Histogram().quantile(0.5)
    assert Histogram().mean_us == 0.0


@pytest.mark.parametrize("qs", [(0.0,), (-0.1,), (1.01,), (0.9, 0.5), (float("nan"),)])
def test_quantiles_must_rise_between_zero_and_one(qs: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="quantiles"):
        histogram(1, 2).quantiles(qs)


@given(st.integers(0, HOUR_US))
def test_a_bucket_holds_what_is_put_into_it_and_is_narrow(us: int) -> None:
    bucket = bucket_of(us)
    low, high = lower_edge(bucket), lower_edge(bucket + 1) - 1
    assert low <= us <= high
    assert high - low <= us / 128
    assert abs(middle(bucket) - us) <= us * 0.004


def test_buckets_follow_one_another_without_gaps_up_to_an_hour() -> None:
    edges = [lower_edge(bucket) for bucket in range(BUCKETS)]
    assert edges == sorted(set(edges))
    assert all(bucket_of(edge) == bucket for bucket, edge in enumerate(edges))
    assert all(bucket_of(edge - 1) == bucket - 1 for bucket, edge in enumerate(edges) if bucket)
    assert bucket_of(HOUR_US) < BUCKETS


def test_what_is_out_of_range_lands_at_the_ends() -> None:
    made = histogram(-5, 1 << 40)
    assert (made.counts[0], made.counts[-1], made.min_us, made.max_us) == (1, 1, 0, 1 << 40)
    assert made.quantiles((0.5, 1.0)) == [0.0, middle(BUCKETS - 1)]


@given(Durations, Durations)
def test_merging_is_recording_both(first: list[int], second: list[int]) -> None:
    merged, both = histogram(*first), histogram(*first, *second)
    merged.merge(histogram(*second))
    assert (merged.counts, merged.total, merged.total_us) == (both.counts, both.total, both.total_us)
    assert (merged.min_us, merged.max_us, merged.mean_us) == (both.min_us, both.max_us, both.mean_us)


def test_merging_nothing_changes_nothing() -> None:
    made = histogram(7, 9)
    made.merge(Histogram())
    assert (made.total, made.min_us, made.max_us) == (2, 7, 9)


def test_a_copy_goes_its_own_way() -> None:
    made = histogram(7)
    twin = made.copy()
    made.record(8)
    assert (twin.total, twin.max_us) == (1, 7)


@given(Durations)
def test_folding_a_batch_is_recording_its_durations(durations: list[int]) -> None:
    folded, recorded = Histogram(), histogram(*durations)
    for us in durations:
        folded.counts[bucket_of(us)] += 1
    folded.fold(len(durations), sum(durations), min(durations), max(durations))
    assert all(getattr(folded, name) == getattr(recorded, name) for name in Histogram.__slots__)


def test_a_duration_on_an_edge_belongs_at_or_below_it_and_a_larger_one_above() -> None:
    edges = (1000, 2000)
    assert histogram(1000).rebinned(edges) == [1, 0, 0]
    assert histogram(1008).rebinned(edges) == [0, 1, 0]
    assert histogram(2000).rebinned(edges) == [0, 1, 0]
    assert histogram(2016).rebinned(edges) == [0, 0, 1]
    assert histogram(0, 200, 201).rebinned((200,)) == [2, 1]


@given(Durations, st.lists(st.integers(1, HOUR_US), min_size=1, max_size=12, unique=True))
def test_rebinning_loses_nothing_and_errs_by_less_than_one_percent(durations: list[int], edges: list[int]) -> None:
    edges.sort()
    counts = histogram(*durations).rebinned(edges)
    assert sum(counts) == len(durations)
    seen = 0
    for edge, count in zip(edges, counts, strict=False):
        seen += count
        assert sum(us <= edge for us in durations) <= seen <= sum(us <= edge * 1.008 for us in durations)


def test_two_million_durations_keep_their_tail_and_take_no_more_memory() -> None:
    made = Histogram()
    size = sys.getsizeof(made.counts)
    made.record(1000, 1_000_000)
    made.record(100_000, 1_000_000)
    assert abs(made.quantile(0.99) - 100_000) <= 1000
    assert made.mean_us == 50_500
    assert sys.getsizeof(made.counts) == size < 30_000


@given(st.one_of(Durations, st.just([])))
def test_a_histogram_comes_back_whole_from_its_state_written_as_json(durations: list[int]) -> None:
    made = histogram(*durations)
    back = Histogram.of_state(json.loads(json.dumps(made.state())))
    assert back.counts == made.counts
    assert (back.total, back.total_us, back.min_us, back.max_us) == (
        made.total,
        made.total_us,
        made.min_us,
        made.max_us,
    )


@pytest.mark.parametrize(
    "change",
    [
        {"counts": {"3328": 2}},
        {"counts": {"-1": 2}},
        {"counts": {"12": -2}},
        {"counts": {"12": 1}},
        {"counts": {"12": True, "13": 1}},
        {"counts": {"many": 2}},
        {"counts": None},
        {"count": "2"},
        {"min_us": None},
        {"min_us": 14},
        {"sum_us": 1.5},
    ],
)
def test_what_no_histogram_can_have_written_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no state of a histogram"):
        Histogram.of_state({**histogram(12, 13).state(), **change})
