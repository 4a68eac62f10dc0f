"""Whether runs got worse: limits like ``p99<10%,error_rate,rps<5%``, and a sentence for each that does not hold.

A limit is how much worse a metric may get: a part of the base's (10%), of a share its percentage points (0.5pp). A
metric alone may not get worse at all. What chance alone may have made is no regression: the interval must say so too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final, NamedTuple

from lbctl.stats.comparison import METRICS, WORSE, Comparison, Difference, Metric

DEFAULT: Final = "p99<10%,error_rate,rps<5%"
_PARTS: Final = re.compile(r"([a-z_0-9.]+)(?:[<>](\d+(?:\.\d+)?|\.\d+)(%|pp|))?")
_NO_INTERVAL: Final = ("max", "max_delta")


class Limit(NamedTuple):
    """How much worse a metric may get, as its changes are measured."""

    metric: Metric
    most: float
    text: str


class Regression(NamedTuple):
    """A limit that does not hold for a group."""

    label: str
    limit: Limit
    difference: Difference


def judged() -> Iterator[tuple[str, str]]:
    """Every metric that may have a limit, and what that is counted in."""
    yield from ((name, _unit(metric)) for name, metric in METRICS.items() if name not in _NO_INTERVAL)


def _unit(metric: Metric) -> str:
    return "%" if metric.relative else "pp"


def parse_limits(text: str) -> tuple[Limit, ...]:
    """Understand limits with commas between them; raises ValueError that says what is wrong."""
    return tuple(_limit(part.strip()) for part in text.split(","))


def _limit(text: str) -> Limit:
    found = _PARTS.fullmatch(text.replace(" ", ""))
    if found is None:
        raise ValueError(f"{text!r} is not METRIC<LIMIT, for example {DEFAULT}")
    name, number, unit = found.groups()
    name = "p999" if name == "p99.9" else name
    metric = METRICS.get(name)
    if metric is None:
        near = get_close_matches(name, METRICS, 1)
        what = f"did you mean {near[0]}?" if near else f"there is {', '.join(METRICS)}"
        raise ValueError(f"{text!r}: no metric {name}; {what}")
    if name in _NO_INTERVAL:
        raise ValueError(f"{text!r}: {name} of a run has no interval, so that chance cannot be told from a regression")
    needed = _unit(metric)
    if number is not None and unit != needed:
        raise ValueError(f"{text!r}: the limit of {name} is in {needed}, like {name}<{number}{needed}")
    return Limit(metric, float(number or 0) / 100, text)


def regressions(comparison: Comparison, limits: tuple[Limit, ...]) -> Iterator[Regression]:
    """Every group and limit that does not hold: worse by more than it, and certainly worse."""
    for group, differences in comparison.against():
        found = {difference.metric.name: difference for difference in differences}
        for limit in limits:
            difference = found[limit.metric.name]
            worse = difference.worse_by
            if worse is not None and worse > limit.most and difference.verdict == WORSE:
                yield Regression(group.label, limit, difference)


def unjudged(comparison: Comparison, limits: tuple[Limit, ...]) -> Iterator[tuple[str, Limit, Difference]]:
    """Every group and limit of which nothing can be said: too few calls, or no figures in the file."""
    for group, differences in comparison.against():
        found = {difference.metric.name: difference for difference in differences}
        for limit in limits:
            difference = found[limit.metric.name]
            if difference.change.value is None or (difference.change.low is None and difference.change.high is None):
                yield group.label, limit, difference
