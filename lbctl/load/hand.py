"""The hand on a running load: what a person at the screen can do to it; see ``Controls``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lbctl.balance.balancer import Balancer
from lbctl.balance.policies import POLICIES
from lbctl.load.backends import Backends, Note
from lbctl.load.engine import Engine
from lbctl.load.stopwatch import Stopwatch


@dataclass(frozen=True, slots=True)
class Hand:
    """Implements Controls over the parts of a run; nothing but ``log`` does anything once the run is ``over``.

    ``going`` tells whether calls may still be issued.
    """

    engine: Engine
    balancer: Balancer
    backends: Backends
    stopwatch: Stopwatch
    note: Note
    going: Callable[[], bool]
    over: Callable[[], bool]
    stop: Callable[[], None]
    abort: Callable[[], None]

    def pause(self) -> None:
        if not self.engine.paused and self.going():
            self.note("rate", None, "paused", "change")
            self.engine.paused = True
            self.stopwatch.pause()

    def resume(self) -> None:
        if self.engine.paused and self.going():
            self.engine.paused = False
            self.stopwatch.resume()
            self.note("rate", None, "resumed", "change")
            self.engine.refill()

    def scale(self, factor: float) -> None:
        before = self.engine.concurrency
        after = round(before * factor)
        if factor > 1:
            after = max(after, before + 1)  # a small number changes by at least one
        elif factor < 1:
            after = max(1, min(after, before - 1))
        if after != before and self.going():
            self.engine.concurrency = after
            self.note("rate", None, f"concurrency {before} -> {after}", "change")
            self.engine.refill()

    def next_policy(self, step: int) -> None:
        if self.over():
            return
        names = list(POLICIES)
        name = names[(names.index(self.balancer.policy.name) + step) % len(names)]
        self.balancer.switch(POLICIES[name])
        self.note("policy", None, f"policy -> {name}", "change")

    def drain(self, key: str, address: str) -> None:
        if not self.over():
            self.backends.drain(key, address)

    def log(self, text: str) -> None:
        self.note("log", None, text, "info")
