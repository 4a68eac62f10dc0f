"""What the summary, the live view and the document say of further attempts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lbctl.model import Code
from lbctl.stats.report import Repeated, Report
from lbctl.view.run_document import run_document
from lbctl.view.summary import summary
from lbctl.view.text import cell_len
from tests.view.sample import sample

CODES = {Code.UNAVAILABLE: 40, Code.RESOURCE_EXHAUSTED: 3}


def retried(**changes: object) -> Report:
    """A report of 10,000 calls, 43 of them sent again."""
    found = Repeated(policy="retry", max_attempts=3, sent=43, codes=CODES, **changes)  # type: ignore[arg-type]
    report = sample(3, issued=10_000, completed=10_000, in_flight=0, attempts=10_050, retries=50)
    return replace(report, retried={"refused": 7, "policy": 43}, repeated=found)


def lines(report: Report, label: str) -> list[str]:
    """The lines of the summary from that label on, up to the policy."""
    found = summary(report).splitlines()
    first = next(number for number, line in enumerate(found) if line.startswith(f"  {label}"))
    return found[first : next(number for number, line in enumerate(found) if line.startswith("  policy"))]


def test_retries_are_told_with_why_and_with_the_load_they_make() -> None:
    assert lines(retried(), "retries") == [
        "  retries          43 after UNAVAILABLE 40, RESOURCE_EXHAUSTED 3",
        "            x1.005 attempts per call, 3 at most",
    ]
    assert "retries 7 (10,050 attempts)" in summary(retried())  # those of calls that were not processed


def test_attempts_that_are_not_what_the_failures_would_make_are_told() -> None:
    report = retried(exhausted=1000, throttled=4000)
    part = (43 + 1000 + 4000) / 10_050
    assert report.modelled_amplification == pytest.approx(1 + part + part**2)
    assert "    x1.75 expected of so many failures" in "\n".join(lines(report, "retries"))
    assert run_document(report)["modelled_amplification"] == pytest.approx(1.754, abs=1e-3)


def test_there_is_nothing_to_expect_without_retries() -> None:
    hedged = replace(retried(), repeated=Repeated("hedging", 2, sent=200))
    for report in (hedged, replace(hedged, repeated=None), replace(retried(), attempts=0)):
        assert report.modelled_amplification is None
        assert run_document(report)["modelled_amplification"] is None


def test_what_forbade_more_is_told_and_nothing_that_did_not() -> None:
    text = "\n".join(lines(retried(throttled=5, refused=2, exhausted=9, tokens=7.25), "retries"))
    for words in ("throttled 5", "refused by pushback 2", "all attempts failed 9", "tokens 7.25"):
        assert words in text
    plain = "\n".join(lines(retried(), "retries"))
    assert not any(word in plain for word in ("throttled", "refused", "failed", "tokens", "cancelled"))


def test_hedges_are_not_called_retries() -> None:
    report = sample(3, issued=1000, attempts=1200, retries=0)
    report = replace(report, repeated=Repeated("hedging", 2, sent=200, cancelled=190))
    assert lines(report, "hedges") == ["  hedges          200    x1.20 attempts per call, 2 at most    cancelled 190"]


def test_the_backend_that_made_them_needed_is_named() -> None:
    report = retried()
    rows = tuple(replace(row, passed=passed) for row, passed in zip(report.backends, (0, 40, 3), strict=True))
    text = summary(replace(report, backends=rows))
    assert f"93% of the failed attempts at {rows[1].address}" in text
    backends: Any = run_document(replace(report, backends=rows))["backends"]
    assert [row["passed"] for row in backends] == [0, 40, 3]


def test_no_line_is_wider_than_80_cells() -> None:
    codes = dict.fromkeys(Code, 123_456_789)
    found = Repeated("retry", 5, 10**9, 10**9, 10**9, 10**9, 10**9, 10**9, codes, 123.456)
    report = replace(retried(), repeated=found)
    rows = tuple(replace(row, passed=1) for row in report.backends)
    text = "\n".join(lines(replace(report, backends=rows), "retries"))
    assert "and 14 more" in text
    assert max(cell_len(line) for line in text.splitlines()[1:]) <= 80


def test_the_document_has_the_whole_and_null_without_a_policy() -> None:
    document = run_document(retried(throttled=5, tokens=7.25))
    assert document["repeated"] == {
        "policy": "retry",
        "max_attempts": 3,
        "sent": 43,
        "cancelled": 0,
        "throttled": 5,
        "refused": 0,
        "exhausted": 0,
        "waiting": 0,
        "codes": {"UNAVAILABLE": 40, "RESOURCE_EXHAUSTED": 3},
        "tokens": 7.25,
    }
    assert (document["retries"], document["amplification"]) == (50, 1.005)
    assert run_document(sample(3))["repeated"] is None
    assert run_document(sample(3, issued=0))["amplification"] is None
