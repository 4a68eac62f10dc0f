"""What a run is asked to do: how much load, until when, against whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lbctl.balance.guards.plan import GuardPlan
from lbctl.balance.keys import Keys
from lbctl.balance.policies.base import Policy
from lbctl.balance.service_config import Throttling
from lbctl.balance.service_methods import HedgingPolicy, RetryPolicy
from lbctl.load.pacing.schedule import Schedule, Warmup
from lbctl.load.requests.content import Varying
from lbctl.load.throttle import Allowance
from lbctl.model import Instance, Reply
from lbctl.rpc.options import ConnectionOptions, Secure
from lbctl.wire.request import Request

if TYPE_CHECKING:
    from lbctl.load.batch import Batch

MAX_OUTSTANDING: Final = 10_000

Judge = Callable[["Batch", Reply], Reply]


def plaintext(instance: Instance) -> Secure | None:
    """No TLS for anybody."""
    return None


@dataclass(frozen=True, slots=True)
class Plan:
    """How calls are issued until ``requests`` were sent or ``duration_s`` has passed; without either, to their end.

    Without ``schedule`` a closed loop: ``concurrency`` calls are in flight. With it an open loop: calls are due as it
    says, whatever became of those before; one that finds ``max_outstanding`` calls in flight at its backend, or
    ``concurrency`` in all unless that is 0, is dropped and counted. ``timeout_s`` is each call's deadline, 0 for none.
    Before all that the ``warmup`` is issued in the same way, and its calls are not counted. The headline time of an
    open loop counts from the plan where it is ``corrected``, else from when a call was started; with ``counts_errors``
    calls that failed and were answered are in it too.
    """

    concurrency: int
    requests: int | None
    duration_s: float | None
    timeout_s: float
    schedule: Schedule | None = None
    max_outstanding: int = MAX_OUTSTANDING
    warmup: Warmup | None = None
    corrected: bool = True
    counts_errors: bool = False

    @property
    def rps(self) -> float | None:
        """The rate in calls/s, of an open loop that has one and the same."""
        return None if self.schedule is None else self.schedule.rps

    @property
    def warming(self) -> Plan | None:
        """What is issued before anything is counted."""
        if self.warmup is None:
            return None
        requests = self.warmup.requests
        concurrency = self.concurrency if requests is None else min(self.concurrency, requests)
        return replace(self, requests=requests, duration_s=self.warmup.duration_s, concurrency=concurrency, warmup=None)

    @property
    def timeout_ns(self) -> int:
        return int(self.timeout_s * 1e9)


@dataclass(frozen=True, slots=True)
class Repeating:
    """How calls are made again: by retrying or by hedging, not both; ``throttling`` and ``budget`` bound either."""

    retry: RetryPolicy | None = None
    hedging: HedgingPolicy | None = None
    throttling: Throttling | None = None
    budget: Allowance | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """What a run is about: the names shown, the policy, the seed of every random choice, and the load.

    ``request_for`` and ``secure_for`` say what each backend is sent, and whether by TLS. Without ``retry`` a call that
    a backend says it did not process ends with what it said; ``repeating`` is about those that failed; ``guards``
    are around the policy. With ``judge`` every reply is kept and shown to it, with its call; what it returns counts.
    """

    service: str
    method: str
    policy: Policy
    seed: int
    plan: Plan
    request_for: Callable[[Instance], Request]
    secure_for: Callable[[Instance], Secure | None] = plaintext
    connection: ConnectionOptions = field(default_factory=ConnectionOptions)
    engine: str = "wire"  # a name in ``lbctl.load.engines.ENGINES``
    retry: bool = True
    repeating: Repeating = field(default_factory=Repeating)
    guards: GuardPlan = field(default_factory=GuardPlan)
    judge: Judge | None = None
    explain: int = 0  # the number of the pick that is to be explained, 0 for none
    keys: Keys | None = None  # the hash key of each call
    grace_s: float = 5.0
    varying: Varying | None = None  # where calls differ
    bases_for: Callable[[Instance], Sequence[Request]] | None = None  # then: what calls of each method have in common
    starve_s: float = 30.0  # how long a run without a duration waits for any backend to be ready
    described_by: str = ""  # v1 | v1alpha | builtin | files: who described the method
    replay: bool = True  # a policy that goes by load is judged by a simulation of the run, which takes seconds

    @property
    def shortest_timeout_s(self) -> float:
        """The shortest deadline that any of its calls has; 0 where none has one."""
        if self.varying is None or not self.varying.variants:
            return self.plan.timeout_s
        return min((each.timeout_ns / 1e9 for each in self.varying.variants if each.timeout_ns), default=0.0)
