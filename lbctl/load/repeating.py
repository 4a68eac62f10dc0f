"""What is done about calls that failed: the parts of a service config that the load goes by, put to work."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from lbctl.clock import Clock
from lbctl.load.attempts import AlarmMaker, Attempts
from lbctl.load.hedging import Hedging
from lbctl.load.plan import Repeating
from lbctl.load.retrying import Retrying
from lbctl.load.throttle import Budget, Throttle
from lbctl.rpc.alarm import Alarm
from lbctl.stats.report import Repeated


def repeated_of(repeating: Repeating, attempts: Attempts | None) -> Repeated | None:
    """What came of it so far."""
    policy = repeating.hedging or repeating.retry
    if policy is None or attempts is None:
        return None
    counts, throttle = attempts.counts, attempts.throttle
    return Repeated(
        policy="hedging" if repeating.hedging is not None else "retry",
        max_attempts=policy.max_attempts,
        sent=counts.sent,
        cancelled=counts.cancelled,
        throttled=counts.throttled,
        refused=counts.refused,
        exhausted=counts.exhausted,
        waiting=len(attempts.held),
        codes=dict(counts.codes.most_common()),
        tokens=None if throttle is None else throttle.tokens / 1000,
    )


def retried_of(transparent: Mapping[str, int], repeated: Repeated | None) -> Mapping[str, int]:
    """Retries by why: of calls that were not processed, and of those that had failed. A hedge is no retry."""
    by_policy = repeated.sent if repeated is not None and repeated.policy == "retry" else 0
    return {**transparent, **({"policy": by_policy} if by_policy else {})}


def attempts_of(repeating: Repeating, rng: Random, clock: Clock, alarm: AlarmMaker = Alarm) -> Attempts | None:
    """Who makes further attempts; None where every call is one attempt."""
    throttle = Throttle(repeating.throttling) if repeating.throttling is not None else None
    budget = Budget(repeating.budget) if repeating.budget is not None else None
    if repeating.hedging is not None:
        return Hedging(repeating.hedging, clock.now_ns, throttle, budget, alarm)
    if repeating.retry is not None:
        return Retrying(repeating.retry, rng, clock.now_ns, throttle, budget, alarm)
    return None
