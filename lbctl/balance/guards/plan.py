"""Everything that is put around a policy in one run, as it was asked for; nothing by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from lbctl.balance.guards.base import Guard, Rotation
from lbctl.balance.guards.breakers import (
    Breaker,
    GozeroBreaker,
    GozeroOptions,
    KratosOptions,
    MaxRequests,
    MaxRequestsOptions,
    SreBreaker,
    SreOptions,
)
from lbctl.balance.guards.circuit import CircuitBreakers, CircuitOptions
from lbctl.balance.guards.health import HealthOptions
from lbctl.balance.guards.outlier import OutlierDetection, OutlierOptions
from lbctl.balance.guards.slow_start import SlowStart, SlowStartOptions
from lbctl.balance.policies.options import spelled
from lbctl.balance.selection import Mode, Selection

BreakerOptions = SreOptions | GozeroOptions | MaxRequestsOptions

# What ``--breaker NAME`` stands for. The first is for each backend, the others are before the pick.
BREAKERS: Mapping[str, CircuitOptions | BreakerOptions] = {
    "consecutive": CircuitOptions(),
    "sre": SreOptions(),
    "kratos": KratosOptions(),
    "gozero": GozeroOptions(),
    "max-requests": MaxRequestsOptions(),
}


@dataclass(frozen=True, slots=True)
class GuardPlan:
    """What is used has options; ``breakers`` are those before the pick, by name."""

    outlier: OutlierOptions | None = None
    circuit: CircuitOptions | None = None
    breakers: Mapping[str, BreakerOptions] = field(default_factory=dict)
    slow_start: SlowStartOptions | None = None
    health: HealthOptions | None = None
    selection: Selection = field(default_factory=Selection)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing around the policy."""
        return self == GuardPlan()

    def guards(self, rotation: Rotation, seed: int) -> list[Guard]:
        """The guards, each with a source of chance of its own: picks must not depend on them."""
        found: list[Guard] = []
        if self.outlier is not None:
            found.append(OutlierDetection(self.outlier, rotation, Random(f"outlier {seed}")))
        if self.circuit is not None:
            found.append(CircuitBreakers(self.circuit, rotation, Random(f"circuit {seed}")))
        if self.slow_start is not None:
            found.append(SlowStart(self.slow_start, rotation))
        return found

    def admission(self, seed: int) -> list[Breaker]:
        """The breakers before the pick, in the order they were named."""
        return [_breaker(name, options, Random(f"{name} {seed}")) for name, options in self.breakers.items()]

    def selecting(self, seed: int) -> Selection:
        """The selection; a subset that has no seed of its own gets the run's."""
        return replace(self.selection, seed=seed)

    @property
    def stated(self) -> Mapping[str, Mapping[str, str]]:
        """What is used, and the options that are not at their defaults, as they would be typed."""
        selection = self.selection
        parts: Sequence[tuple[str, Any]] = (
            ("health-check", self.health),
            ("outlier-detection", self.outlier),
            ("breaker consecutive", self.circuit),
            *((f"breaker {name}", options) for name, options in self.breakers.items()),
            ("slow-start", self.slow_start),
            ("subset", selection.subset),
            ("zone", selection.zone),
        )
        stated: dict[str, Mapping[str, str]] = {
            name: spelled(options) for name, options in parts if options is not None
        }
        if selection.panic:
            stated["panic-threshold"] = {"percent": f"{selection.panic:g}"}
        if selection.when_all_out is not Mode.PANIC:
            stated["when-all-out"] = {"do": selection.when_all_out.value}
        return stated


def _breaker(name: str, options: BreakerOptions, rng: Random) -> Breaker:
    if isinstance(options, GozeroOptions):
        return GozeroBreaker(options, rng)
    if isinstance(options, MaxRequestsOptions):
        return MaxRequests(options)
    return SreBreaker(name, options, rng)
