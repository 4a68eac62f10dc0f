"""Prometheus' two formats, as the parsers of its own library read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_of
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

from lbctl.model import Code
from lbctl.stats.report import Report
from lbctl.view.prometheus import EDGES_US, registry, snapshot
from tests.view.sample_outputs import METHOD, REPORTS, A, B, run, text, times
from tests.view.test_document import row

Series = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


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
