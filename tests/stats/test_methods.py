"""Methods of a mix: thresholds about one of them, its row in the document and the summary, and the way back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lbctl.model import Code
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import MethodRow, Report
from lbctl.stats.saved import report_from
from lbctl.stats.thresholds import parse_threshold
from lbctl.view.html.page import run_page
from lbctl.view.outcomes import outcome_document, sentence
from lbctl.view.output import as_json_line
from lbctl.view.run_document import run_document
from lbctl.view.summary import summary
from tests.view.sample import sample


def method(name: str, *milliseconds: int, errors: int = 0) -> MethodRow:
    latency = Histogram()
    for each in milliseconds:
        latency.record(each * 1000)
    codes = {Code.OK: len(milliseconds), Code.NOT_FOUND: errors}
    return MethodRow(name, 2.0, len(milliseconds), errors, 1, codes, latency)


MIXED = replace(
    sample(2, end_reason="completed"),
    methods=(method("shop.Cart/Get", 5, 5, 5), method("shop.Cart/Add", 50, errors=1), method("third")),
    elapsed_s=2.0,
)


@pytest.mark.parametrize(
    ("expr", "ok", "value", "reason"),
    [
        ("method[shop.Cart/Get].p99<6ms", True, 5.0, ""),
        ("method[Cart/Add].max<40ms", False, 50.0, ""),
        ("method[Add].error_rate<=50%", True, 50.0, ""),
        ("method[Add].errors==1", True, 1.0, ""),
        ("method[Add].code.NOT_FOUND<1", False, 1.0, ""),
        ("method[Get].requests>=4", True, 4.0, ""),
        ("method[Get].rps>1", True, 1.5, ""),
        ("method[third].p50<1s", False, None, "no call ended OK"),
        ("method[shop.Cart/Gte].p50<1s", False, None, "the run had no such method; did you mean shop.Cart/Get?"),
    ],
)
def test_a_threshold_is_about_one_method(expr: str, ok: bool, value: float | None, reason: str) -> None:
    found = parse_threshold(expr).judge(MIXED)
    assert (found.ok, found.reason) == (ok, reason)
    assert found.value == (value if value is None else pytest.approx(value, rel=0.01))


def test_of_a_run_of_one_method_none_can_be_asked() -> None:
    found = parse_threshold("method[Get].p99<6ms").judge(sample(2, end_reason="completed"))
    assert (found.ok, found.reason) == (False, "the run had no such method, it is no mix")


@pytest.mark.parametrize(
    ("expr", "ok", "where"),
    [
        ("method.max<7ms", False, "third"),  # which has no value at all
        ("method.ok>=1", False, "third"),
        ("method.errors<4", True, "shop.Cart/Add"),
    ],
)
def test_a_threshold_is_about_every_method_and_names_the_worst(expr: str, ok: bool, where: str) -> None:
    found = parse_threshold(expr).judge(MIXED)
    assert (found.ok, found.method, found.backend) == (ok, where, None)
    assert sentence(found).endswith(f" at {where}")
    assert outcome_document(found)["method"] == where
    (saved,) = report_from(json.loads(as_json_line(run_document(replace(MIXED, thresholds=(found,)))))).thresholds
    assert saved == found


def test_a_condition_is_true_as_soon_as_it_is_for_one_method() -> None:
    found = parse_threshold("method.errors>=1").reached(MIXED)
    assert found is not None
    assert (found.method, found.value) == ("shop.Cart/Add", 1)
    none = parse_threshold("method.p50<1s").judge(sample(2, end_reason="completed"))
    assert (none.ok, none.reason) == (False, "the run was no mix of methods")


@pytest.mark.parametrize(
    ("expr", "mistake"),
    [
        ("method.share<1%", "unknown metric of methods 'share'"),
        ("method[Get].p999<1ms", "a percentile is above 0 and below 100"),
        ("method[Get].share<1%", "unknown metric of methods 'share'"),
        ("method[Get]<1ms", "is not method"),
    ],
)
def test_what_methods_do_not_have_is_refused(expr: str, mistake: str) -> None:
    with pytest.raises(ValueError, match=mistake):
        parse_threshold(expr)


def test_methods_come_back_from_a_saved_run() -> None:
    document: dict[str, Any] = run_document(MIXED)
    assert [(row["method"], row["requests"], row["ok"], row["rps"]) for row in document["methods"]] == [
        ("shop.Cart/Get", 4, 3, 1.5),
        ("shop.Cart/Add", 3, 1, 1.0),
        ("third", 1, 0, 0.0),
    ]
    assert document["methods"][2]["latency_ms"] is None
    found: Report = report_from(document)
    assert run_document(found)["methods"] == document["methods"]
    assert report_from({key: value for key, value in document.items() if key != "methods"}).methods == ()


def test_the_page_has_a_table_of_them() -> None:
    html = str(run_page(MIXED))
    assert "<h2>Methods</h2>" in html
    assert html.count('<span class="mono">shop.Cart/Get</span>') == 1
    assert "<h2>Methods</h2>" not in str(run_page(sample(2, end_reason="completed")))


def test_the_summary_has_a_line_for_each() -> None:
    text = summary(MIXED)
    lines = text[text.index("Methods\n") :].splitlines()[1:5]
    assert lines[0].split() == ["METHOD", "PART", "SENT", "ERR", "P50", "P99", "MAX"]
    assert lines[1].split()[0] == "shop.Cart/Get"
    assert lines[1].split()[-3:] == ["5.0ms", "5.0ms", "5.0ms"]
    assert lines[3].split()[-3:] == ["-", "-", "-"]
    assert all(len(line) <= 80 for line in lines)
