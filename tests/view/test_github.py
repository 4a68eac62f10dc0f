"""GitHub Actions: commands that nothing from outside can end or begin, and a page where nothing is markup."""

from __future__ import annotations

from dataclasses import replace

from lbctl.stats.outcome import Outcome
from lbctl.stats.report import Report
from lbctl.view.checks import checks
from lbctl.view.github import command, step_summary, workflow_commands
from tests.view.sample import sample

BROKEN = Outcome("p99<50ms", ok=False, value=63.0, unit="ms", limit=50.0)
HELD = Outcome("error_rate<1%", ok=True, value=0.25, unit="%", limit=1.0)


def finished(**changes: object) -> Report:
    report = sample(2, end_reason="completed", in_flight=0, thresholds=(BROKEN, HELD))
    return replace(report, **changes)  # type: ignore[arg-type]


def said(report: Report) -> list[str]:
    return list(workflow_commands(report, checks(report)))


def test_a_broken_threshold_is_an_error_and_the_rest_a_notice() -> None:
    error, notice = said(finished())
    assert error == "::error title=lbctl hammer echo%3A p99<50ms::63ms (demo.echo.v1.Echo/Say, smooth_wrr)"
    assert notice.startswith("::notice title=lbctl hammer echo::3 of 4 checks passed; ")
    assert "%25, p99 " in notice


def test_a_skew_and_doubts_about_the_generator_are_warnings() -> None:
    report = finished(thresholds=())
    skewed = replace(report.balance, verdict="skewed", note="10.0.0.12 got 35.4%, expected 25%")
    generator = replace(report.generator, warnings=("the generator was 97% busy",))
    warnings = said(replace(report, balance=skewed, generator=generator))[:-1]
    assert warnings == [
        "::warning title=lbctl hammer echo%3A balance::skewed: 10.0.0.12 got 35.4%25, expected 25%25",
        "::warning title=lbctl hammer echo%3A load generator::the generator was 97%25 busy",
    ]


def test_a_command_is_one_line_whatever_is_in_it() -> None:
    assert command("error", "a:b,c%", "100%\r\n::error::x\x1b[2J") == (
        "::error title=a%3Ab%2Cc%25::100%25%0A::error::x\\x1b[2J"
    )


def test_the_page_has_the_verdict_each_check_and_each_backend() -> None:
    report = finished()
    page = step_summary(report, checks(report))
    assert page.startswith("### lbctl hammer echo demo.echo.v1.Echo/Say: FAILED\n")
    assert "| **FAIL** | --threshold p99\\<50ms | 63ms |\n" in page
    assert "| ok | --threshold error\\_rate\\<1% | 0.25% |\n" in page
    assert "| 10.0.0.11:50051 | 3 | 60.0 | " in page
    assert page.endswith("\n\n")
    assert step_summary(replace(report, thresholds=()), checks(replace(report, thresholds=()))).startswith(
        "### lbctl hammer echo demo.echo.v1.Echo/Say: passed\n"
    )


def test_nothing_from_outside_is_markup() -> None:
    page = step_summary(finished(service="a|b <img src=x> `c` [d](e) *f*\n# g"), [])
    assert page.split("\n")[0] == (
        "### lbctl hammer a\\|b \\<img src=x\\> \\`c\\` \\[d\\](e) \\*f\\*\\\\x0a\\# g demo.echo.v1.Echo/Say: passed"
    )


def test_a_hundred_backends_are_told_in_fifty_rows() -> None:
    report = sample(100, end_reason="completed", in_flight=0)
    page = step_summary(report, checks(report))
    assert page.count(":50051 |") == 50
    assert "and 50 more backends\n" in page
