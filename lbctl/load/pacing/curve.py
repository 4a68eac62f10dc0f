"""A rate that changes with time: how many calls have come due at a time, and when so many have.

A stage has one rate, or goes from one to another in a straight line; calls come due as the area under it grows.

    stages                 10s at 0/s..10/s     5s at 10/s     2s at 0/s     then 4/s
    calls due before it    0                    50             100           100
    call 0 is due at 0s, call 12.5 at 5s, call 50 at 10s, call 99 at 14.9s, call 100 at 17s, call 101 at 17.25s
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lbctl.load.pacing.base import NEVER_NS, rounded


@dataclass(frozen=True, slots=True)
class Stage:
    """So many seconds, ``math.inf`` for ever, at a rate in calls/s that goes from ``first`` to ``last`` evenly."""

    seconds: float
    first: float
    last: float

    @property
    def calls(self) -> float:
        """How many come due in it."""
        return self.seconds * (self.first + self.last) / 2 if self.last or self.first else 0.0


class _Span(NamedTuple):
    """A stage in its place: it begins at ``begin_s``, when ``before`` calls have come due, and ends with ``after``."""

    begin_s: float
    before: float
    after: float
    stage: Stage

    @property
    def slope(self) -> float:
        """How the rate grows, in calls/s each second."""
        return (self.stage.last - self.stage.first) / self.stage.seconds

    def due_s(self, calls: float) -> float:
        """When so many calls have come due, ``before`` or more."""
        ahead, first, slope = calls - self.before, self.stage.first, self.slope
        if not slope or not ahead:
            return self.begin_s + (ahead / first if ahead else 0.0)
        # The root of first t + slope t^2 / 2 = ahead, in the form that loses no digits.
        return self.begin_s + 2.0 * ahead / (first + math.sqrt(max(0.0, first * first + 2.0 * slope * ahead)))

    def calls_at(self, at_s: float) -> float:
        past_s = at_s - self.begin_s
        return self.before + past_s * (self.stage.first + self.slope * past_s / 2.0)

    def rate_at(self, at_s: float) -> float:
        return self.stage.first + self.slope * (at_s - self.begin_s)


class Curve:
    """Stages one after another, from ``begin_s`` on, when ``before`` calls have come due; nothing is due afterwards."""

    def __init__(self, stages: Sequence[Stage], begin_s: float = 0.0, before: float = 0.0) -> None:
        self._spans = list(_placed(stages, begin_s, before))
        self._span = 0  # where calls come due now
        self._begin_s = begin_s

    def due_ns(self, calls: float) -> int:
        """When so many calls have come due, and the next one does; NEVER_NS after the last stage.

        Asked for numbers that do not fall.
        """
        spans = self._spans
        while self._span < len(spans):
            span = spans[self._span]
            if calls < span.after:
                return int(span.due_s(calls) * 1e9)
            self._span += 1
        return NEVER_NS

    def rate(self, at_ns: int) -> float:
        """The rate at that time; 0 after the last stage."""
        span = self._at(at_ns / 1e9)
        return span.rate_at(at_ns / 1e9) if span is not None else 0.0

    def _at(self, at_s: float) -> _Span | None:
        return next((span for span in self._spans if at_s < span.begin_s + span.stage.seconds), None)

    def calls(self, at_ns: int) -> float:
        """How many have come due until then."""
        span = self._at(at_ns / 1e9)
        if span is not None:
            return span.calls_at(at_ns / 1e9)
        return self._spans[-1].after if self._spans else 0.0

    def scaled(self, factor: float, now_ns: int) -> Curve:
        """The curve at ``factor`` times the rate from now on, at the same times; the rate now has four digits."""
        now_s = now_ns / 1e9
        here = self._at(now_s)
        if here is None:
            return self
        rate = here.rate_at(now_s)
        factor = rounded(rate * factor) / rate if rate else factor
        left = Stage(here.begin_s + here.stage.seconds - now_s, rate, here.stage.last)
        later = [span.stage for span in self._spans[self._spans.index(here) + 1 :]]
        stages = [Stage(each.seconds, each.first * factor, each.last * factor) for each in (left, *later)]
        return Curve(stages, now_s, here.calls_at(now_s))


def _placed(stages: Sequence[Stage], begin_s: float, before: float) -> Iterator[_Span]:
    for stage in stages:
        after = before + stage.calls
        yield _Span(begin_s, before, after, stage)
        begin_s, before = begin_s + stage.seconds, after
