"""What a run is asked to do: how much load, until when, against whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lbctl.model import Endpoint
from lbctl.wire.request import Request


@dataclass(frozen=True, slots=True)
class Plan:
    """A closed loop: ``concurrency`` calls are in flight until ``requests`` were sent or ``duration_s`` has passed.

    At least one of the two limits is set. ``timeout_s`` is each call's deadline, 0 for none.
    """

    concurrency: int
    requests: int | None
    duration_s: float | None
    timeout_s: float

    @property
    def timeout_ns(self) -> int:
        return int(self.timeout_s * 1e9)


@dataclass(frozen=True, slots=True)
class Task:
    """What a run is about: the names shown, the policy, the seed of every random choice, and the load."""

    service: str
    method: str
    policy: str
    seed: int
    plan: Plan
    request_for: Callable[[Endpoint], Request]
    connect_timeout_s: float = 10.0
    grace_s: float = 5.0
    starve_s: float = 30.0  # how long a run without a duration waits for any backend to be ready
    policy_options: Mapping[str, str] = field(default_factory=dict)
