"""The least loaded of many peers, found without looking at all of them.

Each peer has an entry (key, tag, index) in a heap: the key is its load as the policy sees it, the tag orders those of
the same key. Only peers that were touched since the last pick get a new entry; old ones are thrown away when they come
to the top. Loads also change without notice, when a call is given back unsent: so every few picks
one peer is looked at, and the one at the top always is before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import cycle
from typing import Final

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept

Entry = tuple[float, float, int]

_PAUSE: Final = (-1, -1, -1)  # picks between two looks


class Level:
    """Where peers of the same key stand. ``choices`` made there and the ``total`` weight serve those who take turns."""

    __slots__ = ("choices", "key", "total")

    def __init__(self, key: float) -> None:
        self.key = key
        self.choices = 0
        self.total = 0


class Ladder:
    """The levels of one kind of peer, by load; kinds whose keys are equal meet on the same level."""

    __slots__ = ("_key_of", "_levels", "rungs")

    def __init__(self, key_of: Callable[[int], float], levels: dict[float, Level]) -> None:
        self._key_of = key_of
        self._levels = levels
        self.rungs: list[Level] = []

    def upto(self, load: int) -> Level:
        """Return the level of a load that is beyond the rungs."""
        for each in range(len(self.rungs), load + 1):
            key = self._key_of(each)
            self.rungs.append(self._levels.setdefault(key, Level(key)))
        return self.rungs[load]


def ladders(weights: Sequence[int], key: Callable[[int, int], float]) -> list[Ladder]:
    """Return everybody's ladder; ``key`` is what a load is worth for a weight."""
    levels: dict[float, Level] = {}
    kinds = {weight: Ladder(partial(key, weight), levels) for weight in weights}
    return [kinds[weight] for weight in weights]


class Levels:
    """Chooses the first listed of those with the least key.

    Whoever uses it puts the indices whose load has changed into ``touched``, in the order of the changes.
    """

    def __init__(self, peers: Sequence[Peer], kept: Sequence[Kept], ladders: Sequence[Ladder]) -> None:
        everybody = range(len(peers))
        self.touched: dict[int, None] = dict.fromkeys(everybody)
        self._peers = peers
        self._kept = kept
        self._ladders = ladders
        self._loads = [-1] * len(peers)  # unknown
        self._entries: list[Entry] = [(-1.0, 0.0, index) for index in everybody]
        self._heap: list[Entry] = []
        self._next = cycle([look for index in everybody for look in (index, *_PAUSE)]).__next__

    def lowest(self) -> int:
        """Choose an index; the pick is expected to be counted before the next one."""
        self._settle()
        peers, kept, loads, entries, heap = self._peers, self._kept, self._loads, self._entries, self._heap
        while True:
            top = heap[0]
            chosen = top[2]
            if top is not entries[chosen]:
                heappop(heap)
                continue
            peer = peers[chosen]
            if peer.picks - peer.finished + kept[chosen].count == loads[chosen]:
                break
            self._place((chosen,))
        self._take(chosen)
        self.touched[chosen] = None
        return chosen

    def _settle(self) -> None:
        """Take note of the loads that have changed, and of one that may have."""
        touched = self.touched
        if touched:
            self._place(touched)
            touched.clear()
        audited = self._next()
        if audited >= 0 and self._load(audited) != self._loads[audited]:
            self._place((audited,))

    def audit(self) -> Sequence[tuple[int, float]]:
        """Look at everybody; returns loads and keys, in order. For those who ask why."""
        wrong = [index for index, load in enumerate(self._loads) if self._load(index) != load]
        self._place({**self.touched, **dict.fromkeys(wrong)})
        self.touched.clear()
        return [(load, entry[0]) for load, entry in zip(self._loads, self._entries, strict=True)]

    def _load(self, index: int) -> int:
        return self._peers[index].in_flight + self._kept[index].count

    def _place(self, indices: Iterable[int]) -> None:
        """Give these the entries that their loads now ask for."""
        entries, heap, look = self._entries, self._heap, self._look
        for index in indices:
            entry = entries[index] = (look(index).key, 0.0, index)
            heappush(heap, entry)
        self._tidy()

    def _look(self, index: int) -> Level:
        """Note the load of this one, and return its level."""
        peer = self._peers[index]
        load = self._loads[index] = peer.picks - peer.finished + self._kept[index].count
        ladder = self._ladders[index]
        return ladder.rungs[load] if load < len(ladder.rungs) else ladder.upto(load)

    def _tidy(self) -> None:
        """Throw the old entries away before they are too many."""
        if len(self._heap) > 64 + 3 * len(self._entries):
            self._heap[:] = self._entries
            heapify(self._heap)

    def _take(self, index: int) -> None:
        """This one was chosen."""
