"""A weight by thresholds: how often a backend failed lately, and how long it took, move it away from its base weight.

The rule starts from the base weight each time, never from the weight in force: one that starts from its own last
result runs to a bound, and then every healthy backend has the greatest weight there is and weights say nothing.

    base   requests   errors   mean     errors first     then latency    weight
    5      9          9        500ms    too few                          5
    5      100        0        5ms      below 1%: x2     below 10ms: +1  10, not 11
    5      100        20       150ms    above 10%: /2    above 100ms: -1 1
    8      100        0        200ms    x2 is 10         -1              9
    5      100        10       100ms    neither: 10% is not above 10%    5

A step up ends at the greatest weight, a step down at the least; neither moves a base that is beyond that already, and
a base of 0, which keeps a backend out of the rotation, stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When weights are halved, doubled, lowered or raised by one, and between which bounds; all are strict."""

    min_requests: int = 10  # with fewer the base weight stands
    error_high: float = 0.10
    error_low: float = 0.01
    latency_high_s: float = 0.100
    latency_low_s: float = 0.010
    min_weight: int = 1
    max_weight: int = 10

    def __post_init__(self) -> None:
        if self.error_low > self.error_high:
            raise ValueError("error-low is above error-high")
        if self.latency_low_s > self.latency_high_s:
            raise ValueError("latency-low is above latency-high")
        if not 1 <= self.min_weight <= self.max_weight:
            raise ValueError("weights have to be at least 1, and the least not above the greatest")


class _Step(NamedTuple):
    weight: int
    text: str


def adjusted(base: int, requests: int, errors: int, mean_latency_s: float, rule: Thresholds) -> int:
    """The weight that so many requests, errors among them, and their mean latency make of a base weight."""
    weight = base
    for step in _steps(base, requests, errors, mean_latency_s, rule):
        weight = step.weight
    return weight


def explained(base: int, requests: int, errors: int, mean_latency_s: float, rule: Thresholds) -> str:
    """Why ``adjusted`` returns what it does, in one line."""
    if not base:
        return "weight 0 stays"
    if requests < rule.min_requests:
        return f"{requests} requests, too few to judge"
    steps = [step.text for step in _steps(base, requests, errors, mean_latency_s, rule)]
    return ", ".join(steps) or f"errors {_percent(errors / requests)}, mean {_ms(mean_latency_s)}: as it is"


def _steps(base: int, requests: int, errors: int, mean_latency_s: float, rule: Thresholds) -> Iterator[_Step]:
    """The steps away from the base, each with the weight after it."""
    if not base or requests < max(rule.min_requests, 1):
        return
    weight, rate = base, errors / requests
    if rate > rule.error_high:
        weight = _lowered(weight, weight // 2, rule)
        yield _Step(weight, f"errors {_percent(rate)} above {_percent(rule.error_high)}: halved")
    elif rate < rule.error_low:
        weight = _raised(weight, weight * 2, rule)
        yield _Step(weight, f"errors {_percent(rate)} below {_percent(rule.error_low)}: doubled")
    if mean_latency_s > rule.latency_high_s:
        weight = _lowered(weight, weight - 1, rule)
        yield _Step(weight, f"mean {_ms(mean_latency_s)} above {_ms(rule.latency_high_s)}: -1")
    elif mean_latency_s < rule.latency_low_s:
        weight = _raised(weight, weight + 1, rule)
        yield _Step(weight, f"mean {_ms(mean_latency_s)} below {_ms(rule.latency_low_s)}: +1")


def _lowered(weight: int, wanted: int, rule: Thresholds) -> int:
    return min(weight, max(wanted, rule.min_weight))


def _raised(weight: int, wanted: int, rule: Thresholds) -> int:
    return max(weight, min(wanted, rule.max_weight))


def _percent(rate: float) -> str:
    return f"{rate * 100:.3g}%"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}ms" if seconds < 1 else f"{seconds:.3g}s"
