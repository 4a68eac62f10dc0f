"""Whom a picker may choose from: listed, of a weight, in the subset, near enough, and not out of the rotation.

subset   decided when the registry changes; who is not in it is not even connected
zone     two levels, this client's zone and all others; the second gets what the first is too weak for
panic    of a level with too few healthy backends all are used that can be reached
all out  no level has anybody: panic (all that can be reached), wait (calls queue) or fail (calls fail at once)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from lbctl.balance.guards.base import BARS, CONNECTING
from lbctl.balance.peer import Peer
from lbctl.balance.policies.options import option
from lbctl.balance.priorities import Level, parts
from lbctl.balance.subset import (
    SubsetOptions,
    aperture,
    deterministic_subset,
    random_subset,
    ring_subset,
    shuffle,
    shuffled_subset,
)

NOT_IN_SUBSET: Final = "not_in_subset"
OTHER_ZONE: Final = "other_zone"
DRAINING: Final = "draining"  # as the registry says
WARMING: Final = "warming"
_NOBODY: Final[frozenset[str]] = frozenset()


class Mode(StrEnum):
    """How things stand; also what is to be done when every backend that can be reached is out of the rotation."""

    NORMAL = "normal"
    PANIC = "panic"
    WAIT = "wait"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class ZoneOptions:
    """The zone of this client, and where that of a backend stands."""

    name: str = option("", "the zone whose backends come first")
    key: str = option("zone", "the metadata of a registration that names its zone")
    overprovisioning: int = option(140, "percent by which healthy backends may be overloaded", least=100, most=1000)


class Share(NamedTuple):
    """Peers that get so many percent of the picks."""

    percent: int
    peers: tuple[Peer, ...]


class Choice(NamedTuple):
    """Whom pickers are made of: one share mostly, none when nobody may be picked; and how things stand."""

    shares: tuple[Share, ...]
    mode: Mode = Mode.NORMAL


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules. ``seed`` is that of a random subset which has none of its own; ``panic`` a percentage, 0 for never."""

    subset: SubsetOptions | None = None
    zone: ZoneOptions | None = None
    panic: float = 0.0
    when_all_out: Mode = Mode.PANIC
    seed: int = 0

    def enlist(self, listed: Collection[Peer]) -> None:
        """Say of each peer that the registry lists, in key order, whether it is in the subset."""
        if self.subset is None:
            return
        members = _of_weight(listed)
        chosen = self._chosen(members, self.subset)
        for peer in listed:
            peer.aside, peer.coverage = NOT_IN_SUBSET, 1.0
        for place, part in chosen.items():
            members[place].aside, members[place].coverage = "", part

    def _chosen(self, members: Sequence[Peer], options: SubsetOptions) -> Mapping[int, float]:
        """The places of the members, and the part of its weight that each has."""
        if options.kind == "aperture":
            weights = [max(1, peer.weight) for peer in members]
            covered = aperture(weights, options.size, options.client, options.clients) if members else {}
            return {place: float(part) for place, part in covered.items()}
        seed = self.seed if options.seed < 0 else options.seed
        addresses, count = [peer.instance.address for peer in members], len(members)
        match options.kind:
            case "deterministic":
                places = deterministic_subset(count, options.size, options.client, lambda turn: shuffle(count, turn))
            case "shuffled":
                places = shuffled_subset(addresses, options.size, seed)
            case "ring":
                places = ring_subset(addresses, options.size, seed)
            case _:
                places = random_subset(addresses, options.size, seed, options.dialect)
        return dict.fromkeys(places, 1.0)

    def choose(self, listed: Collection[Peer], ignored: frozenset[str] = _NOBODY) -> Choice:
        """Choose among the peers that the registry lists, in key order; bars that are ``ignored`` keep nobody out."""
        weighed = _of_weight(listed)
        _tell_apart(listed, set(weighed))
        levels = self._levels([peer for peer in weighed if peer.aside != NOT_IN_SUBSET])
        usable = [tuple(peer for peer in level if peer.reachable and not peer.bars - ignored) for level in levels]
        if len(levels) == 1 and not self.panic:
            return Choice((Share(100, usable[0]),)) if usable[0] else self._all_out(levels)
        counts = [
            Level(sum(not peer.drained for peer in level), len(healthy))
            for level, healthy in zip(levels, usable, strict=True)
        ]
        spread = parts(counts, self.panic, self.zone.overprovisioning if self.zone is not None else 140)
        shares = []
        for part, level, healthy in zip(spread, levels, usable, strict=True):
            shares.append(Share(part.percent, _reachable(level) if part.panics else healthy))
        panics = any(
            part.panics and len(share.peers) > len(healthy)
            for part, share, healthy in zip(spread, shares, usable, strict=True)
        )
        self._set_aside(levels, shares)
        shares = [share for share in shares if share.percent and share.peers]
        if not shares:
            return self._all_out(levels)
        return Choice(tuple(shares), Mode.PANIC if panics else Mode.NORMAL)

    def _levels(self, members: Sequence[Peer]) -> list[list[Peer]]:
        zone = self.zone
        if zone is None:
            return [list(members)]
        near = [peer for peer in members if str(peer.instance.metadata.get(zone.key, "")) == zone.name]
        inside = set(near)
        return [near, [peer for peer in members if peer not in inside]]

    def _set_aside(self, levels: Sequence[Sequence[Peer]], shares: Sequence[Share]) -> None:
        if self.zone is not None:
            for level, share in zip(levels, shares, strict=True):
                for peer in level:
                    peer.aside = "" if share.percent else OTHER_ZONE

    def _all_out(self, levels: Sequence[Sequence[Peer]]) -> Choice:
        """Nobody is in the rotation; where nobody can be reached either, calls wait whatever was asked for."""
        reachable = tuple(sorted((peer for level in levels for peer in _reachable(level)), key=_key))
        if not reachable:
            return Choice(())
        if self.when_all_out is not Mode.PANIC:
            return Choice((), self.when_all_out)
        for peer in reachable:
            peer.aside = ""
        return Choice((Share(100, reachable),), Mode.PANIC)

    def told(self, listed: Collection[Peer]) -> list[str]:
        """Who is used at all, and who is not although nothing is wrong with it; after ``choose``."""
        found, members = [], [peer for peer in listed if peer.aside != NOT_IN_SUBSET]
        if self.subset is not None:
            found.append(f"subset {self.subset.kind}: {len(members):,} of {len(listed):,} backends are used")
        if self.zone is not None:
            near, far = self._levels(_of_weight(members))
            calls = "no calls" if all(peer.aside for peer in far) else "calls, too"
            others = f", the others get {calls}" if far else ""
            found.append(f"zone {self.zone.name}: {len(near):,} of {len(near) + len(far):,} backends are in it{others}")
        return found

    def doubts(self, listed: Collection[Peer]) -> list[str]:
        """What the rules cannot do here."""
        zone, found = self.zone, []
        if zone is not None and not any(str(peer.instance.metadata.get(zone.key, "")) == zone.name for peer in listed):
            found.append(f"no backend is in zone {zone.name} (metadata {zone.key}): the other zones got everything")
        return found


def standing(peer: Peer) -> str:
    """Why a peer is not wholly in the rotation, in one word for people; nothing where it is."""
    for why in BARS:
        if why in peer.bars:
            return why
    return peer.aside or (WARMING if peer.warmth < 1 else "")


def _of_weight(listed: Collection[Peer]) -> list[Peer]:
    """Peers that are up and of a positive weight, or all where no weight is positive."""
    up = [peer for peer in listed if peer.instance.status is None]
    return [peer for peer in up if peer.weight > 0] or up


def _tell_apart(listed: Collection[Peer], weighed: Collection[Peer]) -> None:
    """Say of each peer whether the registry has it in the rotation."""
    for peer in listed:
        if peer not in weighed:
            peer.aside = peer.aside if peer.aside == NOT_IN_SUBSET else DRAINING
        elif peer.aside == DRAINING:
            peer.aside = ""


def _reachable(level: Sequence[Peer]) -> tuple[Peer, ...]:
    return tuple(peer for peer in level if peer.reachable and CONNECTING not in peer.bars)


def _key(peer: Peer) -> tuple[str, str]:
    return peer.instance.key, peer.instance.address
