"""Traffic over levels of backends, the nearest first, and panic: Envoy's rules, in whole percent.

healthy     first level gets   why
72 %        100 %              1.4 x 72 is above 100: it can do with somewhat fewer
50 %        70 %               1.4 x 50; the next level gets the rest
25 % 25 %   50 % 50 %          together 70 %, which stands for all; below the threshold each panics
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Level(NamedTuple):
    """Backends of one priority: how many there are, and how many of them are healthy."""

    hosts: int
    healthy: int


class Part(NamedTuple):
    """What a level gets: percent of the traffic, and whether it is spread over all its backends."""

    percent: int
    panics: bool


def parts(levels: Sequence[Level], threshold: float, overprovisioning: int = 140) -> list[Part]:
    """The part of each level; without anybody healthy or in panic nobody gets anything."""
    able = [min(100, overprovisioning * level.healthy // level.hosts) if level.hosts else 0 for level in levels]
    total = min(100, sum(able))
    panics = [total < 100 and level.hosts > 0 and 100 * level.healthy < threshold * level.hosts for level in levels]
    if levels and all(panic or not level.hosts for panic, level in zip(panics, levels, strict=True)) and any(panics):
        hosts = sum(level.hosts for level in levels)
        return _dealt([100 * level.hosts / hosts for level in levels], panics)
    if not total:
        return [Part(0, panic) for panic in panics]
    return _dealt([100 * part / total for part in able], panics)


def _dealt(wanted: Sequence[float], panics: Sequence[bool]) -> list[Part]:
    """Whole percents in order, 100 in all; what rounding leaves goes to the first that gets anything."""
    left = 100
    dealt = []
    for part in wanted:
        dealt.append(min(left, round(part)))
        left -= dealt[-1]
    if left:
        dealt[next(place for place, part in enumerate(wanted) if part)] += left
    return [Part(percent, panic) for percent, panic in zip(dealt, panics, strict=True)]
