"""What is done about calls that failed: the parts of a service config that the load goes by, put to work."""

from __future__ import annotations

from random import Random

from lbctl.clock import Clock
from lbctl.load.attempts import AlarmMaker, Attempts
from lbctl.load.hedging import Hedging
from lbctl.load.plan import Repeating
from lbctl.load.retrying import Retrying
from lbctl.load.throttle import Budget, Throttle
from lbctl.rpc.alarm import Alarm


def attempts_of(repeating: Repeating, rng: Random, clock: Clock, alarm: AlarmMaker = Alarm) -> Attempts | None:
    """Who makes further attempts; None where every call is one attempt."""
    throttle = Throttle(repeating.throttling) if repeating.throttling is not None else None
    budget = Budget(repeating.budget) if repeating.budget is not None else None
    if repeating.hedging is not None:
        return Hedging(repeating.hedging, clock.now_ns, throttle, budget, alarm)
    if repeating.retry is not None:
        return Retrying(repeating.retry, rng, clock.now_ns, throttle, budget, alarm)
    return None
