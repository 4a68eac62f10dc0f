"""The further attempts of calls that a policy made, in two lines of the summary at most."""

from __future__ import annotations

from lbctl.stats.report import Repeated, Report

_CODES = 3


def repeat_lines(report: Report) -> list[str]:
    """What was sent again and how much load that made of the calls; then what forbade more."""
    found = report.repeated
    if found is None:
        return []
    label = "hedges" if found.policy == "hedging" else "retries"
    amplification = report.amplification
    made = f"{found.sent:>9,}{_why(found)}"
    if amplification is not None:
        made += f"    x{_times(amplification)} attempts per call, {found.max_attempts} at most"
    lines = [f"  {label:<10}{made}"]
    more = [
        words
        for number, words in (
            (found.cancelled, f"cancelled {found.cancelled:,}"),
            (found.throttled, f"throttled {found.throttled:,}"),
            (found.refused, f"refused by pushback {found.refused:,}"),
            (found.exhausted, f"all attempts failed {found.exhausted:,}"),
        )
        if number
    ]
    if found.tokens is not None:
        more.append(f"tokens {found.tokens:g}")
    return [*lines, "            " + "    ".join(more)] if more else lines


def transparent(report: Report) -> int:
    """Retries of calls that a backend did not process."""
    return report.retries - report.retried.get("policy", 0)


def _why(found: Repeated) -> str:
    """The codes that further attempts followed, the most frequent first."""
    codes = [f"{code.name} {count:,}" for code, count in list(found.codes.items())[:_CODES]]
    rest = len(found.codes) - len(codes)
    return f" after {', '.join(codes)}{f' and {rest} more' if rest else ''}" if codes else ""


def _times(amplification: float) -> str:
    return f"{amplification:.3f}" if amplification < 1.1 else f"{amplification:.2f}"
