"""One instance's running numbers, which survive every rebuild of the picker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from lbctl.model import Instance


class Target(Protocol):
    """Where a picked call goes: a subchannel, or a modelled server."""

    def send(self, call: Any) -> None: ...  # noqa: ANN401  # the engine's own object, opaque here


class Nowhere:
    """The target of a peer that nobody has connected: picking it is a mistake of ours."""

    def send(self, call: Any) -> None:  # noqa: ANN401
        raise AssertionError("picked a peer without a target")


def _nobody() -> None:
    """Nobody has to know."""


@dataclass(slots=True, eq=False)
class Peer:
    """An instance as the balancer knows it; counts only ever grow, so in flight cannot drift.

    ``picks``, ``finished`` and ``returned`` are written by the engine; everything else by the balancer.
    """

    instance: Instance
    target: Target = field(default_factory=Nowhere)
    picks: int = 0
    finished: int = 0
    returned: int = 0  # picks that the engine gave back: nothing was sent, and they are finished
    belated: int = 0  # picks that became known after the picker that made them had gone, judged by nobody
    expected: float = 0.0  # picks expected in closed epochs
    credit: float = 0.0  # what turns owe this peer, also when it comes back (smooth WRR: calls)
    waited: Fraction = Fraction(0)  # likewise: the part of its interval that it has waited (EDF)
    memory: Any = None  # what else a policy knows of this peer; gone when the policy is switched
    unannounced: Callable[[], None] = _nobody  # called when calls in flight change and no picker is told of it
    override: int | None = None  # the weight that a policy goes by instead of the registry's; gone with its memory
    ready: bool = False
    arrivals: int = 0  # how often it has become ready
    drained: bool = False
    bars: set[str] = field(default_factory=set)  # why guards keep it out of the rotation
    warmth: float = 1.0  # the part of its weight it has while it warms up, above 0
    coverage: float = 1.0  # the part of it that is this client's: less than 1 at the ends of an aperture
    aside: str = ""  # why it is left out although nothing is wrong with it

    @property
    def weight(self) -> int:
        return self.instance.effective_weight

    @property
    def weight_used(self) -> float:
        """The weight of a policy that goes by weights: its own or the registry's, and the part of it that counts."""
        return (self.weight if self.override is None else self.override) * self.scale

    @property
    def scale(self) -> float:
        """The part of its weight that counts."""
        return self.warmth * self.coverage

    @property
    def in_flight(self) -> int:
        return self.picks - self.finished

    def forget(self) -> None:
        """Count picks anew; those in flight stay."""
        self.picks, self.finished, self.returned, self.belated, self.expected = self.in_flight, 0, 0, 0, 0.0

    def give_back(self) -> None:
        """Take a pick back that nothing was sent for; it stays a decision of the policy's."""
        self.finished += 1
        self.returned += 1
        self.unannounced()

    @property
    def sent(self) -> int:
        """Attempts that went there, or are about to."""
        return self.picks - self.returned

    @property
    def judged(self) -> int:
        """The picks that a verdict can be made of."""
        return self.picks - self.belated

    @property
    def eligible(self) -> bool:
        """True when calls may go here, weight aside: connected, not drained or barred, and up as the registry says."""
        return self.reachable and not self.bars

    @property
    def reachable(self) -> bool:
        """True when calls can go here and nobody has said that they must not, whatever guards think of it."""
        return self.ready and not self.drained and self.instance.status is None
