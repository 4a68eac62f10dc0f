"""How sure the figures of a run are: 95 % intervals, in its document always and in its summary where they are wide."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Final

from lbctl.stats.histogram import Histogram
from lbctl.stats.intervals import LEVEL, Estimate, of_mean, of_part, of_quantile, of_rate
from lbctl.stats.report import BackendRow, Report
from lbctl.view.figures import Document, ratio
from lbctl.view.text import duration, plural

_QUANTILES: Final = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_SHOWN: Final[Mapping[str, str]] = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}
_JUDGED: Final = ("p50", "p90", "p99")  # a p99.9 is unsure in nearly every run
_WIDE: Final = 0.2  # of the figure
_CHANCE: Final = "multinomial"

Bounds = list[float | None] | None


def confidence(report: Report) -> Document:
    """The intervals of a whole run; an end beyond what was measured is null, and so is what has no figure."""
    batches = [(each.rps, each.seconds) for each in report.samples]
    return {
        "level": LEVEL,
        "latency_ms": _latency(report.latency),
        "error_rate": _part(report.errors, report.ended),
        "rps": _rounded(of_rate(report.ended, report.elapsed_s, batches), 1),
    }


def backend_confidence(row: BackendRow, attempts: int, *, by_chance: bool) -> Document:
    """The intervals of one backend; its share has one where each pick was drawn."""
    return {
        "latency_ms": _latency(row.latency),
        "error_rate": _part(row.errors, row.ok + row.errors),
        "share": _part(row.attempts, attempts) if by_chance else None,
    }


def is_drawn(report: Report) -> bool:
    """Whether each pick was drawn for itself, so that shares have intervals."""
    return report.balance.expectation == _CHANCE


def sure_lines(report: Report, width: int) -> list[str]:
    """What the figures of a summary leave open, where that is much; nothing where it is not."""
    times = report.latency
    found = {name: of_quantile(times, _QUANTILES[name]) for name in _SHOWN} if times.total else {}
    errors = of_part(report.errors, report.ended)
    unsure_errors = report.errors > 0 and _is_wide(errors)
    if not unsure_errors and not any(_is_wide(found[name]) for name in _JUDGED if name in found):
        return []
    words = [f"{label} {_between(found[name])}" for name, label in _SHOWN.items() if _is_told(found.get(name))]
    if unsure_errors and errors.low is not None and errors.high is not None:
        words.append(f"errors {errors.low * 100:.2f}%-{errors.high * 100:.2f}%")
    text = ", ".join(words) + f"; of {plural(report.ended, 'call')}"
    first, rest = "  95% sure  ", " " * 12
    return wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _is_told(found: Estimate | None) -> bool:
    return found is not None and _is_wide(found) and (found.low is not None or found.high is not None)


def _is_wide(found: Estimate) -> bool:
    if found.value is None:
        return False
    if found.low is None or found.high is None:
        return True
    return found.high - found.low > _WIDE * found.value


def _between(found: Estimate) -> str:
    if found.high is None:
        return f"over {duration(found.low)}"
    return f"under {duration(found.high)}" if found.low is None else f"{duration(found.low)}-{duration(found.high)}"


def _latency(times: Histogram) -> Document | None:
    if not times.total:
        return None
    found = {name: of_quantile(times, q) for name, q in _QUANTILES.items()}
    return {name: _rounded(_in_ms(each), 4) for name, each in {"mean": of_mean(times), **found}.items()}


def _in_ms(found: Estimate) -> Estimate:
    return Estimate(*(None if each is None else each / 1e3 for each in found))


def _part(cases: int, total: int) -> Bounds:
    found = of_part(cases, total)
    return None if found.value is None else [ratio(found.low), ratio(found.high)]


def _rounded(found: Estimate, digits: int) -> Bounds:
    if found.value is None:
        return None
    return [None if each is None else round(each, digits) for each in (found.low, found.high)]
