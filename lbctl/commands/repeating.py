"""What a service config and the flags beside it mean for the calls of one method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from lbctl.balance.service_config import ServiceConfig
from lbctl.balance.service_methods import HedgingPolicy, MethodConfig, RetryPolicy
from lbctl.load.attempts import REPLAY_BUFFER
from lbctl.load.plan import Plan, Repeating
from lbctl.load.throttle import Allowance
from lbctl.model import Code

_CODES: Final = frozenset({Code.UNAVAILABLE})
_INITIAL_NS: Final = 100_000_000
_LONGEST_NS: Final = 1_000_000_000
_MULTIPLIER: Final = 2.0
_HEDGED_ATTEMPTS: Final = 2
_KEPT: Final = f"{REPLAY_BUFFER >> 10} KiB"


@dataclass(frozen=True, slots=True)
class Configured:
    """The service config, and what flags say instead: ``attempts`` at most, one each ``hedge_s``, within ``budget``.

    ``timeout_given``: the deadline was typed, so that the shorter one of it and the method's counts.
    """

    config: ServiceConfig = field(default_factory=ServiceConfig)
    attempts: int | None = None
    hedge_s: float | None = None
    budget: Allowance | None = None
    timeout_given: bool = False

    def plan(self, plan: Plan, method: str) -> Plan:
        """The plan with the deadline that the method has."""
        timeout_ns = self.config.method(method).timeout_ns
        if timeout_ns is None:
            return plan
        timeout_s = timeout_ns / 1e9
        if self.timeout_given and plan.timeout_s:
            timeout_s = min(timeout_s, plan.timeout_s)
        return replace(plan, timeout_s=timeout_s)

    def repeating(self, method: str) -> Repeating:
        """How its calls are repeated. What a flag says counts."""
        found = self.config.method(method)
        retry, hedging = self._policies(found)
        return Repeating(retry, hedging, self.config.throttling, self.budget)

    def _policies(self, found: MethodConfig) -> tuple[RetryPolicy | None, HedgingPolicy | None]:
        if self.hedge_s is not None:
            attempts = self.attempts or _HEDGED_ATTEMPTS
            return None, HedgingPolicy(attempts, round(self.hedge_s * 1e9), _CODES)
        if self.attempts is not None:
            return RetryPolicy(self.attempts, _INITIAL_NS, _LONGEST_NS, _MULTIPLIER, _CODES), None
        return found.retry, found.hedging

    def notes(self, method: str, *, outgrows: bool = False) -> Iterator[str]:
        """What of all this does not mean what one might think, a sentence each.

        ``outgrows``: a call sends more than is kept to be sent again.
        """
        yield from self.config.notes
        found = self.config.method(method)
        if self.config.methods and found == MethodConfig():
            yield f"service config: no methodConfig is for {method}"
        flag = "--hedge" if self.hedge_s is not None else "--max-attempts" if self.attempts is not None else ""
        if flag and (found.retry or found.hedging):
            yield f"{flag} counts, not the {'retryPolicy' if found.retry else 'hedgingPolicy'} of the service config"
        retry, hedging = self._policies(found)
        if outgrows and (retry or hedging):
            what = "retried" if retry else "hedged"
            yield f"{method} sends more than the {_KEPT} that gRPC clients keep of a call: it is not {what} beyond that"
        elif retry is None and hedging is None:
            if self.budget is not None:
                yield "--retry-budget has no effect: nothing is retried by a policy"
            if self.config.throttling is not None:
                yield f"service config: retryThrottling has no effect: there is no retryPolicy for {method}"
