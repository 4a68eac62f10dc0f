"""The scores of ``fastest``: a latency, times the calls that already wait there; and who has the lowest of many.

Peers with the same score are tied, mostly nobody; a heap of the scores says which is the lowest that somebody has. A
score is computed when a call to its peer begins or ends. As calls may be given back unsent, and nobody told, every few
picks one peer is looked at, and the chosen one always is before it is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import cycle
from random import Random
from typing import Final

from lbctl.balance.estimates import Estimate
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.two_choices import NEVER_NS

_UNKNOWN_NS: Final = 1e9  # the latency of who never answered, and is busy
_PAUSE: Final = (-1, -1, -1)  # picks between two looks
_NOBODY: Final = -1


class Node(Kept):
    """What is known of one peer."""

    __slots__ = ("estimate", "picked_ns")

    def __init__(self, estimate: Estimate) -> None:
        super().__init__()
        self.estimate = estimate
        self.picked_ns = NEVER_NS


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
        self._peers = peers
        self._nodes = nodes
        self._weights = weights
        self._greatest = max(weights)
        self._random = rng.random
        self._is_dubbo = is_dubbo
        self._times_in_flight = times_in_flight
        self._tied: dict[float, list[int]] = {}
        self._queue: list[float] = []  # their scores, and some that nobody has any more
        self._scores = [0.0] * len(peers)
        self._places = [0] * len(peers)  # among the tied
        self._loads = [0] * len(peers)
        self._taken = _NOBODY  # chosen, and looked at again before anything else is
        for index in range(len(peers)):
            self._enter(index, 0)
        self._next = cycle([look for index in range(len(peers)) for look in (index, *_PAUSE)]).__next__

    def lowest(self, now_ns: int) -> int:
        """Choose an index; the pick is expected to be counted before the next one."""
        if self._taken >= 0:
            self.changed(self._taken, now_ns)
        peers, nodes, loads, tied, queue = self._peers, self._nodes, self._loads, self._tied, self._queue
        audited = self._next()
        if audited >= 0 and peers[audited].in_flight + nodes[audited].count != loads[audited]:
            self.changed(audited, now_ns)
        while True:
            equals = tied.get(queue[0])
            if equals is None:
                heappop(queue)
                continue
            chosen = equals[0] if len(equals) == 1 else self._drawn(equals)
            peer = peers[chosen]
            if peer.picks - peer.finished + nodes[chosen].count == loads[chosen]:
                break
            self.changed(chosen, now_ns)
        self._leave(chosen)
        self._taken = chosen
        return chosen

    def take(self, index: int, now_ns: int) -> None:
        """Choose this one, whatever its score."""
        if self._taken >= 0:
            self.changed(self._taken, now_ns)
        self._leave(index)
        self._taken = index

    def changed(self, index: int, now_ns: int) -> None:
        """The load of this one, or its latency, may be another now."""
        if index == self._taken:
            self._taken = _NOBODY
        else:
            self._leave(index)
        self._enter(index, now_ns)

    def _enter(self, index: int, now_ns: int) -> None:
        peer, node = self._peers[index], self._nodes[index]
        load = self._loads[index] = peer.picks - peer.finished + node.count
        latency_ns = node.estimate.value_ns(now_ns)
        if latency_ns:
            score = latency_ns * ((load if self._times_in_flight else node.count) + 1)
        else:
            score = 0.0 if self._is_dubbo or not load else _UNKNOWN_NS * (load + 1)
        self._scores[index] = score
        equals = self._tied.get(score)
        if equals is not None:
            self._places[index] = len(equals)
            equals.append(index)
            return
        self._tied[score] = [index]
        self._places[index] = 0
        heappush(self._queue, score)
        if len(self._queue) > 64 + 3 * len(self._scores):
            self._queue[:] = self._tied
            heapify(self._queue)

    def _leave(self, index: int) -> None:
        score = self._scores[index]
        equals = self._tied[score]
        if len(equals) == 1:
            del self._tied[score]
            return
        last, place = equals.pop(), self._places[index]
        if last != index:
            equals[place] = last
            self._places[last] = place

    def _drawn(self, equals: Sequence[int]) -> int:
        """Draw by weight: evenly, until one is accepted with its weight over the greatest as the chance."""
        random, weights, greatest = self._random, self._weights, self._greatest
        while True:
            place = random() * len(equals)
            index = equals[int(place)]
            if place % 1.0 * greatest < weights[index]:
                return index
