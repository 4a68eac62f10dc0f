"""Maglev: by key, in a table that backends fill by turns.

The table has as many slots as a prime; a key goes to the backend in the slot of
its hash, XXH64 modulo the size.

Every backend has its own order of all slots, offset + j x skip, from XXH64 of
its address with seeds 0 and 1. In turns, in the order of addresses, each takes
the first slot of its order that is free. With 7 slots:

    a takes 2 6 3 0 4 1 5     turn 1   a 2   b 0   c 1
    b takes 0 5 3 1 6 4 2     turn 2   a 6   b 5   c 3
    c takes 1 3 5 0 2 4 6     turn 3   a 4

    slot    0 1 2 3 4 5 6              without b   0 1 2 3 4 5 6
            b c a c a b a                          a c a c a c a

So slots differ by at most one between backends of equal weight. By weight, as
Envoy does it: a backend waits with its turn until it is due, and its slots are
within 3 of its part.

A backend that leaves moves its keys and some of the others': 1.02 times as
many as have to with 10 backends in 65537 slots, 1.6 times with 100, 7 times
with 1000. Let table-size be a hundred times the number of backends, a prime.

A retry hashes anew, as Envoy does: its hash is turned over in the bits of
2^64 - attempt, until that meets a backend that was not tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lbctl.balance.hashing.functions import WORD, xxh64
from lbctl.balance.hashing.maglev import is_prime, table_of
from lbctl.balance.hashing.picker import KeyPicker
from lbctl.balance.hashing.weights import strengths
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why
from lbctl.balance.policies.options import option

LARGEST = 5_000_011  # of Envoy
_REHASHES = 64  # of a retry, before it takes the next slot of the table


@dataclass(frozen=True, slots=True)
class Options:
    """The size of the table."""

    table_size: int = option(65537, "slots, a prime", least=2, most=LARGEST)

    def __post_init__(self) -> None:
        if not is_prime(self.table_size):
            following = next(size for size in range(self.table_size, 2 * LARGEST) if is_prime(size))
            raise ValueError(f"table-size={self.table_size} is not a prime; the next one is {following}")


class Maglev(KeyPicker):
    """Looks keys up in a table."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._size: int = setup.options.table_size
        addresses = [peer.instance.address for peer in peers]
        # The table is of hosts in the order of their addresses, whatever the order of the set.
        order = sorted(range(len(peers)), key=lambda node: addresses[node])
        weights = strengths(peers)
        self._nodes = order
        self._turns = [peers[node] for node in order]
        self._table = table_of(
            tuple(addresses[node] for node in order), tuple(weights[node] for node in order), self._size
        )

    def pick(self, call: Call) -> Peer:
        if call.tried:
            return self._again(call)
        return self._turns[self._table[xxh64(call.key) % self._size]]

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = self.pick(call)
        hash_ = xxh64(call.key)
        slot = hash_ % self._size
        owner, arcs = self._turns[self._table[slot]], self.arcs()
        rows = [(each, (f"{arcs[self.peers.index(each)]:.2%}",)) for each in dict.fromkeys((owner, peer))]
        again = "" if peer is owner else ", and was tried; hashed anew for another"
        return peer, Why(f"its key is hashed to {hash_}, slot {slot} of {self._size}{again}", ("table",), tuple(rows))

    def owners(self, keys: Sequence[bytes]) -> list[int]:
        nodes, table, size = self._nodes, self._table, self._size
        return [nodes[table[xxh64(key) % size]] for key in keys]

    def candidates(self, key: bytes) -> Iterator[int]:
        nodes, table, size, hash_ = self._nodes, self._table, self._size, xxh64(key)
        met = set()
        for attempt in range(_REHASHES + size):
            slot = (rehashed(hash_, attempt) if attempt < _REHASHES else hash_ + attempt) % size
            node = nodes[table[slot]]
            if node not in met:
                met.add(node)
                yield node

    def arcs(self) -> Sequence[float]:
        slots = Counter(self._table)
        arcs = [0.0] * len(self.peers)
        for turn, node in enumerate(self._nodes):
            arcs[node] = slots[turn] / self._size
        return arcs


def rehashed(hash_: int, attempt: int) -> int:
    """The hash of a key for this attempt, the first being 0."""
    return hash_ ^ (WORD - attempt) if attempt else hash_


POLICY = Policy(
    "maglev",
    "by the call's key, in a table that is filled by turns",
    Expectation.HASH,
    Maglev,
    options=Options(),
    keyed=True,
)
