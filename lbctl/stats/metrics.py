"""The figures of a run that an expression may be about, by name: of the whole run, and of each of its backends.

A figure is a time in milliseconds, a share in percent, a difference of shares in percentage points, or a plain number.
Where there is nothing to measure there is no value but the reason: a percentile of no calls is not 0.

    p99  mean  max  service.p99 ...    times; p50 is OK calls' time, the others say of what
    errors  dropped  code.NAME ...     counts, also as a part of all calls
    error_rate  max_delta  rps ...     everything else
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from typing import Final, Generic, NamedTuple, NoReturn, TypeVar

from lbctl.model import Code
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import BackendRow, MethodRow, Report

T = TypeVar("T")

_PERCENTILE: Final = re.compile(r"p([0-9]{1,3}(?:\.[0-9]{1,6})?)")
_STATISTICS: Final = ("p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "mean", "min", "max")
_CODE: Final = "code."


class Unit(StrEnum):
    """What a figure is counted in."""

    MS = "ms"
    PERCENT = "%"
    POINTS = "pp"
    NUMBER = ""


class Seen(NamedTuple):
    """A figure, or the reason why there is none."""

    value: float | None
    reason: str = ""


class OfBackend(NamedTuple):
    """One backend of a report, and what its shares are shares of."""

    row: BackendRow
    elapsed_s: float
    attempts: int  # of all backends
    expected: float  # likewise
    stated: bool


class OfMethod(NamedTuple):
    """One method of a run of several."""

    row: MethodRow
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Metric(Generic[T]):
    """How a figure is read; an ``estimate`` says little of few calls. ``most``: no value is above it."""

    unit: Unit
    read: Callable[[T], Seen]
    estimate: bool = False
    most: float | None = None
    part: Callable[[T], Seen] | None = None  # the same in percent, of what is counted


def run_metric(name: str) -> Metric[Report]:
    """The figure of a whole run; raises ValueError, with the nearest name, where there is none."""
    found = _RUN.get(name) or _timed(name, _TIMES) or _coded(name, _code_of_run)
    return found or _unknown("metric", name, _names(_RUN, _TIMES))


def backend_metric(name: str) -> Metric[OfBackend]:
    """The figure of one backend; raises ValueError, with the nearest name, where there is none."""
    found = _BACKEND.get(name) or _timed(name, _BACKEND_TIMES) or _coded(name, _code_of_backend)
    return found or _unknown("metric of backends", name, _names(_BACKEND, _BACKEND_TIMES))


def method_metric(name: str) -> Metric[OfMethod]:
    """The figure of one method of several; raises ValueError, with the nearest name, where there is none."""
    found = _METHOD.get(name) or _timed(name, _METHOD_TIMES) or _coded(name, _code_of_method)
    return found or _unknown("metric of methods", name, _names(_METHOD, _METHOD_TIMES))


def names_of_runs() -> Iterator[tuple[str, str]]:
    """Every figure of a run by name, and the unit it is counted in."""
    yield from ((name, run_metric(name).unit.value) for name in _names(_RUN, _TIMES))


def names_of_backends() -> Iterator[tuple[str, str]]:
    """The same of one backend."""
    yield from ((name, backend_metric(name).unit.value) for name in _names(_BACKEND, _BACKEND_TIMES))


def names_of_methods() -> Iterator[tuple[str, str]]:
    """The same of one method of several."""
    yield from ((name, method_metric(name).unit.value) for name in _names(_METHOD, _METHOD_TIMES))


def backends_of(report: Report) -> Iterator[OfBackend]:
    """Every backend that had a part in the run: something was sent to it, or would have been by its policy."""
    attempts = sum(row.attempts for row in report.backends)
    expected = sum(row.expected for row in report.backends)
    for row in report.backends:
        if row.picks or row.expected >= 1.0:
            yield OfBackend(row, report.elapsed_s, attempts, expected, report.balance.stated)


# Times.

_Times = Mapping[str, Callable[[T], tuple[Histogram | None, str]]]


def _timed(name: str, families: _Times[T]) -> Metric[T] | None:
    """The metric of ``p99`` or ``service.p99``; None where that is no statistic or no family."""
    family, dot, statistic = name.partition(".")
    if family not in families:
        family, dot, statistic = "", "", name
    if dot and not family:
        return None
    of = families[family]
    read = {"mean": _mean, "min": _min, "max": _max}.get(statistic)
    if read is not None:
        return Metric(Unit.MS, partial(_time, of, read), estimate=statistic == "mean")
    found = _PERCENTILE.fullmatch(statistic)
    if found is None:
        return None
    percent = float(found[1])
    if not 0 < percent < 100:
        nearest = f"{percent / 10:g}" if 990 <= percent < 1000 else ""
        ends = f"did you mean p{nearest}?" if nearest else "min and max are the ends"
        raise ValueError(f"{name}: a percentile is above 0 and below 100; {ends}")
    return Metric(Unit.MS, partial(_time, of, partial(_quantile, percent / 100)), estimate=True)


def _time(of: Callable[[T], tuple[Histogram | None, str]], read: Callable[[Histogram], float], subject: T) -> Seen:
    histogram, reason = of(subject)
    if histogram is None or not histogram.total:
        return Seen(None, reason)
    return Seen(read(histogram) / 1000)


def _mean(histogram: Histogram) -> float:
    return histogram.mean_us


def _min(histogram: Histogram) -> float:
    return histogram.min_us


def _max(histogram: Histogram) -> float:
    return histogram.max_us


def _quantile(q: float, histogram: Histogram) -> float:
    return histogram.quantile(q)


_NONE_OK: Final = "no call ended OK"


def _starts(report: Report) -> tuple[Histogram | None, str]:
    if report.starts is None:
        return None, "a closed loop has no plan to start by"
    return report.starts.delays, "no call was due"


def _gaps(report: Report) -> tuple[Histogram | None, str]:
    if report.streams is None:
        return None, "the method does not stream"
    return report.streams.gaps, "no call received two messages"


_TIMES: Final[_Times[Report]] = {
    "": lambda report: (report.latency, _NONE_OK),
    "latency": lambda report: (report.latency, _NONE_OK),
    "service": lambda report: (report.service_time, _NONE_OK),
    "wait": lambda report: (report.wait, "no call was written"),
    "first_byte": lambda report: (report.first_byte, _NONE_OK),
    "start": _starts,
    "gap": _gaps,
}
_BACKEND_TIMES: Final[_Times[OfBackend]] = {
    "": lambda of: (of.row.latency, _NONE_OK),
    "latency": lambda of: (of.row.latency, _NONE_OK),
}
_METHOD_TIMES: Final[_Times[OfMethod]] = {
    "": lambda of: (of.row.latency, _NONE_OK),
    "latency": lambda of: (of.row.latency, _NONE_OK),
}


# Counts and their parts.


def _count(
    count: Callable[[T], int], whole: Callable[[T], int] | None = None, nothing: str = "no call was made"
) -> Metric[T]:
    part = None if whole is None else partial(_part, count, whole, nothing)
    return Metric(Unit.NUMBER, lambda subject: Seen(count(subject)), part=part)


def _share(count: Callable[[T], int], whole: Callable[[T], int], nothing: str) -> Metric[T]:
    return Metric(Unit.PERCENT, partial(_part, count, whole, nothing), estimate=True, most=100.0)


def _part(count: Callable[[T], int], whole: Callable[[T], int], nothing: str, subject: T) -> Seen:
    total = whole(subject)
    return Seen(count(subject) * 100 / total) if total else Seen(None, nothing)  # divided last: 0.7 is 0.7


def _coded(name: str, count: Callable[[Code, T], tuple[int, int]]) -> Metric[T] | None:
    """The metric of ``code.UNAVAILABLE``: calls that ended so."""
    if not name.startswith(_CODE):
        return None
    word = name.removeprefix(_CODE)
    try:
        code = Code[word]
    except KeyError:
        near = get_close_matches(word.upper(), Code.__members__, 1, 0.5)
        tail = f"did you mean {_CODE}{near[0]}?" if near else "for example code.UNAVAILABLE"
        raise ValueError(f"there is no gRPC code {word!r}; {tail}") from None
    return _count(lambda subject: count(code, subject)[0], lambda subject: count(code, subject)[1], _ENDED)


def _code_of_run(code: Code, report: Report) -> tuple[int, int]:
    return report.codes.get(code, 0), _ended(report)


def _code_of_backend(code: Code, of: OfBackend) -> tuple[int, int]:
    return of.row.codes.get(code, 0), of.row.ok + of.row.errors


def _code_of_method(code: Code, of: OfMethod) -> tuple[int, int]:
    return of.row.codes.get(code, 0), of.row.ok + of.row.errors


def _ended(report: Report) -> int:
    return report.ended


def _late(report: Report) -> tuple[int, int]:
    return (0, 0) if report.starts is None else (report.starts.late, report.starts.delays.total)


_ENDED: Final = "no call ended"


# Everything else.


def _rps(ended: int, elapsed_s: float) -> Seen:
    return Seen(ended / elapsed_s) if elapsed_s > 0 else Seen(None, "the run has not begun")


def _balance(name: str, report: Report) -> Seen:
    """A figure of the verdict; where shares are but a guide, differences from them mean nothing."""
    balance = report.balance
    value: float | None = getattr(balance, name)
    if name in ("max_delta", "max_over_expected") and not balance.stated:
        value = None
    if value is not None:
        return Seen(value * 100 if name == "max_delta" else value)
    if name in ("p_value", "chi2", "effect") and balance.verdict != "too_few":
        return Seen(None, f"{report.policy} does not pick by chance; max_delta is about any policy")
    return Seen(None, balance.note or "nothing was picked")


def _optional(value: float | None, reason: str) -> Seen:
    return Seen(value, "" if value is not None else reason)


def _share_of_picks(of: OfBackend) -> Seen:
    return Seen(of.row.attempts / of.attempts * 100) if of.attempts else Seen(None, "nothing was sent")


def _delta(of: OfBackend) -> Seen:
    if not of.stated or not of.attempts or not of.expected:
        return Seen(None, "no share can be stated beforehand" if not of.stated else "nothing was sent")
    return Seen(abs(of.row.attempts / of.attempts - of.row.expected / of.expected) * 100)


def _over_expected(of: OfBackend) -> Seen:
    if not of.stated or of.row.expected <= 0:
        return Seen(None, "no share can be stated beforehand" if not of.stated else "nothing was expected")
    return Seen(of.row.picks / of.row.expected)


_RUN: Final[Mapping[str, Metric[Report]]] = {
    "requests": _count(lambda report: report.issued),
    "ok": _count(lambda report: report.ok, _ended, _ENDED),
    "errors": _count(lambda report: report.errors, _ended, _ENDED),
    "error_rate": _share(lambda report: report.errors, _ended, _ENDED),
    "success_rate": _share(lambda report: report.ok, _ended, _ENDED),
    "cancelled": _count(lambda report: report.cancelled, lambda report: report.issued),
    "dropped": _count(lambda report: report.dropped, lambda report: report.issued + report.dropped),
    "attempts": _count(lambda report: report.attempts),
    "retries": _count(lambda report: report.retries, lambda report: report.issued),
    "amplification": Metric(
        Unit.NUMBER, lambda report: _optional(report.amplification, "no call was made"), estimate=True
    ),
    "rps": Metric(Unit.NUMBER, lambda report: _rps(report.ended, report.elapsed_s)),
    "backends": _count(lambda report: sum(row.attempts > 0 for row in report.backends)),
    "max_delta": Metric(Unit.POINTS, partial(_balance, "max_delta"), estimate=True, most=100.0),
    "max_over_expected": Metric(Unit.NUMBER, partial(_balance, "max_over_expected"), estimate=True),
    "chi2_p": Metric(Unit.NUMBER, partial(_balance, "p_value"), estimate=True, most=1.0),
    "chi2": Metric(Unit.NUMBER, partial(_balance, "chi2"), estimate=True),
    "effect_size": Metric(Unit.NUMBER, partial(_balance, "effect"), estimate=True),
    "late_starts": _count(
        lambda report: _late(report)[0], lambda report: _late(report)[1], "a closed loop has no plan to start by"
    ),
    "busy": Metric(Unit.PERCENT, lambda report: Seen(report.generator.busy * 100), estimate=True, most=100.0),
    "lag_p99": Metric(Unit.MS, lambda report: Seen(report.generator.lag_p99_ms), estimate=True),
}
_BACKEND: Final[Mapping[str, Metric[OfBackend]]] = {
    "requests": _count(lambda of: of.row.attempts),
    "ok": _count(lambda of: of.row.ok, lambda of: of.row.ok + of.row.errors, _ENDED),
    "errors": _count(lambda of: of.row.errors, lambda of: of.row.ok + of.row.errors, _ENDED),
    "error_rate": _share(lambda of: of.row.errors, lambda of: of.row.ok + of.row.errors, _ENDED),
    "success_rate": _share(lambda of: of.row.ok, lambda of: of.row.ok + of.row.errors, _ENDED),
    "cancelled": _count(lambda of: of.row.cancelled, lambda of: of.row.attempts),
    "dropped": _count(lambda of: of.row.dropped, lambda of: of.row.attempts + of.row.dropped),
    "rps": Metric(Unit.NUMBER, lambda of: _rps(of.row.ok + of.row.errors, of.elapsed_s)),
    "share": Metric(Unit.PERCENT, _share_of_picks, estimate=True, most=100.0),
    "delta": Metric(Unit.POINTS, _delta, estimate=True, most=100.0),
    "over_expected": Metric(Unit.NUMBER, _over_expected, estimate=True),
}
_METHOD: Final[Mapping[str, Metric[OfMethod]]] = {
    "requests": _count(lambda of: of.row.requests),
    "ok": _count(lambda of: of.row.ok, lambda of: of.row.ok + of.row.errors, _ENDED),
    "errors": _count(lambda of: of.row.errors, lambda of: of.row.ok + of.row.errors, _ENDED),
    "error_rate": _share(lambda of: of.row.errors, lambda of: of.row.ok + of.row.errors, _ENDED),
    "success_rate": _share(lambda of: of.row.ok, lambda of: of.row.ok + of.row.errors, _ENDED),
    "cancelled": _count(lambda of: of.row.cancelled, lambda of: of.row.requests),
    "rps": Metric(Unit.NUMBER, lambda of: _rps(of.row.ok + of.row.errors, of.elapsed_s)),
}


def _names(table: Mapping[str, object], families: Mapping[str, object]) -> list[str]:
    """All names that can be typed, to find the one that was meant."""
    times = [f"{family}.{statistic}" if family else statistic for family in families for statistic in _STATISTICS]
    return [*table, *times, *(f"{_CODE}{code}" for code in Code.__members__)]


def _unknown(what: str, name: str, known: list[str]) -> NoReturn:
    near = get_close_matches(name.lower(), known, 1, 0.5)
    tail = f"did you mean {near[0]}?" if near else f"there is {_some(known)}"
    raise ValueError(f"unknown {what} {name!r}; {tail}")


def _some(known: list[str]) -> str:
    shown = ("p99", "mean", "max", "error_rate", "errors", "rps", "max_delta", "chi2_p", "code.NAME")
    return ", ".join(name for name in shown if name in known or name == "code.NAME")
