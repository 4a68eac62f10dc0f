"""What watches peers from outside the policy and keeps some of them out of the rotation, or weakens them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lbctl.balance.peer import Peer
from lbctl.model import Reply


class Ended(Protocol):
    """An attempt that has ended: when it began, in ns."""

    @property
    def begun_ns(self) -> int: ...


class Guard(Protocol):
    """Learns how attempts end and what time it is; acts through the balancer (``bar``, ``warm``, ``try_out``)."""

    def succeeded(self, peer: Peer, count: int, now_ns: int) -> None:
        """So many attempts ended OK."""
        ...

    def ended(self, peer: Peer, reply: Reply, now_ns: int) -> None:
        """One attempt ended, mostly not OK."""
        ...

    def marked(self, peer: Peer) -> None:
        """The peer became ready, or is no longer; one that has left is not."""
        ...

    def tick(self, peers: Iterable[Peer], now_ns: int) -> None:
        """Time has passed; ``peers`` are all that the registry lists."""
        ...
