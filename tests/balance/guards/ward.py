"""A balancer with guards around it, a clock that tests turn, and the events that were told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.base import Guard
from lbctl.balance.peer import Peer
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.selection import Selection
from lbctl.model import Code, Identity, Instance, Reply
from tests.balance.fleet import ANY, instance, letters

SECOND = 1_000_000_000


class Attempt(NamedTuple):
    """What guards see of an attempt that ended OK."""

    begun_ns: int = 0
    trial_ns: int = 0


class Ward:
    """All instances are connected at once; nothing happens but what a test says."""

    def __init__(
        self,
        keys: Iterable[str],
        make: Callable[[Balancer], Sequence[Guard]] = lambda _: (),
        *,
        selection: Selection | None = None,
        policy: str = "round_robin",
        begun: bool = True,
    ) -> None:
        self.now_ns = SECOND
        self.told: list[tuple[str, str, str]] = []  # kind, key, text
        self.balancer = Balancer(POLICIES[policy], Random(1))
        self.balancer.on_note = lambda kind, peer, text, level: self.told.append((kind, peer.instance.key, text))
        self.guards = make(self.balancer)
        self.balancer.guard(*self.guards)
        if selection is not None:
            self.balancer.select(selection)
        self.set(*(instance(key) for key in keys))
        assert self.balancer.picker is not None  # a peer that was never picked from is nobody when it comes back
        if begun:
            self.balancer.tick(self.now_ns)

    def set(self, *instances: Instance) -> None:
        """Make the registry list exactly these."""
        for peer in self.balancer.update(instances).added:
            self.balancer.mark(peer, ready=True)

    def peer(self, key: str) -> Peer:
        return self.balancer.peers[Identity(key, instance(key).endpoint)]

    def pass_(self, seconds: float) -> None:
        """Let time pass and the guards look at the clock once."""
        self.now_ns += round(seconds * SECOND)
        self.balancer.tick(self.now_ns)

    def ok(self, key: str, count: int = 1, *, trial_ns: int = 0) -> None:
        self.balancer.succeeded(self.peer(key), [Attempt(self.now_ns, trial_ns)] * count, self.now_ns)

    def fail(self, key: str, count: int = 1, code: Code = Code.UNAVAILABLE, *, trial_ns: int = 0) -> None:
        for _ in range(count):
            self.balancer.ended(self.peer(key), self.now_ns, self.now_ns, Reply(code), trial_ns)

    @property
    def inside(self) -> str:
        """The keys that picks go to, in order."""
        picker = self.balancer.picker
        if picker is None:
            return ""
        return letters(sorted({picker.pick(ANY) for _ in range(200)}, key=lambda peer: peer.instance.key))

    def trials(self) -> str:
        """Whom calls are to be sent to, to try them."""
        return letters(self.balancer.trials)

    def events(self, kind: str) -> list[str]:
        return [f"{key}: {text}" for told, key, text in self.told if told == kind]
