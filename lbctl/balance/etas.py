"""Who has the least estimate of nginx's least_time, found without a look at everybody.

Peers with the same estimate for their weight stand on one level, where they take turns; a heap of the estimates says
which level is the lowest. An estimate changes when a call begins or ends, when a slot that a failed call kept becomes
free, and when a time is halved, at a second that is known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import cycle
from typing import Final

from lbctl.balance.currents import Currents, Taker
from lbctl.balance.least_time import Node, eta_ms
from lbctl.balance.peer import Peer
from lbctl.balance.smooth import settled

_SECOND_NS: Final = 1_000_000_000
_MS_NS: Final = 1_000_000


class Rated(Taker):
    """A peer, and the estimate it has with the calls in flight that are known of."""

    __slots__ = ("is_awaited", "key", "load", "node", "peer", "weight")

    def __init__(self, index: int, peer: Peer, node: Node, weight: int, growth: int, standing: int) -> None:
        super().__init__(index, growth, standing)
        self.peer = peer
        self.node = node
        self.weight = weight
        self.load = 0
        self.key = 0.0
        self.is_awaited = False  # by the second when its time may be halved

    @property
    def load_now(self) -> int:
        return self.peer.picks - self.peer.finished + self.node.count


class Etas:
    """Chooses one of those with the least estimate, as though it looked at all of them at every pick.

    Calls that were given back unsent, of which nobody tells, are noticed within four picks for each peer.
    """

    def __init__(self, peers: Sequence[Peer], nodes: Sequence[Node], weights: Sequence[int], timeout_s: int) -> None:
        self._size, self._sum, self._timeout_s = len(peers), sum(weights), timeout_s
        opening = settled([peer.credit for peer in peers], weights)
        self._rated = [
            Rated(index, peer, node, weight, weight * self._size, round(credit * self._sum) * self._size - index)
            for index, (peer, node, weight, credit) in enumerate(zip(peers, nodes, weights, opening, strict=True))
        ]
        self._levels: dict[float, Currents] = {}
        self._queue: list[float] = []  # the keys of levels, some of which are gone
        self._halvings: list[tuple[int, int]] = []  # a heap: when the time of a peer may be halved
        self._chosen: Rated | None = None  # stands nowhere until the next pick
        for rated in self._rated:
            self._enter(rated, 0)
        self._looks = cycle([look for rated in self._rated for look in (rated, None, None, None)])

    def lowest(self, now_ns: int) -> Peer:
        """Choose a peer; the pick is expected to be counted before the next one."""
        self._halve(now_ns)
        if self._chosen is not None:
            self._change(self._chosen, now_ns)
        looked_at = next(self._looks)
        if looked_at is not None and looked_at.load_now != looked_at.load:
            self._change(looked_at, now_ns)
        while True:
            level = self._levels.get(self._queue[0])
            if level is None:
                heappop(self._queue)
                continue
            level.grow()
            rated = self._rated[level.best().index]
            if rated.load_now == rated.load:
                level.pay(level.total)
                self._leave(rated)
                self._chosen = rated
                rated.node.choose(now_ns // _SECOND_NS, self._timeout_s)
                return rated.peer
            level.undo()
            self._change(rated, now_ns)

    def changed(self, index: int, now_ns: int) -> None:
        """The calls in flight of this one, or its time, may be others now."""
        self._change(self._rated[index], now_ns)

    def credits(self) -> list[float]:
        """The picks that everybody is owed, for who comes after."""
        scale = self._size * self._sum
        return [(self._current(rated) + rated.index) / scale for rated in self._rated]

    def _current(self, rated: Rated) -> int:
        return rated.standing if rated is self._chosen else self._levels[rated.key].current(rated)

    def _change(self, rated: Rated, now_ns: int) -> None:
        if rated is self._chosen:
            self._chosen = None
        else:
            self._leave(rated)
        self._enter(rated, now_ns)

    def _leave(self, rated: Rated) -> None:
        level = self._levels[rated.key]
        level.remove(rated)
        if not level.total:
            del self._levels[rated.key]

    def _enter(self, rated: Rated, now_ns: int) -> None:
        load = rated.load = rated.load_now
        key = rated.key = eta_ms(rated.node.time_ms(now_ns // _MS_NS, self._timeout_s), load) / rated.weight
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = Currents(self._rated)
            heappush(self._queue, key)
            if len(self._queue) > 64 + 4 * self._size:
                self._queue[:] = self._levels
                heapify(self._queue)
        level.add(rated)
        if rated.node.average_ms and not rated.is_awaited:
            self._await_halving(rated, now_ns // _SECOND_NS)

    def _await_halving(self, rated: Rated, now_s: int) -> None:
        node, period_s = rated.node, self._timeout_s + 1
        periods = max((now_s - node.checked_s) // period_s, 0)
        if node.average_ms >> periods:
            rated.is_awaited = True
            heappush(self._halvings, (node.checked_s + (periods + 1) * period_s, rated.index))

    def _halve(self, now_ns: int) -> None:
        """Look at those whose time may be halved now."""
        halvings, now_s = self._halvings, now_ns // _SECOND_NS
        while halvings and halvings[0][0] <= now_s:
            rated = self._rated[heappop(halvings)[1]]
            rated.is_awaited = False
            if rated is not self._chosen:
                self._change(rated, now_ns)
