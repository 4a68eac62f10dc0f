"""A run as JUnit results, which every CI reads: a test suite whose tests are the checks of the run.

What failed has the exit status 1 (or its own) and is a failure here; a verdict that says nothing either way is skipped.
Only what Ant's schema and that of Jenkins have in common is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from lbctl import __version__
from lbctl.stats.report import Report
from lbctl.view.checks import FAILED, SKIPPED, Check
from lbctl.view.summary import summary

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CLASSES: Final = {"--threshold": "threshold", "--abort-on": "abort-on", "-r": "load", "--check": "replies"}


def junit(report: Report, checks: Sequence[Check]) -> str:
    """The results of a run as XML; its summary is in the output of the suite."""
    name = f"lbctl hammer {report.service} {report.method}"
    suite = _suite(name, report.started_at, report.elapsed_s, checks)
    properties = SubElement(suite, "properties")
    for key, value in _properties(report):
        SubElement(properties, "property", name=key, value=_allowed(value))
    for check in checks:
        # The whole time is that of the one test that there always is: times of a suite add up.
        _test(suite, check, report.elapsed_s if check.about == "run" else 0.0)
    SubElement(suite, "system-out").text = _allowed(summary(report))
    return _whole(suite)


def junit_error(name: str, kind: str, text: str, at: datetime) -> str:
    """The results of a run that did not come about: one test with the error."""
    suite = _suite(name, at, 0.0, (), errors=1)
    SubElement(suite, "properties")
    test = SubElement(suite, "testcase", classname="lbctl.run", name="end", time="0.000")
    SubElement(test, "error", message=_allowed(text.split("\n", 1)[0]), type=kind).text = _allowed(text)
    SubElement(suite, "system-out")
    return _whole(suite)


def _suite(name: str, at: datetime, seconds: float, checks: Sequence[Check], errors: int = 0) -> Element:
    return Element(
        "testsuite",
        name=_allowed(name),
        package="lbctl",
        id="0",
        hostname="localhost",  # what is to be written where none is told
        tests=str(len(checks) + errors),
        failures=str(sum(check.state == FAILED for check in checks)),
        errors=str(errors),
        skipped=str(sum(check.state == SKIPPED for check in checks)),
        time=f"{seconds:.3f}",
        timestamp=at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
    )


def _test(suite: Element, check: Check, seconds: float) -> None:
    group = _CLASSES.get(check.about, check.about.lstrip("-"))
    name = _allowed(check.name or group)
    test = SubElement(suite, "testcase", classname=f"lbctl.{group}", name=name, time=f"{seconds:.3f}")
    if check.state == FAILED:
        SubElement(test, "failure", message=_allowed(check.text), type=group).text = _allowed(str(check))
    elif check.state == SKIPPED:
        SubElement(test, "skipped", message=_allowed(check.text))


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    yield "lbctl", __version__
    yield "policy", report.policy
    yield "seed", str(report.seed)
    yield "requests", str(report.issued)
    yield "errors", str(report.errors)
    if report.latency.total:
        for name, value in zip(("p50", "p99"), report.latency.quantiles((0.5, 0.99)), strict=True):
            yield f"{name}_ms", f"{value / 1000:.3f}"


def _allowed(text: str) -> str:
    """The text with what XML cannot hold spelled as its code."""
    return _FORBIDDEN.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _whole(suite: Element) -> str:
    SubElement(suite, "system-err")
    # Bare: what attributes it may have the schemas in use do not agree on.
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return "<?xml version='1.0' encoding='UTF-8'?>\n" + tostring(suites, encoding="unicode") + "\n"
