"""What programs of others make of a run: each output is read by a reader that is not ours."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
import yaml
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_of
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

from lbctl.model import Code, Origin
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import ErrorGroup, Report
from lbctl.stats.samples import Sampler, Totals
from lbctl.view.hdr_code import encoded
from lbctl.view.outputs import OUTPUTS, Manner, written
from lbctl.view.prometheus import EDGES_US, registry, snapshot
from tests.view.sample import left_and_joined, open_loop, sample
from tests.view.test_document import EMPTY, row, validate

HERE = Path(__file__).parent
Series = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def times(*us: int) -> Histogram:
    made = Histogram()
    for each in us:
        made.record(each)
    return made


def run() -> Report:
    """Ten calls in two seconds at two backends: 1, 2, 3 ms and 10 ms at one, an error and 5 x 0.5 ms at the other."""
    latency, sampler = times(1000, 2000, 3000), Sampler()
    sampler.take(1.0, Totals(requests=5, ok=3, errors=1, in_flight=1), latency)
    for us in (10_000, *[500] * 5):
        latency.record(us)
    sampler.end(2.0, Totals(requests=10, ok=9, errors=1), latency)
    return replace(
        EMPTY,
        elapsed_s=2.0,
        end_reason="duration",
        issued=10,
        completed=10,
        ok=9,
        errors=1,
        attempts=10,
        codes={Code.OK: 9, Code.UNAVAILABLE: 1},
        error_groups=(ErrorGroup(Code.UNAVAILABLE, Origin.SERVER, "too busy", 1, {"127.0.0.1:50062": 1}),),
        latency=latency,
        backends=(
            row(50061, 5, 4, 5.0, times(1000, 2000, 3000, 10_000)),
            row(50062, 1, 6, 5.0, times(*[500] * 5), errors=1),
        ),
        samples=sampler.samples,
    )


def text(output: str, report: Report | None = None, manner: Manner | None = None) -> str:
    return written(report or run(), output, manner or Manner())


REPORTS = [run(), EMPTY, sample(5), sample(0), left_and_joined(), open_loop()]


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_can_be_made_of_every_run_and_ends_without_an_empty_line(output: str) -> None:
    for report in REPORTS:
        found = text(output, report)
        assert found
        assert not found.endswith("\n")


def test_json_and_yaml_say_the_same_and_spell_long_parts_in_few_lines() -> None:
    document = validate(json.loads(text("json")), "run")
    assert yaml.safe_load(text("yaml")) == document
    lines = text("json").split("\n")
    assert sum(line.startswith('    {"t_s"') for line in lines) == 2
    assert sum(line.startswith('    "backends": {"/services/echo/') for line in lines) == 1
    assert document["histograms"]["latency"]["count"] == 9
    assert [each["ok"] for each in document["samples"]] == [3, 6]


# csv


def test_csv_has_a_row_for_each_backend() -> None:
    first, second = csv.DictReader(io.StringIO(text("csv")))
    assert (first["address"], first["weight"], first["picks"], first["ok"], first["errors"]) == (
        "127.0.0.1:50061",
        "5",
        "4",
        "4",
        "0",
    )
    assert (first["share"], first["expected_share"], first["rps"]) == ("0.4", "0.5", "2.0")
    assert (first["min_ms"], first["p50_ms"], first["max_ms"], first["left_s"]) == ("1.0", "2.0035", "10.0", "")
    assert (second["errors"], second["p99_ms"]) == ("1", "0.5")


def test_csv_of_samples_has_a_row_for_each_and_both_leave_the_header_out_on_request() -> None:
    rows = list(csv.DictReader(io.StringIO(text("csv-samples"))))
    assert [(each["t_s"], each["requests"], each["ok"], each["in_flight"]) for each in rows] == [
        ("1.0", "5", "3", "1"),
        ("2.0", "5", "6", "0"),
    ]
    for output in ("csv", "csv-samples"):
        bare = text(output, manner=Manner(headers=False))
        assert bare == text(output).split("\n", 1)[1]


def test_csv_of_a_backend_that_answered_nothing_has_empty_times_not_zeros() -> None:
    silent = replace(run(), backends=(row(50061, 1, 2, 2.0, Histogram(), errors=2),))
    (only,) = csv.DictReader(io.StringIO(text("csv", silent)))
    assert (only["ok"], only["p50_ms"], only["max_ms"]) == ("0", "", "")


# jsonl


def test_jsonl_of_a_run_that_is_over_has_its_samples_and_events_in_order_and_the_run_last() -> None:
    report = replace(sample(3, end_reason="completed", in_flight=0), samples=run().samples)
    lines = [json.loads(line) for line in text("jsonl", report).split("\n")]
    assert [line["schema"] for line in lines[-2:]] == ["lbctl.event/v1", "lbctl.run/v1"]
    assert [line["t_s"] for line in lines[:-1]] == sorted(line["t_s"] for line in lines[:-1])
    for line in lines:
        validate(line, line["schema"].removeprefix("lbctl.").removesuffix("/v1"))
    assert sum(line["schema"] == "lbctl.sample/v1" for line in lines) == 2
    assert sum(line["schema"] == "lbctl.event/v1" for line in lines) == len(report.events)


# HdrHistogram


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


# Prometheus


def series(found: str, read: Any = read_prometheus) -> Series:  # noqa: ANN401 - one of two parsers
    """Every series with its value; the same one twice is an error."""
    values: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in read(found):
        assert family.documentation
        for each in family.samples:
            key = each.name, frozenset(each.labels.items())
            assert key not in values, key
            values[key] = each.value
    return values


def of(found: Series, name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


METHOD = "demo.echo.v1.Echo/Say"
A, B = "127.0.0.1:50061", "127.0.0.1:50062"


def test_prometheus_counts_and_times_calls_by_server_under_the_names_of_a_balancer() -> None:
    found = series(text("prometheus") + "\n")
    requests, times_ = "grpc_load_balancer_requests_total", "grpc_load_balancer_request_duration_seconds"
    assert of(found, requests, server=A, method=METHOD, status="success", code="OK") == 4
    assert of(found, requests, server=B, method=METHOD, status="success", code="OK") == 5
    assert of(found, requests, server=B, method=METHOD, status="error", code="UNAVAILABLE") == 1
    assert of(found, f"{times_}_count", server=A, method=METHOD) == 4
    assert of(found, f"{times_}_sum", server=A, method=METHOD) == pytest.approx(0.016)
    buckets = [
        of(found, f"{times_}_bucket", server=A, method=METHOD, le=le)
        for le in ("0.0005", "0.001", "0.0025", "0.005", "0.01", "+Inf")
    ]
    assert buckets == [0, 1, 2, 3, 4, 4]
    assert of(found, "grpc_load_balancer_server_weight", server=A) == 5
    assert of(found, "grpc_load_balancer_server_health", server=A) == 1
    assert of(found, "grpc_load_balancer_picks_total", server=B) == 6
    assert of(found, "grpc_load_balancer_server_expected_share", server=B) == 0.5


@pytest.mark.parametrize("report", REPORTS)
def test_both_of_prometheus_own_formats_are_read_back_with_rising_buckets_and_sums_that_add_up(report: Report) -> None:
    plain = series(text("prometheus", report) + "\n")
    modern = series(_openmetrics(report), read_openmetrics)
    assert {key: value for key, value in plain.items() if not key[0].endswith("_info")} == {
        key: value for key, value in modern.items() if not key[0].endswith("_info")
    }
    ended = sum(value for (name, _), value in plain.items() if name == "grpc_load_balancer_requests_total")
    assert ended == report.completed + report.cancelled - (report.completed - report.ok - report.errors)
    for server in {each.address for each in report.backends}:
        edges = [
            (float(dict(labels)["le"]), value)
            for (name, labels), value in plain.items()
            if name.endswith("_bucket") and dict(labels)["server"] == server
        ]
        assert [edge for edge, _ in edges] == [*(us / 1e6 for us in EDGES_US), inf]
        assert [value for _, value in edges] == sorted(value for _, value in edges)


def _openmetrics(report: Report) -> str:
    found = snapshot(report)
    spell: Any = openmetrics_of
    return str(spell(registry(lambda: found)).decode())


def test_buckets_are_cumulative_and_sums_are_those_of_latencies() -> None:
    hits = times(50, *[200] * 2, *[400] * 3)
    found = series(text("prometheus", replace(run(), backends=(row(50061, 1, 6, 6.0, hits),))) + "\n")
    name = "grpc_load_balancer_request_duration_seconds"
    values = [
        of(found, f"{name}_bucket", server=A, method=METHOD, le=le) for le in ("0.0001", "0.00025", "0.0005", "+Inf")
    ]
    assert values == [1, 3, 6, 6]
    assert of(found, f"{name}_sum", server=A, method=METHOD) == pytest.approx(0.00165)


def test_an_address_that_two_keys_had_is_one_series_and_one_that_left_has_no_weight() -> None:
    before = replace(row(50061, 5, 2, 2.0, times(1000, 1000)), key="/old", state="left", left_s=1.0)
    after = row(50061, 3, 1, 1.0, times(1000))
    gone = replace(row(50062, 1, 1, 1.0, times(1000)), state="left", left_s=1.0)
    found = series(text("prometheus", replace(run(), backends=(before, after, gone))) + "\n")
    assert of(found, "grpc_load_balancer_requests_total", server=A, method=METHOD, status="success", code="OK") == 3
    assert of(found, "grpc_load_balancer_server_weight", server=A) == 3
    assert ("grpc_load_balancer_server_weight", frozenset({("server", B)})) not in found
    assert of(found, "grpc_load_balancer_picks_total", server=B) == 1


def test_calls_that_reached_no_backend_are_counted_under_no_server() -> None:
    lost = replace(run(), completed=12, errors=3, codes={Code.OK: 9, Code.UNAVAILABLE: 3}, cancelled=2)
    found = series(text("prometheus", lost) + "\n")
    requests = "grpc_load_balancer_requests_total"
    assert of(found, requests, server="", method=METHOD, status="error", code="UNAVAILABLE") == 2
    assert of(found, requests, server="", method=METHOD, status="cancelled", code="CANCELLED") == 2


def test_a_reply_that_a_check_refused_is_an_error_with_the_code_ok() -> None:
    refused = replace(row(50061, 1, 3, 3.0, times(1000, 1000)), ok=2, errors=1, codes={Code.OK: 3})
    found = series(text("prometheus", replace(run(), ok=2, errors=1, codes={Code.OK: 3}, backends=(refused,))) + "\n")
    requests = "grpc_load_balancer_requests_total"
    assert of(found, requests, server=A, method=METHOD, status="success", code="OK") == 2
    assert of(found, requests, server=A, method=METHOD, status="error", code="OK") == 1


def test_labels_are_escaped() -> None:
    odd = 'a"b\\c\nd'
    found = series(text("prometheus", replace(run(), policy=odd)) + "\n")
    assert any(("policy", odd) in labels for name, labels in found if name == "lbctl_run_info")


# ghz


def shape(value: object) -> object:
    """The types of a document: keys and the shape of what is under them, lists by their first element."""
    if isinstance(value, dict):
        return {key: shape(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def test_the_document_of_ghz_has_the_keys_and_types_that_ghz_writes() -> None:
    theirs = json.loads((HERE / "ghz.json").read_text(encoding="utf-8"))
    report = replace(run(), load=replace(run().load, requests=None, duration_s=2.0, rps=5.0))
    ours = json.loads(text("ghz-json", report))
    assert list(ours) != []
    assert set(ours) == set(theirs)
    assert set(ours["options"]) <= set(theirs["options"])
    named = ("errorDistribution", "statusCodeDistribution", "tags")  # their keys are what was measured
    for key in set(theirs) - {*named, "options", "details"}:
        assert shape(ours[key]) == shape(theirs[key]), key
    for key in ours["options"]:
        assert shape(ours["options"][key]) == shape(theirs["options"][key]), key
    for key in named:
        assert {type(value) for value in ours[key].values()} == {type(value) for value in theirs[key].values()}
    for key in ("count", "total", "average", "fastest", "slowest"):
        assert isinstance(ours[key], int)


def test_the_figures_of_the_ghz_document_are_those_of_the_run() -> None:
    found = json.loads(text("ghz-json"))
    assert (found["count"], found["total"], found["rps"], found["endReason"]) == (10, 2_000_000_000, 5.0, "timeout")
    assert (found["fastest"], found["slowest"], found["average"]) == (500_000, 10_000_000, 2_055_556)
    assert found["statusCodeDistribution"] == {"OK": 9, "Unavailable": 1}
    assert found["errorDistribution"] == {"rpc error: code = Unavailable desc = too busy": 1}
    assert found["latencyDistribution"][-1] == {"percentage": 99, "latency": 10_000_000}
    marks = [(each["mark"], each["count"]) for each in found["histogram"]]
    assert marks[0] == (0.0005, 5)
    assert marks[1:4] == [(pytest.approx(0.00145), 1), (pytest.approx(0.0024), 1), (pytest.approx(0.00335), 1)]
    assert marks[-1] == (0.01, 1)
    assert sum(count for _, count in marks) == 9
    assert found["details"] == []


@pytest.mark.parametrize(
    ("reason", "theirs"),
    [("completed", "normal"), ("duration", "timeout"), ("interrupted", "cancel"), ("error", "cancel")],
)
def test_the_end_of_a_run_has_the_word_that_ghz_has_for_it(reason: str, theirs: str) -> None:
    assert json.loads(text("ghz-json", replace(run(), end_reason=reason)))["endReason"] == theirs


def test_status_codes_are_spelled_as_go_does() -> None:
    from lbctl.view.ghz import status

    assert [status(code) for code in (Code.OK, Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNKNOWN)] == [
        "OK",
        "Canceled",
        "DeadlineExceeded",
        "Unknown",
    ]
