"""Slow start: a backend that comes into the rotation during a run gets its weight little by little.

    dialect   part of the weight, t after it came                            with a window of 60 s, at 15 s
    envoy     (t / window) ^ (1 / aggression), at least min-weight percent   25 %
    haproxy   sixteenths: (16 t + window) / window, rounded down, 1..16      5/16
    dubbo     t / window of the weight in whole numbers, at least 1          weight 100: 25

Those that are there when the run begins have their full weight, and one that leaves the rotation starts anew when it
comes back. Only policies that go by weights see any of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from lbctl.balance.guards.base import Guard, Rotation, seconds
from lbctl.balance.peer import Peer
from lbctl.balance.policies.options import option

_STEPS: Final = 50  # of the window; each makes a new picker


@dataclass(frozen=True, slots=True)
class SlowStartOptions:
    """How long it takes, and how the weight grows."""

    window: float = option(30.0, "how long until a backend has its whole weight", above=0, unit="duration")
    dialect: str = option("envoy", "whose curve", choices=("envoy", "haproxy", "dubbo"))
    min_weight: float = option(10.0, "envoy: percent of its weight it has at least", above=0, most=100)
    aggression: float = option(1.0, "envoy: above 1 it gets more of its weight early", above=0, most=100)


class SlowStart(Guard):
    """Warms up what becomes eligible after the first tick."""

    def __init__(self, options: SlowStartOptions, rotation: Rotation) -> None:
        self._options = options
        self._window_ns = seconds(options.window)
        self._rotation = rotation
        self._begun = False
        self._inside: set[Peer] = set()  # eligible when last looked at
        self._since: dict[Peer, int | None] = {}  # who warms up, and since when; None until the next tick
        self._step: dict[Peer, int] = {}

    def marked(self, peer: Peer) -> None:
        if not self._begun or peer.eligible == (peer in self._inside):
            return
        if peer.eligible:
            self._inside.add(peer)
            self._since[peer] = None
            self._rotation.warm(peer, warmth(self._options, 0, peer.weight))
        else:
            self._forget(peer)

    def left(self, peer: Peer) -> None:
        self._forget(peer)

    def tick(self, peers: Collection[Peer], now_ns: int) -> None:
        if not self._begun:
            self._begun = True
            self._inside = {peer for peer in peers if peer.eligible}
        for peer, since_ns in list(self._since.items()):
            if since_ns is None:
                self._since[peer] = now_ns
            else:
                self._grow(peer, now_ns - since_ns)

    def _grow(self, peer: Peer, passed_ns: int) -> None:
        if passed_ns >= self._window_ns:
            self._since.pop(peer)
            self._step.pop(peer, None)
            self._rotation.warm(peer, 1.0)
            return
        step = passed_ns * _STEPS // self._window_ns
        if step != self._step.get(peer):
            self._step[peer] = step
            self._rotation.warm(peer, warmth(self._options, passed_ns, peer.weight))

    def _forget(self, peer: Peer) -> None:
        self._inside.discard(peer)
        self._step.pop(peer, None)
        if peer in self._since:
            del self._since[peer]
            self._rotation.warm(peer, 1.0)


def warmth(options: SlowStartOptions, passed_ns: int, weight: int) -> float:
    """The part of its weight that a backend has after that time, above 0 and at most 1."""
    window_ns = seconds(options.window)
    if passed_ns >= window_ns:
        return 1.0
    if options.dialect == "haproxy":
        return min(16, (16 * passed_ns + window_ns) // window_ns) / 16
    if options.dialect == "dubbo":
        return max(1, passed_ns * weight // window_ns) / weight if weight else 1.0
    return float(max(options.min_weight / 100, (passed_ns / window_ns) ** (1 / options.aggression)))
