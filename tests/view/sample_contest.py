"""A comparison with invented numbers, the same every time: four policies, and three rounds."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final

from lbctl.model import Event
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import BackendRow, Report
from lbctl.stats.rounds import Contender, Contest, Going, Trial, order_of
from tests.view.sample import sample

POLICIES: Final = (
    Contender("smooth_wrr", "smooth_wrr"),
    Contender("p2c_ewma", "p2c_ewma"),
    Contender("random", "random"),
    Contender("consistent_hash", "consistent_hash"),
)
# what a policy does to the typical latency, and to the share of each backend
_FACTORS: Final = {"smooth_wrr": 1.0, "p2c_ewma": 0.6, "random": 1.04, "consistent_hash": 1.3}
_PULL: Final = {"p2c_ewma": (1.1, 1.1, 1.0, 0.4, 1.0), "consistent_hash": (0.9, 1.4, 0.9, 0.6, 0.9)}
_WEIGHT: Final = (Event(3.2, "weight", "10.0.0.13:50051", "weight 2 -> 3", "change"),)
_EVENTS: Final = (
    Event(41.0, "compare", None, "round 2 smooth_wrr done: 10,000 requests in 8.3s"),
    Event(49.9, "compare", None, "10.0.0.14:50051 slow: p99 58ms, 2.6x the median backend", "change"),
    Event(66.2, "compare", None, "round 2 consistent_hash started"),
)


def trial_report(policy: str, number: int, *, calls: int = 2000, drift: float = 1.0, **changes: Any) -> Report:  # noqa: ANN401
    """A run of a policy that came to its end; ``drift`` makes every call of it longer."""
    rng = Random(f"{policy} {number}")
    base = sample(5, calls=calls, in_flight=0, end_reason="completed")
    times = Histogram()
    typical = 2000 * _FACTORS[policy] * drift * rng.uniform(0.98, 1.02)
    for _ in range(calls):
        times.record(int(typical * rng.lognormvariate(0, 0.5)))
    pull = _PULL.get(policy, (1.0,) * 5)
    scale = sum(row.expected * part for row, part in zip(base.backends, pull, strict=True)) / calls
    rows: list[BackendRow] = [
        replace(row, picks=round(row.expected * part / scale), state="ready", reason="", in_flight=0)
        for row, part in zip(base.backends, pull, strict=True)
    ]
    return replace(
        base,
        policy=policy,
        backends=tuple(rows),
        latency=times,
        issued=calls,
        completed=calls,
        ok=calls - 5,
        errors=5,
        elapsed_s=calls / 1200 * _FACTORS[policy] ** 0.2 * drift * rng.uniform(0.98, 1.02),
        balance=replace(base.balance, stated=policy != "p2c_ewma"),
        **{"events": (), **changes},
    )


def contest_sample(runs: int = 9, **changes: Any) -> Contest:  # noqa: ANN401
    """The comparison in its second minute, so many runs being over; ``changes`` replace fields."""
    order = [each for (each,) in order_of("interleaved", 4, 3)]
    trials = [
        Trial(place, number, index, trial_report(POLICIES[place].policy, number, events=_WEIGHT if index == 5 else ()))
        for index, (place, number) in enumerate(order[:runs], 1)
    ]
    going = [
        Going(place, number, replace(trial_report(POLICIES[place].policy, number, calls=900), end_reason=None))
        for place, number in order[runs : runs + 1]
    ]
    contest = Contest(
        service="echo",
        method="demo.echo.v1.Echo/Say",
        contenders=POLICIES,
        rounds=3,
        order="interleaved",
        pause_s=1.0,
        seed=42,
        load="c=50",
        trials=tuple(trials),
        going=tuple(going),
        events=_EVENTS,
        elapsed_s=72.0,
        over=not going,
    )
    return replace(contest, **changes)
