"""How sure figures are: intervals by hand in the document, and in the summary where they are wide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lbctl.stats.histogram import Histogram
from lbctl.stats.report import Report
from lbctl.view.confidence import sure_lines
from lbctl.view.run_document import run_document
from lbctl.view.summary import summary
from tests.view.sample import sample


def of(*, calls: int, errors: int = 0, spread: int = 1) -> Report:
    """A run of as many OK calls, of 1ms, 2ms, ... one after the other where ``spread`` is larger."""
    times = Histogram()
    for number in range(calls):
        times.record(1000 * (1 + number * spread // calls))
    report = sample(3, ok=calls, errors=errors, latency=times, samples=(), elapsed_s=2.0)
    rows = [
        replace(row, ok=calls, errors=errors, latency=times, picks=100 * (place + 1))
        for place, row in enumerate(report.backends)
    ]
    balance = replace(report.balance, expectation="multinomial")
    return replace(report, backends=tuple(rows), balance=balance)


def test_the_document_has_an_interval_beside_every_figure() -> None:
    document: Any = run_document(of(calls=96, errors=4, spread=96))
    found = document["confidence"]
    assert found["level"] == 0.95
    assert found["latency_ms"]["p50"] == pytest.approx([38.0, 59.0], rel=0.01)  # the 38th and 59th of 96
    assert found["latency_ms"]["p99"][1] is None  # the slowest call is no bound
    assert found["error_rate"] == pytest.approx([0.0157, 0.0984], abs=1e-4)  # Wilson's, of 4 in 100
    assert found["rps"] == pytest.approx([50 - 1.96 * 5, 50 + 1.96 * 5], abs=0.1)  # a count of 100 in 2 s
    first = document["backends"][0]["confidence"]
    assert first["share"] == pytest.approx([0.1390, 0.1986], abs=1e-4)  # 100 of 600
    assert first["error_rate"] == found["error_rate"]


def test_shares_that_are_not_drawn_have_none_and_nothing_measured_has_none() -> None:
    report = of(calls=100)
    turns = replace(report, balance=replace(report.balance, expectation="counts"), latency=Histogram(), ok=0, errors=0)
    document: Any = run_document(turns)
    assert document["backends"][0]["confidence"]["share"] is None
    assert document["confidence"]["latency_ms"] is None
    assert document["confidence"]["error_rate"] is None


def test_the_summary_says_it_where_it_is_much() -> None:
    few = of(calls=96, errors=4, spread=96)
    (line,) = sure_lines(few, 200)
    assert line.startswith("  95% sure  p50 38ms-59ms, p99 over 93ms")
    assert line.endswith("errors 1.57%-9.84%; of 100 calls")
    assert all(len(each) <= 80 for each in summary(few).splitlines())
    assert "  95% sure  p50" in summary(few)


def test_a_run_whose_figures_are_sure_does_not_say_it() -> None:
    assert sure_lines(of(calls=50_000), 80) == []
    assert sure_lines(of(calls=20_000, errors=20_000, spread=5), 80) == []
