"""Jump consistent hash: by key, even shares without a table, weights ignored.

A key's number decides at how many buckets the key moves to a new one:

    buckets             1 .. 6   7 .. 17   18, 19
    number 1 goes to    0        6         17

One bucket more takes 1/(n + 1) of all keys, and no other key moves. The rule
can only add and remove the last bucket: where one in the middle goes, the
others get new numbers, and most keys move. So backends have slots, which they
keep:

    slots       0 1 2 3      a b c d
    b leaves    0 - 2 3      a key that jumps to slot 1 is hashed again, until
                             it meets a slot that is taken: only b's keys move
    e joins     0 1 2 3      a e c d: e gets the free slot, and b's keys
    f joins     0 1 2 3 4    a e c d f: one part in five moves, to f

The slots are dealt anew, in key order, when fewer than half of them are taken.
So clients of another history may know other slots. stable=false has backends
in key order without free slots, as the bare rule is often used; there, when a
backend in the middle leaves or joins, keys of everybody move.

Keys are hashed by XXH64. A retry is hashed again until it meets a backend that
was not tried; the original knows no retry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from lbctl.balance.hashing.functions import xxh64
from lbctl.balance.hashing.jump import jump
from lbctl.balance.hashing.known import Remembering
from lbctl.balance.hashing.picker import AFFORDABLE
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why, equal
from lbctl.balance.policies.options import option

_REHASHES: Final = 64  # one in two of them meets a slot that is taken
_FREE: Final = -1


@dataclass(frozen=True, slots=True)
class Options:
    """What becomes of the slots of backends that left."""

    stable: bool = option(True, "backends keep their slots when others leave")


class Seat(NamedTuple):
    """A peer's slot in a table of so many; ``deal`` grows whenever slots are dealt anew."""

    slot: int
    slots: int
    deal: int


class Jump(Remembering):
    """Jumps to a slot."""

    affordable = AFFORDABLE // 2

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._slots = seated(peers) if setup.options.stable else list(range(len(peers)))

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = self.pick(call)
        path = []
        for slot, node in self._path(call.key):
            path.append(str(slot))
            if node != _FREE and self.peers[node] is peer:
                break
        text = f"its key is hashed to {xxh64(call.key)} and jumps to slot {path[0]} of {len(self._slots)}"
        again = f"; free or tried, so on to {', '.join(path[1:])}" if len(path) > 1 else ""
        return peer, Why(text + again, ("slot",), ((peer, (path[-1],)),))

    def owner(self, key: bytes) -> int:
        slots = self._slots
        node = slots[jump(xxh64(key), len(slots))]
        return node if node != _FREE else next(self.candidates(key))

    def candidates(self, key: bytes) -> Iterator[int]:
        met = {_FREE}
        for _, node in self._path(key):
            if node not in met:
                met.add(node)
                yield node

    def arcs(self) -> Sequence[float]:
        return equal(self.peers)

    def _path(self, key: bytes) -> Iterator[tuple[int, int]]:
        """The slots that the key comes to, each with who is there; all of them, in the end."""
        slots = self._slots
        for attempt in range(_REHASHES):
            slot = jump(xxh64(key, attempt), len(slots))
            yield slot, slots[slot]
        yield from enumerate(slots)


def seated(peers: Sequence[Peer]) -> list[int]:
    """The number of the peer in every slot; peers keep theirs, and new ones get free slots in the order of the set."""
    seats = {node: peer.memory for node, peer in enumerate(peers) if isinstance(peer.memory, Seat)}
    deal = max((seat.deal for seat in seats.values()), default=0)
    size = max((seat.slots for seat in seats.values() if seat.deal == deal), default=0)
    if size > 2 * len(peers):
        size, deal = 0, deal + 1
    slots = [_FREE] * size
    standing = []
    for node in range(len(peers)):
        seat = seats.get(node)
        if seat is not None and seat.deal == deal and slots[seat.slot] == _FREE:
            slots[seat.slot] = node
        else:
            standing.append(node)
    for slot, node in enumerate(slots):
        if node == _FREE and standing:
            slots[slot] = standing.pop(0)
    slots += standing
    for slot, node in enumerate(slots):
        if node != _FREE:
            peers[node].memory = Seat(slot, len(slots), deal)
    return slots


POLICY = Policy(
    "jump",
    "by the call's key, jump consistent hash over slots that backends keep",
    Expectation.HASH,
    Jump,
    options=Options(),
    cost="O(log n)",
    keyed=True,
)
