"""The least loaded of many peers, found without looking at all of them.

Peers stand on levels, one for each key, which is the load as the policy sees it. A heap of the keys says which level is
the lowest that is not empty, and the level says whose turn it is. A pick, and an end, move one peer.

Loads also change without notice, when a call is given back unsent: so every few picks one peer is looked at, and the
chosen one always is before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import cycle
from typing import Final, Protocol

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept

PAUSE: Final = (None, None, None)  # picks between two looks


class Spot:
    """Where one peer stands: ``level`` is as of its ``load``, None for who was just chosen.

    ``weight`` is for its key, ``chance`` for ties.
    """

    __slots__ = (
        "chance",
        "growth",
        "index",
        "kept",
        "level",
        "load",
        "peer",
        "place",
        "rungs",
        "standing",
        "waits_until",
        "weight",
    )

    def __init__(self, index: int, peer: Peer, kept: Kept, weight: int, chance: int) -> None:
        self.index = index
        self.peer = peer
        self.kept = kept
        self.weight = weight
        self.chance = chance
        self.load = 0
        self.level: Level | None = None
        self.rungs: list[Level] = []  # the levels of loads 0, 1, ... for its weight
        # What kinds of levels know of it.
        self.growth = self.place = self.standing = 0
        self.waits_until = 0.0


def spots_of(peers: Sequence[Peer], kept: Sequence[Kept], weights: Sequence[int], chances: Sequence[int]) -> list[Spot]:
    """Return everybody's spot."""
    return [*map(Spot, range(len(peers)), peers, kept, weights, chances)]


class Level(Protocol):
    """Peers of one key; kinds of levels differ in whose turn it is."""

    key: float
    total: int  # 0 while nobody is here
    is_queued: bool  # among the keys of levels that may not be empty

    def add(self, spot: Spot) -> None:
        """This one comes."""
        ...

    def remove(self, spot: Spot) -> None:
        """This one goes."""
        ...

    def pop(self) -> Spot:
        """Choose one, who goes."""
        ...

    def undo(self, spot: Spot) -> None:
        """This one, just chosen, should not have been here."""
        ...


class Levels:
    """Chooses one of those with the least key, by the rule of their level.

    ``key`` is what a load is worth for a weight, ``make`` makes the level of a key. Whoever uses it says of whom the
    load has ``changed``.
    """

    def __init__(self, spots: Sequence[Spot], key: Callable[[int, int], float], make: Callable[[float], Level]) -> None:
        self._spots = spots
        self._key = key
        self._make = make
        self._levels: dict[float, Level] = {}
        self._queue: list[float] = []
        self._chosen: Spot | None = None  # is looked at again before anybody else is chosen
        rungs: dict[int, list[Level]] = {spot.weight: [] for spot in spots}
        for spot in spots:
            spot.rungs = rungs[spot.weight]
            self.changed(spot)
        self._next = cycle([look for spot in spots for look in (spot, *PAUSE)]).__next__

    def lowest(self) -> Peer:
        """Choose a peer; the pick is expected to be counted before the next one."""
        chosen = self._chosen
        if chosen is not None and chosen.level is None:
            self.changed(chosen)
        looked_at = self._next()
        if looked_at is not None:
            self.changed(looked_at)
        queue, levels = self._queue, self._levels
        while True:
            level = levels[queue[0]]
            if not level.total:
                heappop(queue)
                level.is_queued = False
                continue
            chosen = level.pop()
            chosen.level = None
            peer = chosen.peer
            if peer.picks - peer.finished + chosen.kept.count == chosen.load:
                self._chosen = chosen
                return peer
            level.undo(chosen)
            self.changed(chosen)

    def changed(self, spot: Spot) -> None:
        """The load of this one may be another now."""
        peer = spot.peer
        load = peer.picks - peer.finished + spot.kept.count
        level = spot.level
        if level is not None:
            if load == spot.load:
                return
            level.remove(spot)
        spot.load = load
        rungs = spot.rungs
        spot.level = level = rungs[load] if load < len(rungs) else self._upto(spot, load)
        level.add(spot)
        if not level.is_queued:
            level.is_queued = True
            heappush(self._queue, level.key)

    def audit(self) -> Sequence[Spot]:
        """Look at everybody; for those who ask why."""
        for spot in self._spots:
            self.changed(spot)
        return self._spots

    def _upto(self, spot: Spot, load: int) -> Level:
        """Return the level of a load that is beyond the known ones; those whose keys are equal meet."""
        rungs = spot.rungs
        for each in range(len(rungs), load + 1):
            key = self._key(spot.weight, each)
            if key not in self._levels:
                self._levels[key] = self._make(key)
            rungs.append(self._levels[key])
        return rungs[load]
