"""What is exported is held to Prometheus' own judge, where it is on PATH: names, units, help texts, histograms."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

from lbctl.model import Code
from lbctl.stats.report import Report
from lbctl.stats.searched import RateSearch
from lbctl.view.prometheus import exposition
from tests.stats.test_methods import method
from tests.view.sample import open_loop, sample, streaming
from tests.view.test_document import EMPTY

MIX: Final = (method("pkg.Svc/Get", 1, 2, 8, errors=2), method("pkg.Svc/Put", 5))
SEARCH: Final = RateSearch(("p99<20ms",), 5.0, 0.05, "found", 1250.0, 1300.0, ())
REPORTS: Final = {
    "errors": sample(3),
    "streams": streaming(),
    "open": open_loop(),
    "mix": replace(sample(3), methods=MIX),
    "search": replace(open_loop(), search=SEARCH),
    "nothing": EMPTY,
}


def values(report: Report) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    families = read_prometheus(exposition(report))
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


def test_methods_of_a_mix_have_metrics_of_their_own() -> None:
    found = values(REPORTS["mix"])
    name, times = "lbctl_method_requests_total", "lbctl_method_request_duration_seconds"
    get, put = MIX
    assert found[name, "OK", get.method, "success"] == 3
    assert found[name, Code.NOT_FOUND.name, get.method, "error"] == 2
    assert found[name, "CANCELLED", put.method, "cancelled"] == 1
    assert found[f"{times}_count", get.method] == 3
    assert found[f"{times}_sum", get.method] == pytest.approx(0.011)
    assert [found[f"{times}_bucket", le, get.method] for le in ("0.0005", "0.0025", "0.01", "+Inf")] == [0, 2, 3, 3]


def test_messages_of_streams_and_what_a_search_found_are_exported() -> None:
    report = REPORTS["streams"]
    assert report.streams is not None
    found = values(report)
    assert found["lbctl_messages_sent_total",] == report.streams.sent
    assert found["lbctl_messages_received_total",] == report.streams.received
    assert values(REPORTS["search"])["lbctl_find_max_requests_per_second",] == 1250
    failed = replace(open_loop(), search=replace(SEARCH, ended="failed", low=None))
    assert not any("find_max" in name or "messages" in name for name, *_ in values(failed))


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("kind", REPORTS)
def test_promtool_finds_nothing_to_say(kind: str) -> None:
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=exposition(REPORTS[kind]),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
