"""Which keys have another owner now that the set of backends is another, and which of them had to.

A key had to move if its owner has left, or if its new owner has just joined. Where only weights have changed, as many
had to move as some backends own more than before. Whatever else moved, did so for nothing.

    keys   before a b c   after a b     had to
    1      a              a             -
    2      b              a             -        a modulo, for nothing
    3      c              b             yes      two of three moved, one of three had to
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lbctl.balance.hashing.picker import KeyPicker
from lbctl.balance.keys import Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Picker

_LOOKED_AT = 8192  # keys, the most popular ones


@dataclass(frozen=True, slots=True)
class Moved:
    """Parts of all calls, by the keys they carry; ``keys`` is how many keys were looked at."""

    moved: float
    needed: float
    keys: int

    def __str__(self) -> str:
        return f"keys: {self.moved:.1%} moved, {self.needed:.1%} had to"


def moved(before: Picker, after: Picker, keys: Keys | None) -> Moved | None:
    """What became of the keys; None where nobody owns keys, or the same backends own the same ones."""
    if keys is None or not (isinstance(before, KeyPicker) and isinstance(after, KeyPicker)):
        return None
    population = keys.population()
    most = min(_LOOKED_AT, before.affordable // 10, after.affordable // 10)
    looked_at, parts = population.keys[:most], population.parts[:most]
    pairs = list(zip(_owners(before, looked_at), _owners(after, looked_at), parts, strict=True))
    whole = sum(parts)
    gone = sum(part for old, new, part in pairs if old is not new) / whole
    needed = _needed(pairs, frozenset(before.peers), frozenset(after.peers)) / whole
    return Moved(gone, needed, len(looked_at)) if gone or set(before.peers) != set(after.peers) else None


def _owners(picker: KeyPicker, keys: Sequence[bytes]) -> list[Peer]:
    peers = picker.peers
    return [peers[node] for node in picker.owners(keys)]


def _needed(pairs: Sequence[tuple[Peer, Peer, float]], before: frozenset[Peer], after: frozenset[Peer]) -> float:
    if before != after:
        return sum(part for old, new, part in pairs if old not in after or new not in before)
    gained: defaultdict[Peer, float] = defaultdict(float)
    for old, new, part in pairs:
        gained[new] += part
        gained[old] -= part
    return sum(part for part in gained.values() if part > 0)
