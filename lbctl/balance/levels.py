"""The least loaded of many peers, found without looking at all of them.

Peers stand on levels, one for each key, which is the load as the policy sees it. A heap of them says which level is the
lowest that is not empty. Who is alone there is chosen, among several the level says whose turn it is. A pick, and an
end, move one peer.

Loads also change without notice, when a call is given back unsent: so every few picks one peer is looked at, and the
chosen one always is before it is believed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Sized
from heapq import heappop, heappush
from itertools import cycle
from typing import Final, Self

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import SERVER, Kept, KeptSlots, is_fault
from lbctl.balance.policies.base import Call, Law, Why
from lbctl.model import Reply

_PAUSE: Final = (None, None, None)  # picks between two looks


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


class Level(float, ABC):
    """Peers of one key, and that key: a heap of levels compares nothing else; kinds differ in whose turn it is.

    Who comes is only noted, until somebody is to be chosen: most go before that.
    """

    __slots__ = ("fresh", "is_queued", "others")

    def __new__(cls, key: float, *_: object) -> Self:
        return super().__new__(cls, key)

    def __init__(self, _key: float) -> None:
        self.is_queued = False  # in the heap of levels that may not be empty
        self.fresh: dict[Spot, None] = {}  # who has come since the last choice, in order
        self.others: Sized = ()  # who was here then

    @abstractmethod
    def pop(self) -> Spot:
        """Choose one, who goes; nobody is fresh any more."""

    def drop(self, spot: Spot) -> None:
        """One of the others goes, where there are any."""

    def undo(self, spot: Spot) -> None:
        """This one, just chosen, should not have been here; mostly nothing has come of it."""


class LeastLoaded:
    """Picks one of those with the least key, by the rule of their level; a pick is to be counted before the next one.

    ``key`` is what a load is worth for a weight, ``make`` makes the level of a key.
    """

    def __init__(
        self,
        spots: Sequence[Spot],
        slots: KeptSlots,
        key: Callable[[int, int], float],
        make: Callable[[float], Level],
        shares: Sequence[float],
    ) -> None:
        self._spots = spots
        self._by_peer = {spot.peer: spot for spot in spots}
        self._slots = slots
        self._due = slots.due
        self._key = key
        self._make = make
        self._shares = shares
        self._levels: dict[float, Level] = {}
        self._queue: list[Level] = []
        rungs: dict[int, list[Level]] = {spot.weight: [] for spot in spots}
        for spot in spots:
            spot.rungs = rungs[spot.weight]
            self._changed(spot)
        self._chosen = spots[0]  # is looked at again before anybody else is chosen
        self._looks = cycle([look for spot in spots for look in (spot, *_PAUSE)])

    def pick(self, call: Call) -> Peer:  # noqa: C901  # the hot path: all in one body
        # What ``_changed`` does is written out for who was chosen last.
        if self._due and self._due[0][0] <= call.now_ns:
            self._free(call.now_ns)
        queue, spot = self._queue, self._chosen
        if spot.level is None:
            peer = spot.peer
            load = spot.load = peer.picks - peer.finished + spot.kept.count
            try:
                level = spot.level = spot.rungs[load]
            except IndexError:
                level = spot.level = self._upto(spot, load)
            level.fresh[spot] = None
            if not level.is_queued:
                level.is_queued = True
                heappush(queue, level)
        looked_at = next(self._looks)
        if looked_at is not None:
            peer = looked_at.peer
            if peer.picks - peer.finished + looked_at.kept.count != looked_at.load:
                self._changed(looked_at)
        while True:
            level = queue[0]
            if level.others or len(level.fresh) > 1:
                spot = level.pop()
            elif level.fresh:
                spot, _ = level.fresh.popitem()
            else:
                heappop(queue).is_queued = False
                continue
            spot.level = None
            peer = spot.peer
            if peer.picks - peer.finished + spot.kept.count == spot.load:
                self._chosen = spot
                return peer
            level.undo(spot)
            self._changed(spot)

    def why(self, call: Call) -> tuple[Peer, Why]:
        self._free(call.now_ns)
        self._audit()
        keys = [spot.rungs[spot.load] for spot in self._spots]
        rows = [
            (spot.peer, (str(spot.load), str(spot.peer.weight), f"{key:g}"))
            for spot, key in zip(self._spots, keys, strict=True)
        ]
        tied = keys.count(min(keys))
        text = "the least load" if tied == 1 else f"one of {tied} with the least load"
        return self.pick(call), Why(text, ("in flight", "weight", "load"), tuple(rows))

    def law(self) -> Law:
        return Law(self._shares)

    def retire(self) -> None:
        """Leave nothing behind but the slots that failed calls keep."""

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        spot = self._by_peer.get(peer)
        if spot is not None:
            if (reply.code or reply.origin is not SERVER) and self._slots.penalty_ns and is_fault(reply):
                self._slots.add(spot.index, now_ns)
            self._changed(spot)

    def _free(self, now_ns: int) -> None:
        for index in self._slots.freed(now_ns):
            self._changed(self._spots[index])

    def _changed(self, spot: Spot) -> None:
        """The load of this one may be another now."""
        peer, level = spot.peer, spot.level
        load = peer.picks - peer.finished + spot.kept.count
        if level is not None:
            if load == spot.load:
                return
            if spot in level.fresh:
                del level.fresh[spot]
            else:
                level.drop(spot)
        spot.load = load
        try:
            level = spot.level = spot.rungs[load]
        except IndexError:
            level = spot.level = self._upto(spot, load)
        level.fresh[spot] = None
        if not level.is_queued:
            level.is_queued = True
            heappush(self._queue, level)

    def _audit(self) -> None:
        """Look at everybody."""
        for spot in self._spots:
            self._changed(spot)

    def _upto(self, spot: Spot, load: int) -> Level:
        """Return the level of a load that is beyond the known ones; those whose keys are equal meet."""
        rungs = spot.rungs
        for each in range(len(rungs), load + 1):
            key = self._key(spot.weight, each)
            if key not in self._levels:
                self._levels[key] = self._make(key)
            rungs.append(self._levels[key])
        return rungs[load]
