"""The scores of ``fastest``: a latency, times the calls that already wait there; and who has the lowest of many.

A heap of the scores says which is the lowest, and a table who has it. Mostly that is one peer; those who have the same
score are tied, and one of them is drawn by weight. A peer's score is computed when a call to it begins or ends. Calls
may be given back unsent, and nobody told: so every millisecond some peers are looked at, and the one with the lowest
score always is before it is believed.

Of the tied everybody waits for an exponential time with its weight as the rate, and who waits the least is chosen. What
the others still have to wait is exponential again, so they need not draw anew, and who comes begins at the present.

A pick is the hot path, so it scores its peer with the lines that ``changed`` has instead of calling them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import cycle, islice
from math import log2
from random import Random
from typing import Final, final

from lbctl.balance.estimates import Estimate
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.policies.base import Call
from lbctl.balance.two_choices import NEVER_NS

_UNKNOWN_NS: Final = 1e9  # the latency of who never answered, and is busy
LOOK_NS: Final = 1_000_000  # between two looks
_LOOKS: Final = 100  # until everybody was looked at


class Node(Kept):
    """What is known of one peer."""

    __slots__ = ("estimate", "picked_ns")

    def __init__(self, estimate: Estimate) -> None:
        super().__init__()
        self.estimate = estimate
        self.picked_ns = NEVER_NS


@final
class Scored:
    """A peer, and the score it has with the calls in flight that are known of; ``end`` is None while nobody is tied."""

    __slots__ = ("end", "estimate", "index", "load", "node", "pace", "peer", "score")

    def __init__(self, index: int, peer: Peer, node: Node, weight: int) -> None:
        self.index = index
        self.peer = peer
        self.node = node
        self.estimate = node.estimate
        self.pace = -1.0 / weight
        self.load = 0
        self.score: float = -1 - index  # nobody else's, until it is computed
        self.end: float | None = None


class Scores:
    """Chooses one of the lowest score, equals by weight; for Dubbo who never answered has the best one, busy or not.

    From ``due_ns`` on, ``alarm`` is asked before a pick whether a peer is to be picked whatever its score.
    """

    __slots__ = (
        "_found",
        "_gone",
        "_is_dubbo",
        "_looks",
        "_many",
        "_queue",
        "_random",
        "_unit",
        "_waiting",
        "alarm",
        "due_ns",
        "spots",
    )

    def __init__(
        self,
        peers: Sequence[Peer],
        nodes: Sequence[Node],
        weights: Sequence[int],
        rng: Random,
        alarm: Callable[[int], Peer | None],
        *,
        is_dubbo: bool,
        times_in_flight: bool,
    ) -> None:
        self.spots = [*map(Scored, range(len(peers)), peers, nodes, weights)]
        self.alarm = alarm
        self.due_ns = NEVER_NS
        self._is_dubbo = is_dubbo
        self._unit = int(times_in_flight)
        self._random = rng.random
        # Who has a score; for the tied the present, and then the ends of their waits.
        self._found: dict[float, Scored | list[float]] = {spot.score: spot for spot in self.spots}
        self._waiting: dict[float, Scored] = {}  # the tied, by the ends of their waits
        self._queue: list[float] = []  # the scores, and some that nobody has any more
        self._gone = 0  # entries of queues that nobody stands for any more, at most
        self._many = 64 + 4 * len(peers)
        self._looks = cycle(self.spots)
        for spot in self.spots:
            self.changed(spot, 0)

    def pick(self, call: Call) -> Peer:  # noqa: C901  # the hot path: all in one body
        """Choose a peer; the pick is expected to be counted before the next one."""
        now_ns = call.now_ns
        if now_ns >= self.due_ns:
            peer = self.alarm(now_ns)
            if peer is not None:
                return peer
        found, queue, waiting = self._found, self._queue, self._waiting
        while True:
            score = queue[0]
            holder = found.get(score)
            if type(holder) is Scored:
                spot = holder
                del found[score]
            elif holder is None:
                heappop(queue)
                continue
            else:
                heappop(holder)
                if not holder:
                    del found[heappop(queue)]
                    continue
                tied = waiting.pop(holder[0], None)
                if tied is None:
                    continue
                spot = tied
            peer = spot.peer
            load = peer.picks - peer.finished
            if load == spot.load:
                break
            self._put_back(spot)
            self.changed(spot, now_ns)
        spot.load = load = load + 1
        node, estimate = spot.node, spot.estimate
        node.picked_ns = now_ns
        latency_ns = estimate.latency_ns if now_ns < estimate.until_ns else estimate.value_ns(now_ns)
        if latency_ns:
            score = spot.score = latency_ns * (load * self._unit + node.count + 1)
        else:
            score = spot.score = self._unknown(load + node.count)
        other = found.setdefault(score, spot)
        if other is spot:
            spot.end = None
            if holder is spot:
                heapreplace(queue, score)
            else:
                heappush(queue, score)
            return peer
        level = self._level(other) if type(other) is Scored else other
        end = level[0] + log2(1.0 - self._random()) * spot.pace
        while waiting.setdefault(end, spot) is not spot:  # hardly ever
            end = level[0] + log2(1.0 - self._random()) * spot.pace
        spot.end = end
        heappush(level, end)
        return peer

    def take(self, spot: Scored, now_ns: int) -> Peer:
        """Choose this one, whatever its score."""
        spot.node.picked_ns = now_ns
        self.changed(spot, now_ns, 1)
        return spot.peer

    def changed(self, spot: Scored, now_ns: int, more: int = 0) -> None:
        """The load of this one, or its latency, may be another now; some more calls are about to begin."""
        found, waiting = self._found, self._waiting
        if spot.end is None:
            del found[spot.score]
        else:
            del waiting[spot.end]
        self._gone += 1
        if self._gone > self._many:
            self._tidy()
        peer, node, estimate = spot.peer, spot.node, spot.estimate
        spot.load = load = peer.picks - peer.finished + more
        latency_ns = estimate.latency_ns if now_ns < estimate.until_ns else estimate.value_ns(now_ns)
        if latency_ns:
            score = spot.score = latency_ns * (load * self._unit + node.count + 1)
        else:
            score = spot.score = self._unknown(load + node.count)
        other = found.setdefault(score, spot)
        if other is spot:
            spot.end = None
            heappush(self._queue, score)
            return
        level = self._level(other) if type(other) is Scored else other
        end = level[0] + log2(1.0 - self._random()) * spot.pace
        while waiting.setdefault(end, spot) is not spot:  # hardly ever
            end = level[0] + log2(1.0 - self._random()) * spot.pace
        spot.end = end
        heappush(level, end)

    def look(self, now_ns: int) -> None:
        """Look whether some have other loads than what is known."""
        for spot in islice(self._looks, 1 + len(self.spots) // _LOOKS):
            if spot.peer.in_flight != spot.load:
                self.changed(spot, now_ns)

    def _unknown(self, load: int) -> float:
        return _UNKNOWN_NS * (load + 1) if load and not self._is_dubbo else 0

    def _put_back(self, spot: Scored) -> None:
        if spot.end is None:
            self._found[spot.score] = spot
        else:
            self._waiting[spot.end] = spot

    def _level(self, other: Scored) -> list[float]:
        """Return that of who has been alone."""
        end = other.end = log2(1.0 - self._random()) * other.pace
        self._waiting[end] = other
        level = self._found[other.score] = [0.0, end]
        return level

    def _tidy(self) -> None:
        """Drop all entries nobody stands for."""
        found, self._gone = self._found, 0
        for score, level in [*found.items()]:
            if isinstance(level, list):
                level[1:] = filter(self._waiting.__contains__, level[1:])
                heapify(level)
                if len(level) == 1:
                    del found[score]
        self._queue[:] = found
        heapify(self._queue)
