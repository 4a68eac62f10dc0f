from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.stats.histogram import Histogram, bucket_of, lower_edge
from lbctl.stats.report import Report, Streams
from lbctl.stats.windows import Held
from lbctl.view.bars import bar, chart, shape, share_bar, sparkline, thin_bar
from lbctl.view.digest import EDGES_US, Digests, digest
from lbctl.view.latency_panel import buckets
from lbctl.view.layout import plan
from lbctl.view.lines import width_of
from lbctl.view.series import Series
from lbctl.view.theme import ASCII, COLOUR, PLAIN, UNICODE, Look
from tests.view.sample import sample

LOOK = Look(PLAIN, UNICODE)


def recorded(durations: list[int]) -> Histogram:
    histogram = Histogram()
    for us in durations:
        histogram.record(us)
    return histogram


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=60))
def test_the_screen_shows_the_percentiles_of_the_histogram(durations: list[int]) -> None:
    histogram = recorded(durations)
    found = digest(histogram)
    assert found is not None
    assert [found.p50, found.p90, found.p99] == histogram.quantiles((0.5, 0.9, 0.99))
    starts = [lower_edge(bucket_of(us)) for us in durations]
    limits = (0, *EDGES_US, 1 << 40)
    assert list(found.counts) == [sum(a <= start < b for start in starts) for a, b in pairwise(limits)]


@given(st.lists(st.integers(0, 10**8), max_size=30), st.lists(st.integers(0, 10**8), min_size=1, max_size=30))
def test_what_was_counted_before_can_be_left_out(before: list[int], since: list[int]) -> None:
    histogram, alone = recorded(before), digest(recorded(since))
    held = Held(histogram.counts.copy(), histogram.total)
    for us in since:
        histogram.record(us)
    found = digest(histogram, held)
    assert found is not None
    assert alone is not None
    assert (found.total, found.counts) == (alone.total, alone.counts)
    for one, other in zip(found[1:5], alone[1:5], strict=True):
        assert one == pytest.approx(other, rel=0.01)
    assert digest(histogram, Held(histogram.counts.copy(), histogram.total)) is None


def test_the_digest_of_a_window_is_renewed_when_calls_fall_out_of_it() -> None:
    digests, histogram = Digests(every_s=0.5), recorded([100, 900])
    digests.after({histogram: Held(recorded([100]).counts.copy(), 1)})
    first = digests.of(histogram, 0.0)
    assert first is not None
    assert (first.total, first.max_us) == (1, 900)
    digests.after({histogram: Held(histogram.counts.copy(), 2)})
    assert digests.of(histogram, 0.1) is first
    assert digests.of(histogram, 0.6) is None
    assert digests.held(histogram) is None


def test_nothing_recorded_has_no_percentiles() -> None:
    assert digest(Histogram()) is None


def test_a_digest_is_kept_while_the_histogram_is_the_same_or_the_view_is_fresh() -> None:
    digests, histogram = Digests(every_s=0.5), recorded([100])
    first = digests.of(histogram, 0.0)
    assert digests.of(histogram, 9.0) is first
    histogram.record(900)
    renewed = digests.of(histogram, 9.0)
    assert renewed is not None
    assert renewed.total == 2
    histogram.record(900)
    assert digests.of(histogram, 9.4) is renewed
    latest = digests.of(histogram, 9.5)
    assert latest is not renewed
    histogram.record(900)
    assert digests.of(histogram, 0.1) is not latest  # the run was begun anew, its clock too


def test_many_digests_are_renewed_half_as_often_and_not_all_at_once() -> None:
    digests, histograms = Digests(every_s=0.5), [recorded([100]) for _ in range(40)]
    renewed = []
    for quarter in range(12):
        for histogram in histograms:
            histogram.record(100)
        before = [digests._kept.get(histogram) for histogram in histograms]
        for histogram in histograms:
            digests.of(histogram, quarter / 4)
        renewed.append(sum(was is not digests._kept[one] for was, one in zip(before, histograms, strict=True)))
    assert max(renewed[4:]) < 20
    assert sum(renewed[4:]) == 2 * 40


def test_digests_that_are_cleared_are_made_anew() -> None:
    digests, histogram = Digests(every_s=0.5), recorded([100])
    digests.of(histogram, 0.0)
    histogram.record(900)
    digests.clear()
    latest = digests.of(histogram, 0.1)
    assert latest is not None
    assert latest.total == 2


def test_empty_buckets_are_dropped_at_the_ends_and_the_tail_is_merged() -> None:
    found = digest(recorded([600, 1_500, 1_500, 30_000, 700_000]))
    labels = [label for label, _ in buckets([found], 20)]
    assert labels == ["500us", "1.0ms", "2.0ms", "5.0ms", "10ms", "20ms", "50ms", "100ms", "200ms", "500ms"]
    assert buckets([found], 3) == [("500us", [1]), ("1.0ms", [2]), ("2.0ms+", [2])]


def test_rates_come_from_counters_and_elapsed_time() -> None:
    series, report = Series(), sample(3)
    start = replace(report, elapsed_s=0.0, completed=0, backends=())
    assert not series.sample(start)
    assert series.now() is None
    assert not series.sample(replace(start, elapsed_s=0.3, completed=60))
    assert series.sample(replace(start, elapsed_s=0.5, completed=100))
    assert series.now() == pytest.approx(200)
    assert series.sample(replace(start, elapsed_s=1.5, completed=400))
    assert list(series.total) == pytest.approx([200, 300])
    assert series.now() == pytest.approx(250)


def test_messages_count_when_their_call_ends_and_received_ones_when_they_came() -> None:
    series, report = Series(), sample(3)
    gaps = Histogram()

    def at(seconds: float, sent: int, received: int) -> None:
        streams = Streams(sent, received, None, None, gaps)
        series.sample(replace(report, elapsed_s=seconds, streams=streams))

    at(0.0, 0, 0)
    assert series.messages_now() == (None, None)
    gaps.record(1000, 100)  # a long stream goes on
    at(0.5, 0, 0)
    assert series.messages_now() == (0.0, 200.0)
    at(1.0, 40, 101)  # and ends
    assert series.messages_now() == (40.0, 101.0)


def test_time_away_is_in_no_rate() -> None:
    series, report = Series(), sample(3)

    def at(seconds: float, number: int) -> Report:
        row = replace(report.backends[0], ok=number, errors=0)
        streams = Streams(number, number, None, None, Histogram())
        return replace(report, elapsed_s=seconds, completed=number, backends=(row,), streams=streams)

    series.sample(at(0.0, 0))
    series.skip(at(60.0, 500))
    series.sample(at(60.5, 600))
    assert list(series.total) == [200]
    assert series.messages_now() == (200, 200)
    assert series.row_now(report.backends[0]) == 200


def test_a_backend_that_joins_later_is_counted_from_its_start() -> None:
    series, report = Series(), sample(3)
    row = replace(report.backends[0], ok=0, errors=0)
    series.sample(replace(report, elapsed_s=0.0, backends=()))
    series.sample(replace(report, elapsed_s=0.5, backends=()))
    series.sample(replace(report, elapsed_s=1.0, backends=(replace(row, ok=40, errors=10),)))
    assert series.row_now(row) == pytest.approx(100)


def test_the_p99_of_a_step_is_of_that_step_alone() -> None:
    series, report, histogram = Series(), sample(3), Histogram()
    for step, us in enumerate((100, 100, 50_000, 200)):
        histogram.record(us, 1000)
        series.sample(replace(report, elapsed_s=step * 0.5, latency=histogram))
    series.sample(replace(report, elapsed_s=2.0, latency=histogram))
    values = list(series.p99)
    assert values[:3] == pytest.approx([100, 50_000, 200], rel=0.005)
    assert values[3] is None


@given(st.floats(-1, 3), st.one_of(st.none(), st.floats(0, 2)), st.integers(1, 40))
def test_bars_are_exactly_as_wide_as_asked(share: float, expected: float | None, width: int) -> None:
    for glyphs in (UNICODE, ASCII):
        look = Look(COLOUR, glyphs)
        assert len(bar(share, width, glyphs)) == width
        assert len(thin_bar(share, width, glyphs)) == width
        assert width_of(share_bar(share, expected, width, look, COLOUR.bar, COLOUR.bold)) == width


def test_bars_have_half_and_eighth_cells_and_a_tick() -> None:
    assert bar(0.5, 4, UNICODE) == "██  "
    assert bar(0.001, 4, UNICODE) == "▏   "
    assert bar(0.0, 4, UNICODE) == "    "
    assert thin_bar(0.625, 4, UNICODE) == "━━╸ "
    assert share_bar(1.0, 0.5, 4, LOOK, "", "") == "━━┃━"
    assert share_bar(0.25, 1.0, 4, LOOK, "", "") == "━  ┃"


def test_sparklines_and_shapes_leave_absent_values_blank() -> None:
    assert sparkline([0, 5, 10], 5, UNICODE) == "  ▁▅█"
    assert shape([0, 1, 100, 0], 6, UNICODE) == " ▂█   "
    assert shape([1, 1, 1, 1], 2, UNICODE)[-1] == "█"
    assert chart([None, 1, 2], 4, 2, UNICODE, 2.0) == ["   █", "  ██"]


def test_the_table_comes_first_and_the_histogram_gives_way() -> None:
    assert plan(80, 24, 5).histogram == 7
    assert (plan(80, 24, 6).rows, plan(80, 24, 6).histogram) == (6, 7)
    assert (plan(80, 24, 7).rows, plan(80, 24, 7).histogram) == (7, 0)
    assert (plan(80, 24, 7, histogram=True).rows, plan(80, 24, 7, histogram=True).histogram) == (6, 7)
    assert plan(80, 24, 5, histogram=False).histogram == 0
    assert plan(100, 30, 20).rows == 20


@given(
    st.integers(40, 300), st.integers(8, 100), st.integers(0, 500), st.booleans(), st.sampled_from((None, True, False))
)
def test_the_parts_fill_the_window_exactly(
    width: int, height: int, backends: int, warning: bool, histogram: bool | None
) -> None:
    parts = plan(width, height, backends, histogram=histogram, warning=warning)
    assert parts.header + parts.warning + parts.body + 1 == height
    assert parts.rows >= 1
    assert parts.lower >= parts.histogram
