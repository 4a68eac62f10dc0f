"""What go-zero and Kratos know of a backend: how long calls take there, and how many succeed, as moving averages."""

from __future__ import annotations

from math import exp, floor, sqrt
from typing import ClassVar, Final

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.two_choices import NEVER_NS

FULL: Final = 1000  # success of a backend whose calls never fail


class Averages(Kept):
    """What is known of one peer."""

    __slots__ = ("lag_ns", "last_ns", "picked_ns", "root", "success")

    zone_ns: ClassVar[int]  # latencies that differ by much less hardly count

    def __init__(self, lag_ns: int = 0, success: int = FULL, picked_ns: int = NEVER_NS) -> None:
        super().__init__()
        self.lag_ns = lag_ns
        self.root = int(sqrt(lag_ns + self.zone_ns))
        self.success = success
        self.last_ns = 0  # when a call last ended
        self.picked_ns = picked_ns

    def cost(self, peer: Peer, now_ns: int) -> float:
        """What one more call costs there; the lower wins."""
        raise AssertionError("whose rules are these?")

    def picked(self, now_ns: int) -> None:
        """A call begins."""
        self.picked_ns = now_ns

    def ended(self, begun_ns: int, took_ns: int, success: int, now_ns: int, decay_ns: int) -> None:
        """A call ended."""
        # The hot path: what ``moved`` does is written out.
        lag_ns, elapsed_ns = self.lag_ns, now_ns - self.last_ns
        kept = 0.0 if not lag_ns else exp(-elapsed_ns / decay_ns) if elapsed_ns > 0 else 1.0
        self.last_ns = now_ns
        self.lag_ns = lag_ns = floor(lag_ns * kept + took_ns * (1.0 - kept))
        self.success = floor(self.success * kept + success * (1.0 - kept))
        self.root = floor(sqrt(lag_ns + self.zone_ns))

    def figures(self, peer: Peer, now_ns: int) -> tuple[str, ...]:
        """The latency, the calls in flight, the success and the cost, for people."""
        in_flight = str(peer.in_flight + self.at(now_ns))
        return f"{self.lag_ns / 1e6:.1f}ms", in_flight, f"{self.success / 10:.0f}%", str(self.cost(peer, now_ns))
