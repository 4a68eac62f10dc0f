from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.model import Code, Origin
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import ErrorGroup, Repeated, Report, Streams
from lbctl.stats.windows import Held, Reading, Windows, _step
from tests.view.sample import sample


def fed(windows: Windows, *reports: Report) -> None:
    for report in reports:
        windows.hold(report)
        list(windows.complete())


def at(seconds: float, **changes: object) -> Report:
    return replace(sample(1), elapsed_s=seconds, **changes)  # type: ignore[arg-type]


def between(start: Reading, report: Report) -> Report:
    return start.since(report, [row for some in start.rows(report) for row in some])


@pytest.mark.parametrize(("backends", "off_s", "readings"), [(1, 0.25, 12), (50, 0.25, 12), (51, 0.5, 7)])
def test_a_window_starts_where_so_much_time_has_passed_since(backends: int, off_s: float, readings: int) -> None:
    windows = Windows(5.0)
    report = sample(backends)
    fed(windows, *(replace(report, elapsed_s=tenth / 10) for tenth in range(123)))
    for now_s in (12.2, 12.4):
        start = windows.start(now_s)
        assert start is not None
        assert now_s - start.at_s == pytest.approx(5.0, abs=off_s)
    assert len(windows._readings) == readings


@pytest.mark.parametrize(("span_s", "step_s"), [(1.0, 0.2), (2.0, 0.4), (5.0, 1.0), (60.0, 6.0)])
def test_of_many_backends_a_reading_is_made_once_a_second_at_most_where_the_window_allows(
    span_s: float, step_s: float
) -> None:
    assert _step(span_s, 100) == pytest.approx(step_s)


def test_a_window_that_fills_starts_with_the_run() -> None:
    windows = Windows(5.0)
    fed(windows, at(0.1), at(4.0))
    assert windows.start(4.9) is None


def test_readings_stay_few_however_long_a_run_is() -> None:
    windows = Windows(1.0)
    fed(windows, *(at(tenth / 10) for tenth in range(1000)))
    assert len(windows._readings) <= 8


def test_after_a_gap_the_window_is_as_long_as_the_gap() -> None:
    windows = Windows(5.0)
    fed(windows, at(1.0), at(2.0))
    start = windows.start(60.0)
    assert start is not None
    assert start.at_s == 2.0


def test_where_counting_begins_anew_so_do_readings() -> None:
    windows = Windows(1.0)
    fed(windows, at(1.0), at(7.0), at(0.2))
    fed(windows, at(1.5), at(2.0))
    start = windows.start(2.2)
    assert start is not None
    assert start.at_s == 1.5


def test_a_reading_takes_the_run_at_once_and_its_backends_a_few_at_a_time() -> None:
    windows, report = Windows(5.0), sample(20)
    windows.hold(report)
    report.latency.record(50, 3)
    for row in report.backends:
        row.latency.record(50, 3)
    assert len(list(windows.complete())) == 3
    times = windows._readings[0].times
    assert times[report.latency].total == report.latency.total - 3
    assert all(times[row.latency].total == row.latency.total for row in report.backends)


def test_times_that_stayed_the_same_are_kept_once() -> None:
    windows, report = Windows(5.0), sample(2)
    quiet, busy = (row.latency for row in report.backends)
    fed(windows, replace(report, elapsed_s=1.0))
    busy.record(50)
    fed(windows, replace(report, elapsed_s=2.0))
    first, second = (reading.times for reading in windows._readings)
    assert first[quiet] is second[quiet]
    assert second[busy].total == first[busy].total + 1


def test_what_buckets_have_counted_since() -> None:
    histogram = Histogram()
    histogram.record(3, 2)
    held = Held(histogram.counts[:4], 2)
    histogram.record(3)
    histogram.record(5, 4)
    assert held.since(histogram.counts, 2, 7) == [0, 1, 0, 4, 0]


def test_all_counts_are_those_in_between() -> None:
    then = sample(5)
    row, *others = then.backends
    now = replace(
        then,
        issued=then.issued + 10,
        completed=then.completed + 9,
        ok=then.ok + 7,
        errors=then.errors + 1,
        cancelled=then.cancelled + 1,
        dropped=4,
        attempts=then.attempts + 12,
        retries=2,
        backends=(
            replace(row, picks=row.picks + 12, expected=row.expected + 11.5, ok=row.ok + 7, errors=row.errors + 1),
            *others,
        ),
    )
    found = between(Reading(then), now)
    counted = (found.issued, found.completed, found.ok, found.errors, found.cancelled, found.dropped)
    assert counted == (10, 9, 7, 1, 1, 4)
    assert (found.attempts, found.retries) == (12, 2)
    first, second = found.backends[:2]
    assert (first.picks, first.ok, first.errors) == (12, 7, 1)
    assert first.expected == pytest.approx(11.5)
    assert (second.picks, second.expected, second.ok, second.errors) == (0, 0, 0, 0)
    assert found.balance is now.balance


def test_a_backend_that_came_in_between_has_counted_nothing_before() -> None:
    then, now = sample(1), sample(3)
    first, second = between(Reading(then), now).backends[1:]
    assert (first.picks, second.picks) == (now.backends[1].picks, now.backends[2].picks)


def test_no_more_was_given_back_than_was_picked() -> None:
    then = sample(1)
    row = then.backends[0]
    now = replace(then, backends=(replace(row, picks=row.picks + 1, given_back=3),))
    assert between(Reading(then), now).backends[0].attempts == 0


def test_errors_are_in_groups_of_what_failed_in_between() -> None:
    def group(code: Code, **backends: int) -> ErrorGroup:
        return ErrorGroup(code, Origin.SERVER, "m", sum(backends.values()), backends)

    then = sample(1, error_groups=(group(Code.INTERNAL, a=90), group(Code.ABORTED, a=5, b=2)))
    groups = (group(Code.INTERNAL, a=90), group(Code.ABORTED, a=6, b=5), group(Code.UNKNOWN, b=9))
    found = between(Reading(then), replace(then, error_groups=groups)).error_groups
    assert found == (group(Code.UNKNOWN, b=9), group(Code.ABORTED, b=3, a=1))


def test_further_attempts_are_those_in_between() -> None:
    then = sample(1, repeated=Repeated("hedging", 3, sent=5, throttled=1))
    now = replace(then, repeated=Repeated("hedging", 3, sent=8, throttled=1))
    found = between(Reading(then), now).repeated
    assert found is not None
    assert (found.sent, found.throttled) == (3, 0)


def test_messages_are_those_of_the_moment() -> None:
    gaps = Histogram()
    reading = Reading(sample(1, streams=Streams(4, 5, None, None, gaps)))
    gaps.record(100, 50)
    assert reading.messages == (4, 5)
