"""What GitHub Actions shows of a run: annotations, by its workflow commands, and a page for the job's summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from lbctl.stats.report import BackendRow, Report
from lbctl.view.checks import FAILED, PASSED, SKIPPED, Check
from lbctl.view.text import NONE, clean, duration, error_rate, percent, plural, rate

_ROWS: Final = 50  # of the table of backends
_QUANTILES: Final = (0.5, 0.9, 0.99)
_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")


def workflow_commands(report: Report, checks: Sequence[Check]) -> Iterator[str]:
    """One command a line: an error for each failed check, warnings for what is doubtful, and a notice of the rest."""
    name = f"lbctl hammer {report.service}"
    for check in checks:
        if check.state == FAILED:
            yield command("error", f"{name}: {_about(check)}", f"{check.text} ({report.method}, {report.policy})")
    if report.balance.verdict == "skewed":
        yield command("warning", f"{name}: balance", f"skewed: {report.balance.note or report.balance.worst or ''}")
    for warning in report.generator.warnings:
        yield command("warning", f"{name}: load generator", warning)
    held = sum(check.state == PASSED for check in checks)
    failed = sum(check.state == FAILED for check in checks)
    yield command("notice", name, f"{held} of {plural(held + failed, 'check')} passed; {_totals(report)}")


def command(kind: str, title: str, message: str) -> str:
    """A workflow command; neither of the texts can end it, begin another, or move a cursor."""
    return f"::{kind} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    lines = [clean(line, 2000) for line in text.splitlines()]
    return "\n".join(lines).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _about(check: Check) -> str:
    return check.name if check.about.startswith("--") and check.name else check.about.lstrip("-") or check.name


def _totals(report: Report) -> str:
    p99 = f", p99 {duration(report.latency.quantile(0.99))}" if report.latency.total else ""
    failed = error_rate(report.errors, report.ended)
    return f"{plural(report.completed, 'call')} in {report.elapsed_s:.2f}s, errors {failed}{p99}"


def step_summary(report: Report, checks: Sequence[Check]) -> str:
    """The page: whether it failed, the totals, every check, and who got what."""
    word = "FAILED" if any(check.state == FAILED for check in checks) else "passed"
    parts = [
        [f"### lbctl hammer {_text(report.service)} {_text(report.method)}: {word}"],
        [f"{_text(report.policy)}, seed {report.seed}, {report.load.mode} loop"],
        _table(("requests", "calls/s", "ok", "errors", "p50", "p90", "p99", "max"), [_figures(report)]),
        _table(("", "check", "result"), [(_word(check), _text(_title(check)), _text(check.text)) for check in checks]),
        _backends(report),
    ]
    warnings = [f"- {_text(warning)}" for warning in report.generator.warnings]
    return "\n\n".join("\n".join(part) for part in (*parts, warnings) if part) + "\n\n"


def _figures(report: Report) -> Sequence[str]:
    histogram = report.latency
    times = [*histogram.quantiles(_QUANTILES), float(histogram.max_us)] if histogram.total else [None] * 4
    failed = f"{report.errors:,} ({error_rate(report.errors, report.ended)})"
    return (f"{report.completed:,}", rate(report.throughput), f"{report.ok:,}", failed, *map(duration, times))


def _title(check: Check) -> str:
    return f"{check.about} {check.name}" if check.about.startswith("--") else f"{check.about}: {check.name}"


def _word(check: Check) -> str:
    return {FAILED: "**FAIL**", SKIPPED: "skipped"}.get(check.state, "ok")


def _backends(report: Report) -> list[str]:
    rows = report.backends[:_ROWS]
    attempts = sum(row.attempts for row in report.backends)
    expected = sum(row.expected for row in report.backends) if report.balance.stated else 0.0
    table = _table(
        ("backend", "weight", "expected %", "got %", "calls", "errors", "p50", "p99"),
        [_backend(row, attempts, expected) for row in rows],
    )
    more = len(report.backends) - len(rows)
    return [*table, f"\nand {plural(more, 'more backend')}"] if more else table


def _backend(row: BackendRow, attempts: int, expected: float) -> Sequence[str]:
    times = row.latency.quantiles((0.5, 0.99)) if row.latency.total else (None, None)
    return (
        _text(row.address),
        str(row.weight),
        percent(row.expected / expected) if expected else NONE,
        percent(row.attempts / attempts) if attempts else NONE,
        f"{row.attempts:,}",
        f"{row.errors:,}",
        *map(duration, times),
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _text(text: str) -> str:
    """Text from outside, of which nothing is markup."""
    return _MARKS.sub(r"\\\1", clean(text).replace("&", "&amp;"))
