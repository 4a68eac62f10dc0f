"""Picking on a ring: the first point that is not below the hash of the key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from lbctl.balance.hashing.picker import KeyPicker
from lbctl.balance.hashing.ring import Ring
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Setup, Why


class RingPicker(KeyPicker):
    """Looks keys up on a ring. A retry goes on to the next peer around it that was not tried."""

    def __init__(self, peers: Sequence[Peer], setup: Setup, ring: Ring, hashed: Callable[[bytes], int]) -> None:
        super().__init__(peers, setup)
        self.ring = ring
        self.hashed = hashed
        self._points, self._starts, self._shift = ring.points, ring.starts, ring.shift
        self._takers = [peers[node] for node in ring.owners]

    def pick(self, call: Call) -> Peer:
        if call.tried:
            return self._again(call)
        hash_ = self.hashed(call.key)
        starts, part = self._starts, hash_ >> self._shift
        return self._takers[bisect_left(self._points, hash_, starts[part], starts[part + 1])]

    def why(self, call: Call) -> tuple[Peer, Why]:
        """The points from the key on, up to the one that took it."""
        peer, ring, hash_ = self.pick(call), self.ring, self.hashed(call.key)
        start, count = ring.at(hash_), len(ring.points)
        rows = []
        for step in range(count):
            place = (start + step) % count
            node = ring.owners[place]
            rows.append((self.peers[node], (str(ring.points[place]), f"{ring.arcs[node]:.2%}")))
            if self.peers[node] is peer:
                break
        where = f"point {(start + len(rows) - 1) % count + 1} of {count} is the first from there"
        skipped = ", of those not tried" if len(rows) > 1 else ""
        return peer, Why(f"its key is hashed to {hash_}: {where}{skipped}", ("point", "of the ring"), tuple(rows))

    def owners(self, keys: Sequence[bytes]) -> list[int]:
        owners, at = self.ring.owners, self.ring.at
        return [owners[at(hash_)] for hash_ in map(self.hashed, keys)]

    def candidates(self, key: bytes) -> Iterator[int]:
        return self.way(self.hashed(key))

    def way(self, hash_: int) -> Iterator[int]:
        """The candidates for a key with this hash."""
        return self.ring.walk(hash_)

    def arcs(self) -> Sequence[float]:
        return self.ring.arcs
