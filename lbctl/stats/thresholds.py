"""What must hold of a run, or must not become true: ``p99<50ms``, ``error_rate<1%``, ``backend.p99<80ms``.

An expression compares one figure of ``metrics`` with a limit in the figure's own unit. ``backend.X`` is about every
backend that had a part in the run, ``backend[ADDRESS].X`` about one; ``method.X`` and ``method[NAME].X`` likewise about
the methods of a mix.

A threshold holds where the figure is there and compares well, for every backend or method that it is about; of several
the worst is reported. A condition that ends a run is the other way round: it is true as soon as it is for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Final, NamedTuple

from lbctl.stats.metrics import (
    Metric,
    OfBackend,
    OfMethod,
    Seen,
    Unit,
    backend_metric,
    backends_of,
    method_metric,
    run_metric,
)
from lbctl.stats.outcome import Outcome
from lbctl.stats.report import Report

ENOUGH_CALLS: Final = 100  # ended, before anything but a count or a rate may end a run

_PARTS: Final = re.compile(r"([^<>=!]+)([<>=!]+)([^<>=!]+)")
_NUMBER: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})([^0-9.].*)?")
_ONE: Final = re.compile(r"backend\[(.+)\]\.(.+)")
_METHOD: Final = re.compile(r"method\[(.+)\]\.(.+)")
_EVERY: Final = "backend."
_EVERY_METHOD: Final = "method."
_NO_MIX: Final = "the run was no mix of methods"
_MICROSECOND: Final = Fraction(1, 1000)
_MILLISECONDS: Final[Mapping[str, Fraction | int]] = {
    "us": _MICROSECOND,
    "µs": _MICROSECOND,
    "μs": _MICROSECOND,
    "ms": 1,
    "s": 1000,
    "m": 60_000,
}
_MULTIPLES: Final = {"": 1, "k": 1000, "m": 1_000_000, "/s": 1, "k/s": 1000}
_EXAMPLE: Final = "for example p99<50ms, error_rate<1%, max_delta<2pp, rps>500"


class Operator(NamedTuple):
    """A comparison, and how far a value is on the wrong side of it: the largest is the worst."""

    holds: Callable[[float, float], bool]
    badness: Callable[[float, float], float]


_OPERATORS: Final[Mapping[str, Operator]] = {
    "<": Operator(lambda value, limit: value < limit, lambda value, limit: value),
    "<=": Operator(lambda value, limit: value <= limit, lambda value, limit: value),
    ">": Operator(lambda value, limit: value > limit, lambda value, limit: -value),
    ">=": Operator(lambda value, limit: value >= limit, lambda value, limit: -value),
    "==": Operator(lambda value, limit: value == limit, lambda value, limit: abs(value - limit)),
}


class Reading(NamedTuple):
    """A figure as it was read, of one backend, of one method or of the run, and how many calls it is of."""

    seen: Seen
    calls: int
    backend: str | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Threshold:
    """An expression that was understood; ``limit`` is in ``unit``."""

    expr: str
    operator: str
    limit: float
    unit: Unit
    is_estimate: bool  # few calls say little about it
    readings: Callable[[Report], Iterable[Reading]]

    def judge(self, report: Report) -> Outcome:
        """Whether it holds: nowhere without a value, and for every backend that it is about."""
        found = list(self.readings(report))
        if not found:
            return self._outcome(Reading(Seen(None, "no backend was sent anything"), 0), ok=False)
        missing = next((each for each in found if each.seen.value is None), None)
        worst = missing or max(found, key=self._badness)
        return self._outcome(worst, ok=worst.seen.value is not None and self._holds(worst.seen.value))

    def reached(self, report: Report, calls: int = 0) -> Outcome | None:
        """The reading that makes it true, if one does that is of at least so many calls."""
        known = [each for each in self.readings(report) if each.seen.value is not None and each.calls >= calls]
        most = min(known, key=self._badness, default=None)
        if most is None or most.seen.value is None or not self._holds(most.seen.value):
            return None
        return self._outcome(most, ok=False)

    def nearest(self, report: Report) -> Outcome:
        """The reading that comes closest to making it true, of a condition that did not become true."""
        found = list(self.readings(report)) or [Reading(Seen(None, "no backend was sent anything"), 0)]
        known = [each for each in found if each.seen.value is not None]
        return self._outcome(min(known, key=self._badness) if known else found[0], ok=True)

    def _holds(self, value: float) -> bool:
        return _OPERATORS[self.operator].holds(value, self.limit)

    def _badness(self, reading: Reading) -> float:
        value = reading.seen.value
        return 0.0 if value is None else _OPERATORS[self.operator].badness(value, self.limit)

    def _outcome(self, reading: Reading, *, ok: bool) -> Outcome:
        value, reason = reading.seen
        return Outcome(self.expr, ok, value, self.unit.value, self.limit, reading.backend, reason, reading.method)


@dataclass(frozen=True, slots=True)
class Abort:
    """A condition that ends a run, looked at from ``after_s`` on, with figures of at least ``calls`` ended calls."""

    condition: Threshold
    after_s: float = 0.0
    calls: int = ENOUGH_CALLS

    def reached(self, report: Report) -> Outcome | None:
        """The reading that ends the run, if one does."""
        if report.elapsed_s < self.after_s:
            return None
        return self.condition.reached(report, self.calls)

    def judge(self, report: Report) -> Outcome:
        """What became of it in a run that is over."""
        return self.reached(report) or self.condition.nearest(report)


def parse_threshold(text: str) -> Threshold:
    """Understand an expression; raises ValueError that says what is wrong with it, and the nearest metric."""
    found = _PARTS.fullmatch(text.replace(" ", ""))
    if found is None:
        raise ValueError(f"{text!r} is not METRIC<LIMIT ({_EXAMPLE})")
    name, operator, limit = found.groups()
    if operator not in _OPERATORS:
        tail = "equal is ==" if operator == "=" else f"there is {' '.join(_OPERATORS)}"
        raise ValueError(f"{text!r}: {operator} is no comparison; {tail}")
    metric, readings = _subject(name)
    unit, number = _limit(name, metric, limit)
    if operator == "==" and (metric.estimate or unit is not Unit.NUMBER):
        raise ValueError(f"{text!r}: == is for counts; use <= or >=")
    most = 100.0 if unit is Unit.PERCENT else metric.most
    if most is not None and number > most:
        raise ValueError(f"{text!r}: {name} is never above {most:g}{unit}")
    as_part = unit is Unit.PERCENT and metric.unit is not unit
    read = metric.part if as_part and metric.part is not None else metric.read
    return Threshold(f"{name}{operator}{limit}", operator, number, unit, metric.estimate or as_part, readings(read))


_Read = Callable[[Any], Seen]
_Readings = Callable[[Report], Iterable[Reading]]


def _subject(name: str) -> tuple[Metric[Any], Callable[[_Read], _Readings]]:
    """The metric of that name, and how it is read: of the run, of every backend, or of one."""
    one = _ONE.fullmatch(name)
    if one is not None:
        return backend_metric(one[2]), lambda read: lambda report: _of_one(read, one[1], report)
    if name.startswith("backend["):
        raise ValueError(f"{name!r} is not backend[ADDRESS].METRIC (for example backend[10.0.0.1:50051].p99)")
    method = _METHOD.fullmatch(name)
    if method is not None:
        return method_metric(method[2]), lambda read: lambda report: _of_method(read, method[1], report)
    if name.startswith("method["):
        raise ValueError(f"{name!r} is not method[NAME].METRIC (for example method[Cart/Get].p99)")
    if name.startswith(_EVERY):
        metric = backend_metric(name.removeprefix(_EVERY))
        return metric, lambda read: lambda report: (_of_backend(read, each) for each in backends_of(report))
    if name.startswith(_EVERY_METHOD):
        return method_metric(name.removeprefix(_EVERY_METHOD)), lambda read: lambda report: _of_methods(read, report)
    return run_metric(name), lambda read: lambda report: (Reading(read(report), report.ended),)


def _of_backend(read: _Read, backend: OfBackend) -> Reading:
    row = backend.row
    return Reading(read(backend), row.ok + row.errors, row.address)


def _of_methods(read: _Read, report: Report) -> Iterator[Reading]:
    """The readings of every method of a mix."""
    for row in report.methods:
        yield Reading(read(OfMethod(row, report.elapsed_s)), row.ok + row.errors, method=row.method)
    if not report.methods:
        yield Reading(Seen(None, _NO_MIX), 0)


def _of_method(read: _Read, name: str, report: Report) -> Iterator[Reading]:
    """The reading of a method of a mix, by its name there or the end of it."""
    rows = [row for row in report.methods if row.method == name]
    rows = rows or [row for row in report.methods if row.method.endswith((f"/{name}", f".{name}"))]
    for row in rows:
        yield Reading(read(OfMethod(row, report.elapsed_s)), row.ok + row.errors)
    if not rows:
        near = get_close_matches(name, [row.method for row in report.methods], 1)
        tail = f"; did you mean {near[0]}?" if near else "" if report.methods else ", it is no mix"
        yield Reading(Seen(None, f"the run had no such method{tail}"), 0)


def _of_one(read: _Read, address: str, report: Report) -> Iterator[Reading]:
    """The readings of a backend by its address or its key: several where one address has several keys."""
    known = {row.address: row for row in report.backends} | {row.key: row for row in report.backends}
    if address not in known:
        near = get_close_matches(address, known, 1)
        tail = f"; did you mean {near[0]}?" if near else ""
        yield Reading(Seen(None, f"the run had no such backend{tail}"), 0, address)
        return
    parts = [each for each in backends_of(report) if address in (each.row.address, each.row.key)]
    for each in parts:
        yield _of_backend(read, each)
    if not parts:
        yield Reading(Seen(None, "nothing was sent there"), 0, address)


def _limit(name: str, metric: Metric[Any], text: str) -> tuple[Unit, float]:
    """The limit in its unit, which must be one of the metric's."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a number with a unit ({_EXAMPLE})")
    number, unit = Fraction(found[1]), found[2] or ""
    if unit == "%" and (metric.unit is Unit.PERCENT or metric.part is not None):
        return Unit.PERCENT, float(number)
    if metric.unit is Unit.MS and unit in _MILLISECONDS:
        return Unit.MS, float(number * _MILLISECONDS[unit])
    if metric.unit is Unit.POINTS and unit == "pp":
        return Unit.POINTS, float(number)
    if metric.unit is Unit.NUMBER and unit in _MULTIPLES:
        return Unit.NUMBER, float(number * _MULTIPLES[unit])
    raise ValueError(_wrong_unit(name, metric, text, found[1]))


def _wrong_unit(name: str, metric: Metric[Any], text: str, number: str) -> str:
    wanted = {
        Unit.MS: f"a time: {number}ms (or us, s)",
        Unit.PERCENT: f"a percentage: {number}%",
        Unit.POINTS: f"in percentage points: {number}pp",
        Unit.NUMBER: f"a plain number{', or a percentage of the calls' if metric.part is not None else ''}: {number}",
    }[metric.unit]
    return f"{text!r} does not fit {name}, which is {wanted}"
