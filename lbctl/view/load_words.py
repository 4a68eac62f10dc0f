"""How the calls of an open loop came, in words."""

from __future__ import annotations

import math

from lbctl.stats.report import Report
from lbctl.view.text import rate

_TOLD = 3  # stages; more are counted
_SPREAD = {"constant": "", "poisson": " by chance (poisson)", "recorded": "", None: ""}


def pace_of(report: Report) -> str:
    """``at 500/s``, ``at 500/s by chance (poisson)``, ``from 100/s to 2,000/s in 30s``, ``as recorded``."""
    load = report.load
    if load.arrival == "recorded":
        return "as recorded"
    return f"{_rates(report)}{_SPREAD.get(load.arrival, f' in {load.arrival}')}"


def _rates(report: Report) -> str:
    load = report.load
    if load.rps is not None:
        return f"at {rate(report.rps or load.rps, 4)}/s"
    stages = [_stage(*stage) for stage in load.stages]
    stages[1:] = [f"then {stage}" for stage in stages[1:]]
    if len(stages) > _TOLD:
        stages = [*stages[: _TOLD - 1], f"then {len(stages) - _TOLD + 1} more stages"]
    return ", ".join(stages)


def _stage(seconds: float, first: float, last: float) -> str:
    rates = f"at {rate(first, 4)}/s" if first == last else f"from {rate(first, 4)}/s to {rate(last, 4)}/s"
    time = "" if seconds == math.inf else f" {'in' if first != last else 'for'} {seconds:g}s"
    return f"{rates}{time}"
