"""JUnit results: read by a reader that is not ours, and no element or attribute that Ant's schema or Jenkins' lacks."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from xml.etree.ElementTree import Element, fromstring

from junitparser import Error, Failure, JUnitXml, Skipped

from lbctl.stats.outcome import Outcome
from lbctl.stats.report import Report
from lbctl.view.checks import checks
from lbctl.view.junit import junit, junit_error
from tests.view.sample import sample

BROKEN = Outcome("backend.p99<50ms", ok=False, value=63.0, unit="ms", limit=50.0, backend="10.0.0.12:50051")
HELD = Outcome("error_rate<1%", ok=True, value=0.25, unit="%", limit=1.0)

# What each element must have, in the common part of both schemas: attributes, and children in order.
_COUNTS: Final = {"tests": r"\d+", "failures": r"\d+", "errors": r"\d+", "skipped": r"\d+", "time": r"\d+\.\d{3}"}
_ATTRIBUTES: Final = {
    "testsuites": {},
    "testsuite": {"name": ".+", "package": "lbctl", "id": "0", "hostname": ".+"}
    | _COUNTS
    | {"timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"},
    "properties": {},
    "property": {"name": ".+", "value": ".*"},
    "testcase": {"name": ".+", "classname": ".+", "time": r"\d+\.\d{3}"},
    "failure": {"message": ".*", "type": ".+"},
    "error": {"message": ".*", "type": ".+"},
    "skipped": {"message": ".*"},
    "system-out": {},
    "system-err": {},
}
_CHILDREN: Final = {
    "testsuites": "testsuite ",
    "testsuite": "properties (testcase )*system-out system-err ",
    "properties": "(property )*",
    "testcase": "(failure |error |skipped )?",
}


def hold(element: Element) -> None:
    """Hold an element and everything in it to the schemas."""
    wanted = _ATTRIBUTES[element.tag]
    assert element.attrib.keys() == wanted.keys()
    for name, pattern in wanted.items():
        assert re.fullmatch(pattern, element.attrib[name], re.DOTALL), (element.tag, name, element.attrib[name])
    children = "".join(f"{child.tag} " for child in element)
    assert re.fullmatch(_CHILDREN.get(element.tag, ""), children), (element.tag, children)
    for child in element:
        hold(child)


def finished(**changes: object) -> Report:
    report = sample(5, end_reason="completed", in_flight=0, thresholds=(BROKEN, HELD))
    return replace(report, **changes)  # type: ignore[arg-type]


def written(report: Report, *, strict: bool = False) -> str:
    text = junit(report, checks(report, strict=strict))
    hold(fromstring(text))
    return text


def test_every_threshold_is_a_test_and_every_verdict() -> None:
    (suite,) = JUnitXml.fromstring(written(finished()).encode())
    assert suite.name == "lbctl hammer echo demo.echo.v1.Echo/Say"
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 1, 0, 0)
    assert suite.timestamp == "2026-01-01T12:00:00"
    assert suite.time == 12.1
    found = {(case.classname, case.name): case.result for case in suite}
    assert list(found) == [
        ("lbctl.run", "end"),
        ("lbctl.threshold", "backend.p99<50ms"),
        ("lbctl.threshold", "error_rate<1%"),
        ("lbctl.balance", "verdict"),
    ]
    (failure,) = found["lbctl.threshold", "backend.p99<50ms"]
    assert isinstance(failure, Failure)
    assert failure.message == "63ms at 10.0.0.12:50051"
    assert failure.text == "--threshold backend.p99<50ms: 63ms at 10.0.0.12:50051"
    assert [result for key, result in found.items() if key[1] != BROKEN.expr] == [[], [], []]


def test_a_verdict_that_fails_nothing_is_skipped_with_its_reason() -> None:
    report = finished(thresholds=())
    skewed = replace(report, balance=replace(report.balance, verdict="skewed", note="10.0.0.12 got 35.4%"))
    (suite,) = JUnitXml.fromstring(written(skewed).encode())
    (result,) = next(case for case in suite if case.classname == "lbctl.balance").result
    assert isinstance(result, Skipped)
    assert result.message == "skewed: 10.0.0.12 got 35.4%"
    assert (suite.failures, suite.skipped) == (0, 1)


def test_the_summary_is_its_output() -> None:
    text = fromstring(written(finished())).findtext("testsuite/system-out")
    assert text is not None
    assert "FAIL backend.p99<50ms  63ms   10.0.0.12:50051" in text


def test_nothing_from_outside_breaks_the_file() -> None:
    report = finished(service='a\x00\x1b[2J<&>"]]>\ufffe\u20ac', thresholds=(replace(BROKEN, backend="\x08<b>"),))
    (suite,) = JUnitXml.fromstring(written(report).encode())
    assert suite.name == 'lbctl hammer a\\x00\\x1b[2J<&>"]]>\\xfffe\u20ac demo.echo.v1.Echo/Say'


def test_a_run_that_never_began_is_one_test_with_the_error() -> None:
    text = junit_error("lbctl hammer echo", "CannotCall", "none answers\nlook", datetime(2026, 1, 1, tzinfo=UTC))
    hold(fromstring(text))
    (suite,) = JUnitXml.fromstring(text.encode())
    (case,) = suite
    (error,) = case.result
    assert isinstance(error, Error)
    assert (suite.tests, suite.errors, suite.failures) == (1, 1, 0)
    assert (error.message, error.type, error.text) == ("none answers", "CannotCall", "none answers\nlook")


def test_strict_and_dropped_calls_are_tests_too() -> None:
    report = finished(dropped=3)
    (suite,) = JUnitXml.fromstring(written(report, strict=True).encode())
    names = [f"{case.classname} {case.name}" for case in suite]
    assert names[-3:] == ["lbctl.load dropped", "lbctl.strict strict", "lbctl.balance verdict"]
