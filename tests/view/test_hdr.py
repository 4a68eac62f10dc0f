"""Percentiles and logs of HdrHistogram, as its own library reads and counts them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given, settings
from hypothesis import strategies as st

from lbctl.stats.report import Report
from lbctl.view.hdr_code import encoded
from tests.view.sample import sample
from tests.view.sample_outputs import REPORTS, run, text, times


def hdr_rows(found: str) -> list[tuple[float, float, int]]:
    rows = [line.split() for line in found.split("\n")[2:] if line and not line.startswith("#")]
    return [(float(value), float(level), int(count)) for value, level, count, *_ in rows]


@pytest.mark.parametrize("report", REPORTS)
def test_every_row_of_the_percentile_distribution_is_what_hdrhistogram_counts(report: Report) -> None:
    theirs = HdrHistogram(1, 60_000_000, 3)
    for us, count in report.latency.steps():
        theirs.record_value(round(us), count)
    total = report.latency.total
    counted = [(each.value_iterated_to, each.total_count_to_this_value) for each in theirs.get_recorded_iterator()]
    found = hdr_rows(text("hdr", report))
    assert bool(found) == bool(total)
    for value, level, count in found:
        reached = [before for before in counted if before[1] >= level * total]
        assert count == reached[0][1]
        assert value == pytest.approx(reached[0][0] / 1000, rel=0.01, abs=0.001)


def test_levels_of_the_percentile_distribution_stand_closer_after_each_half_of_what_is_left() -> None:
    levels = [level for _, level, _ in hdr_rows(text("hdr", sample(5)))]
    assert levels[:17] == [
        0.0,
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.55,
        0.6,
        0.65,
        0.7,
        0.75,
        0.775,
        0.8,
        0.825,
        0.85,
        0.875,
        0.8875,
    ]
    assert levels[-1] == 1.0


def test_the_percentile_distribution_ends_with_the_slowest_call_and_tells_mean_and_deviation() -> None:
    found = text("hdr", replace(run(), latency=times(100, 100, 400)))
    assert found.split("\n") == [
        "       Value     Percentile TotalCount 1/(1-Percentile)",
        "",
        "       0.100 0.000000000000          2           1.00",
        "       0.100 0.100000000000          2           1.11",
        "       0.100 0.200000000000          2           1.25",
        "       0.100 0.300000000000          2           1.43",
        "       0.100 0.400000000000          2           1.67",
        "       0.100 0.500000000000          2           2.00",
        "       0.100 0.550000000000          2           2.22",
        "       0.100 0.600000000000          2           2.50",
        "       0.100 0.650000000000          2           2.86",
        "       0.400 0.700000000000          3           3.33",
        "       0.400 1.000000000000          3",
        "#[Mean    =        0.200, StdDeviation   =        0.141]",
        "#[Max     =        0.400, Total count    =            3]",
        "#[Buckets =           25, SubBuckets     =          256]",
    ]


def intervals(found: str, folder: Path) -> list[tuple[str | None, float, float, HdrHistogram]]:
    """Every interval of a log, as HdrHistogram's own reader has it: tag, start and length in seconds, and the calls."""
    path = folder / "run.hlog"
    path.write_text(found + "\n", encoding="utf-8")
    reader, read = HistogramLogReader(str(path), HdrHistogram(1, 1 << 42, 3)), []
    while (each := reader.get_next_interval_histogram()) is not None:
        start, end = each.get_start_time_stamp() / 1000, each.get_end_time_stamp() / 1000
        read.append((each.get_tag(), start, end - start, each))
    reader.input_file.close()
    return read


def test_the_log_has_an_interval_for_each_sample_and_each_backend_under_its_address(tmp_path: Path) -> None:
    report = run()
    found = intervals(text("hdr-log", report), tmp_path)
    start = report.started_at.timestamp()
    assert [tag for tag, *_ in found] == [None, None, "127.0.0.1:50061", "127.0.0.1:50062"]
    assert [each.get_total_count() for *_, each in found] == [3, 6, 4, 5]
    begun = [at - start for _, at, *_ in found]
    assert begun == pytest.approx([0.0, 1.0, 0.0, 0.0], abs=1e-3)
    assert [seconds for _, _, seconds, _ in found] == pytest.approx([1.0, 1.0, 2.0, 1.5], abs=1e-3)
    slow = found[2][3]
    assert slow.get_max_value() == pytest.approx(10_000_000, rel=0.01)
    assert slow.get_value_at_percentile(50) == pytest.approx(2_000_000, rel=0.01)


def test_the_log_of_a_run_without_samples_is_one_interval(tmp_path: Path) -> None:
    found = intervals(text("hdr-log", replace(run(), samples=(), backends=())), tmp_path)
    assert [(tag, each.get_total_count()) for tag, _, _, each in found] == [(None, 9)]


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.one_of(st.integers(0, 5000), st.integers(0, 1 << 42)), st.integers(1, 1 << 40)), max_size=40)
)
def test_what_is_encoded_for_hdrhistogram_is_what_its_own_decoder_finds(counts: list[tuple[int, int]]) -> None:
    theirs = HdrHistogram(1, 1 << 42, 3)
    for value, count in counts:
        theirs.record_value(value, count)
    found = HdrHistogram.decode(encoded(counts, 1 << 42))
    assert found.get_total_count() == sum(count for _, count in counts)
    for value, _ in counts:
        assert found.get_count_at_value(value) == theirs.get_count_at_value(value)
    assert found.significant_figures == 3
    assert found.highest_trackable_value == 1 << 42
