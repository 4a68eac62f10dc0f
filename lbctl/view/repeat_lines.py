"""The further attempts of calls that a policy made, in a few lines of the summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lbctl.stats.report import Repeated, Report
from lbctl.view.text import cell_len, part

_CODES = 3
_INDENT = " " * 12
_GAP = "    "
_WIDTH = 80
_NEAR = 0.05


def repeat_lines(report: Report, show: Callable[[str], str]) -> list[str]:
    """What was sent again and how much load that made of the calls; then what forbade more, and where it came from."""
    found = report.repeated
    if found is None:
        return []
    label = "hedges" if found.policy == "hedging" else "retries"
    words = [f"{found.sent:>9,}{_why(found)}", *_load(report, found), *_limits(found), *_cause(report, show)]
    return _packed(f"  {label:<10}", words)


def transparent(report: Report) -> int:
    """Retries of calls that a backend did not process."""
    return report.retries - report.retried.get("policy", 0)


def _why(found: Repeated) -> str:
    """The codes that further attempts followed, the most frequent first."""
    codes = [f"{code.name} {count:,}" for code, count in list(found.codes.items())[:_CODES]]
    rest = len(found.codes) - len(codes)
    return f" after {', '.join(codes)}{f' and {rest} more' if rest else ''}" if codes else ""


def _load(report: Report, found: Repeated) -> Iterator[str]:
    times, modelled = report.amplification, report.modelled_amplification
    if times is None:
        return
    yield f"x{_spelled(times)} attempts per call, {found.max_attempts} at most"
    if modelled is not None and abs(modelled - times) > _NEAR * times:
        yield f"x{_spelled(modelled)} expected of so many failures"


def _spelled(times: float) -> str:
    return f"{times:.{3 if times < 1.1 else 2}f}"


def _limits(found: Repeated) -> Iterator[str]:
    for number, words in (
        (found.cancelled, "cancelled"),
        (found.throttled, "throttled"),
        (found.refused, "refused by pushback"),
        (found.exhausted, "all attempts failed"),
    ):
        if number:
            yield f"{words} {number:,}"
    if found.tokens is not None:
        yield f"tokens {found.tokens:g}"


def _cause(report: Report, show: Callable[[str], str]) -> Iterator[str]:
    """The backend at which most of the attempts failed that others followed."""
    most = max(report.backends, key=lambda row: row.passed, default=None)
    if most is not None and most.passed:
        passed = sum(row.passed for row in report.backends)
        yield f"{part(most.passed, passed)} of the failed attempts at {show(most.address)}"


def _packed(head: str, words: list[str]) -> list[str]:
    """The words behind the head, on as many lines as they need."""
    lines = [head + words[0]]
    for word in words[1:]:
        if cell_len(lines[-1]) + len(_GAP) + cell_len(word) <= _WIDTH:
            lines[-1] += _GAP + word
        else:
            lines.append(_INDENT + word)
    return lines
