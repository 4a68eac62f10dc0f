"""The scores of ``fastest``: a latency, times the calls that already wait there; and who has the lowest of many.

A score is mostly that of one peer; those who have the same are tied, and stand on a level. A heap of the scores says
which is the lowest that somebody has. A score is computed when a call to its peer begins or ends. As calls may be given
back unsent, and nobody told, every few picks one peer is looked at, and the chosen one always is before it is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import cycle
from random import Random
from typing import Final

from lbctl.balance.estimates import Estimate
from lbctl.balance.levels import PAUSE, Level, Spot
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.ties import drawn
from lbctl.balance.two_choices import NEVER_NS

_UNKNOWN_NS: Final = 1e9  # the latency of who never answered, and is busy


class Node(Kept):
    """What is known of one peer."""

    __slots__ = ("estimate", "picked_ns")

    def __init__(self, estimate: Estimate) -> None:
        super().__init__()
        self.estimate = estimate
        self.picked_ns = NEVER_NS


class Scored(Spot):
    """A peer and its score."""

    __slots__ = ("node", "score")

    def __init__(self, index: int, peer: Peer, node: Node, weight: int) -> None:
        super().__init__(index, peer, node, weight, weight)
        self.node = node
        self.score = 0.0


class Scores:
    """Chooses one of the lowest score, equals by weight; for Dubbo who never answered has the best one, busy or not."""

    def __init__(
        self,
        peers: Sequence[Peer],
        nodes: Sequence[Node],
        weights: Sequence[int],
        rng: Random,
        *,
        is_dubbo: bool,
        times_in_flight: bool,
    ) -> None:
        self.spots = [*map(Scored, range(len(peers)), peers, nodes, weights)]
        self._is_dubbo = is_dubbo
        self._times_in_flight = times_in_flight
        self._make = drawn(weights, rng.random)
        self._found: dict[float, Scored | Level] = {}  # who has a score
        self._queue: list[float] = []  # the scores, and some that nobody has any more
        self._chosen: Scored | None = None  # has no score until it is looked at again
        for spot in self.spots:
            self._enter(spot, 0)
        self._next = cycle([look for spot in self.spots for look in (spot, *PAUSE)]).__next__

    def lowest(self, now_ns: int) -> Scored:
        """Choose one; the pick is expected to be counted before the next one."""
        if self._chosen is not None:
            self.changed(self._chosen, now_ns)
        looked_at = self._next()
        if looked_at is not None and looked_at.peer.in_flight + looked_at.node.count != looked_at.load:
            self.changed(looked_at, now_ns)
        found, queue = self._found, self._queue
        while True:
            holder = found.get(queue[0])
            if holder is None:
                heappop(queue)
                continue
            if isinstance(holder, Scored):
                chosen = holder
                del found[queue[0]]
            else:
                chosen = self.spots[holder.pop().index]
                if not holder.total:
                    del found[queue[0]]
            peer = chosen.peer
            if peer.picks - peer.finished + chosen.node.count == chosen.load:
                self._chosen = chosen
                return chosen
            self._enter(chosen, now_ns)

    def take(self, spot: Scored, now_ns: int) -> None:
        """Choose this one, whatever its score."""
        if self._chosen is not None:
            self.changed(self._chosen, now_ns)
        self._leave(spot)
        self._chosen = spot

    def changed(self, spot: Scored, now_ns: int) -> None:
        """The load of this one, or its latency, may be another now."""
        if spot is self._chosen:
            self._chosen = None
        else:
            self._leave(spot)
        self._enter(spot, now_ns)

    def _enter(self, spot: Scored, now_ns: int) -> None:
        peer, node, found = spot.peer, spot.node, self._found
        load = spot.load = peer.picks - peer.finished + node.count
        latency_ns = node.estimate.value_ns(now_ns)
        if latency_ns:
            score = latency_ns * ((load if self._times_in_flight else node.count) + 1)
        else:
            score = 0.0 if self._is_dubbo or not load else _UNKNOWN_NS * (load + 1)
        spot.score = score
        if score in found:
            self._tie(found[score], spot)
            return
        found[score] = spot
        heappush(self._queue, score)
        if len(self._queue) > 64 + 3 * len(self.spots):
            self._queue[:] = found
            heapify(self._queue)

    def _tie(self, holder: Scored | Level, spot: Scored) -> None:
        """One comes to a score that somebody has."""
        if isinstance(holder, Scored):
            level = self._found[spot.score] = self._make(spot.score)
            level.add(holder)
            holder = level
        holder.add(spot)

    def _leave(self, spot: Scored) -> None:
        holder = self._found[spot.score]
        if isinstance(holder, Scored):
            del self._found[spot.score]
            return
        holder.remove(spot)
        if not holder.total:
            del self._found[spot.score]
