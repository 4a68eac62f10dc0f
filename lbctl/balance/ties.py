"""How ties between equally loaded peers are broken, on top of ``levels``: in turn, by chance, or by smooth WRR."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf, log
from random import Random
from typing import Final

from lbctl.balance.levels import Entry, Ladder, Level, Levels
from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept
from lbctl.balance.smooth import settled

_LEVELS: Final = 4096  # that are remembered before everybody draws again


class Rotating(Levels):
    """Who came to a level first is chosen first; being chosen, or any change of load, puts a peer behind the others."""

    def __init__(self, peers: Sequence[Peer], kept: Sequence[Kept], ladders: Sequence[Ladder]) -> None:
        super().__init__(peers, kept, ladders)
        self._turn = count().__next__

    def _place(self, indices: Iterable[int]) -> None:
        entries, heap = self._entries, self._heap
        for index in indices:
            entry = entries[index] = (self._look(index).key, self._turn(), index)
            heappush(heap, entry)
        self._tidy()


class Drawn(Levels):
    """Those tied are drawn by weight, independently each time.

    Everybody on a level waits for an exponential time with its weight as the rate, and the first is chosen. What the
    others still have to wait is exponential again, so they need not draw anew, and who joins begins at the present.
    """

    def __init__(
        self,
        peers: Sequence[Peer],
        kept: Sequence[Kept],
        ladders: Sequence[Ladder],
        weights: Sequence[int],
        rng: Random,
    ) -> None:
        super().__init__(peers, kept, ladders)
        self._random = rng.random
        self._rates = [-float(weight) for weight in weights]
        self._present: dict[float, float] = {}  # of each level: when somebody was last chosen there

    def _place(self, indices: Iterable[int]) -> None:
        entries, heap, present, rates = self._entries, self._heap, self._present.get, self._rates
        for index in indices:
            key = self._look(index).key
            entry = entries[index] = (key, present(key, 0.0) + log(1.0 - self._random()) / rates[index], index)
            heappush(heap, entry)
        self._tidy()

    def _take(self, index: int) -> None:
        key, tag, _ = self._entries[index]
        self._present[key] = tag
        if len(self._present) > _LEVELS:
            self._present.clear()
            self.touched.update(dict.fromkeys(range(len(self._entries))))


class Smooth(Levels):
    """Those tied take turns by smooth weighted round robin, nginx's rule, with credits that everybody keeps.

    At every choice all that are tied grow by their weight, and the chosen one pays the sum. A level counts its choices
    instead, so that only those who come, go or pay are touched; all of one weight grow alike and share a heap.
    """

    def __init__(
        self, peers: Sequence[Peer], kept: Sequence[Kept], ladders: Sequence[Ladder], weights: Sequence[int]
    ) -> None:
        super().__init__(peers, kept, ladders)
        self._weights = weights
        self._sum = sum(weights)
        opening = settled([peer.credit for peer in peers], weights)
        self._credits = [round(credit * self._sum) for credit in opening]  # before the growth on the current level
        self._at = [Level(-1.0)] * len(peers)
        groups: dict[int, list[Entry]] = {weight: [] for weight in weights}
        self._groups = [*groups.items()]
        self._heaps = [groups[weight] for weight in weights]
        self._heap = self._heaps[0]

    def credits(self) -> list[float]:
        """The picks that everybody is owed, for who comes after."""
        self.audit()
        terms = zip(self._credits, self._at, self._weights, strict=True)
        return [(credit + level.choices * weight) / self._sum for credit, level, weight in terms]

    def _place(self, indices: Iterable[int]) -> None:
        peers, kept, loads, ladders, at = self._peers, self._kept, self._loads, self._ladders, self._at
        for index in indices:
            peer = peers[index]
            load = loads[index] = peer.picks - peer.finished + kept[index].count
            rungs = ladders[index].rungs
            level = rungs[load] if load < len(rungs) else ladders[index].upto(load)
            old = at[index]
            if level is not old:
                weight = self._weights[index]
                self._credits[index] += (old.choices - level.choices) * weight
                old.total -= weight
                level.total += weight
                at[index] = level
            entry = self._entries[index] = (level.key, -self._credits[index], index)
            heappush(self._heaps[index], entry)

    def lowest(self) -> int:
        if len(self._groups) == 1:
            return super().lowest()
        self._settle()
        chosen = self._top()
        while self._load(chosen) != self._loads[chosen]:
            self._place((chosen,))
            chosen = self._top()
        self._take(chosen)
        self.touched[chosen] = None
        return chosen

    def _top(self) -> int:
        """Return the one who is owed most on the lowest level."""
        entries = self._entries
        least, choices, greatest, chosen = inf, 0, 0.0, -1
        for weight, heap in self._groups:
            while heap[0] is not entries[heap[0][2]]:
                heappop(heap)
            key, tag, index = heap[0]
            if key < least:
                least, chosen = key, index
                choices = self._at[index].choices + 1
                greatest = choices * weight - tag
            elif key == least:
                grown = choices * weight - tag
                if grown > greatest or (grown == greatest and index < chosen):
                    greatest, chosen = grown, index
        return chosen

    def _take(self, index: int) -> None:
        level = self._at[index]
        level.choices += 1
        self._credits[index] -= level.total
        heap = self._heaps[index]
        if len(heap) > 64 + 3 * len(self._entries):
            heap[:] = [entry for entry, other in zip(self._entries, self._heaps, strict=True) if other is heap]
            heapify(heap)
