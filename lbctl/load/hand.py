"""The hand on a running load: what a person at the screen can do to it; see ``Controls``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lbctl.balance.balancer import Balancer
from lbctl.balance.policies.base import Policy
from lbctl.balance.policies.table import GRPC_POLICIES, POLICIES
from lbctl.load.backends import Backends, Note
from lbctl.load.controls import Question, RegistryControls
from lbctl.load.loops import Loop
from lbctl.load.stopwatch import Stopwatch


class NoRegistry:
    """The registry of a run that is not to change any."""

    question: Question | None = None
    busy = ""

    def __init__(self) -> None:
        self.on_news: Callable[[], None] = lambda: None

    def turn(self, address: str) -> None:
        """Do nothing."""

    def weigh(self, address: str, weight: int) -> None:
        """Do nothing."""

    def deregister(self, address: str) -> None:
        """Do nothing."""

    def answer(self, *, yes: bool) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Hand:
    """Implements Controls over the parts of a run; nothing but ``log`` does anything once the run is ``over``.

    ``going`` tells whether calls may still be issued, ``policies`` are those that can be switched to.
    """

    loop: Callable[[], Loop]  # the one that issues calls now
    balancer: Balancer
    policies: Sequence[Policy]
    backends: Backends
    stopwatch: Stopwatch
    note: Note
    going: Callable[[], bool]
    over: Callable[[], bool]
    stop: Callable[[], None]
    abort: Callable[[], None]
    begin_anew: Callable[[], None]
    registry: RegistryControls = field(default_factory=NoRegistry)

    def pause(self) -> None:
        if not self.loop().paused and self.going():
            self.note("rate", None, "paused", "change")
            self.loop().pause()
            self.stopwatch.pause()

    def resume(self) -> None:
        if self.loop().paused and self.going():
            self.stopwatch.resume()
            self.note("rate", None, "resumed", "change")
            self.loop().resume()

    def scale(self, factor: float) -> None:
        if self.going():
            text = self.loop().scale(factor)
            if text:
                self.note("rate", None, text, "change")

    def next_policy(self, step: int) -> None:
        if self.over():
            return
        names = [policy.name for policy in self.policies]
        policy = self.policies[(names.index(self.balancer.policy.name) + step) % len(names)]
        self.balancer.switch(policy)
        options = "".join(f" {name}={value}" for name, value in policy.stated.items())
        self.note("policy", None, f"policy -> {policy.name}{options}", "change")

    def drain(self, key: str, address: str) -> None:
        if not self.over():
            self.backends.drain(key, address)

    def recount(self) -> None:
        if self.going():
            self.begin_anew()

    def log(self, text: str) -> None:
        self.note("log", None, text, "info")


def rotation(started: Policy, *, keyed: bool) -> list[Policy]:
    """The policies a run can go through, that it started with as it is; ``keyed``: calls carry hash keys."""
    # gRPC's own balancers and lbctl's pick over connections of different kinds.
    kind = GRPC_POLICIES if started.name in GRPC_POLICIES else POLICIES
    able = [
        policy
        for policy in kind.values()
        # What connections hand over was decided when they were made.
        if policy.name == started.name or ((keyed or not policy.keyed) and policy.wants <= started.wants)
    ]
    return [started if policy.name == started.name else policy for policy in able]
