"""Hash modulo: by key, simple, and most keys move when backends change.

The hash of the key, modulo the number of backends, is the number of its backend
in key order. With crc32 and three backends:

    key         crc32         modulo 3   goes to
    user-0      153187970     2          c
    user-1      2116437524    2          c
    user-2      3878623150    1          b
    user-3      2418550584    0          a

From n to n' backends about 1 - 1/max(n, n') of the keys move: of 10 backends
one leaves, and 90 % of the keys move where 10 % had to.

dialect=crc32   crc32 modulo the number of backends; weights ignored. A retry
                goes to the next backend in key order that was not tried
dialect=nginx   nginx's hash: 15 bits of crc32, modulo the sum of weights, and
                the weights counted off. A retry adds the crc32 of its number
                and the key, as nginx does, up to 20 times; then in key order,
                where nginx goes by turns
dialect=ip_hash nginx's ip_hash: the key is a client's address, of which IPv4
                counts the first three octets, so that a /24 goes to one
                backend; h = 113 h + octet modulo 6271, from 89, then as above.
                A key that is no address counts with all its bytes, a case that
                nginx does not have
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from lbctl.balance.hashing.functions import crc32
from lbctl.balance.hashing.known import Remembering
from lbctl.balance.hashing.picker import KeyPicker
from lbctl.balance.hashing.weights import whole
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup, Why, equal
from lbctl.balance.policies.options import option

_TRIES: Final = 21  # nginx's first, and 20 more
_BITS: Final = 1 << 15
_PRIME: Final = 6271


@dataclass(frozen=True, slots=True)
class Options:
    """Whose hash it is."""

    dialect: str = option("crc32", "whose hash", choices=("crc32", "nginx", "ip_hash"))


class HashMod(KeyPicker):
    """crc32 modulo the number of peers."""

    def pick(self, call: Call) -> Peer:
        if call.tried:
            return self._again(call)
        peers = self.peers
        return peers[crc32(call.key) % len(peers)]

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer, hash_, count = self.pick(call), crc32(call.key), len(self.peers)
        rows = [(self.peers[node], (str(node),)) for node in self._tried(call, peer)]
        return peer, Why(f"its key is hashed to {hash_}, modulo {count} is {hash_ % count}", ("number",), tuple(rows))

    def owners(self, keys: Sequence[bytes]) -> list[int]:
        count = len(self.peers)
        return [hash_ % count for hash_ in map(crc32, keys)]

    def candidates(self, key: bytes) -> Iterator[int]:
        count = len(self.peers)
        first = crc32(key) % count
        return iter([*range(first, count), *range(first)])

    def arcs(self) -> Sequence[float]:
        return equal(self.peers)

    def _tried(self, call: Call, picked: Peer) -> Iterator[int]:
        """The peers that the call came by on its way to the one that was picked."""
        for node in self.candidates(call.key):
            yield node
            if self.peers[node] is picked:
                return


class Nginx(HashMod):
    """A number from the key, modulo the sum of weights: each peer has as many places as its weight."""

    values = _BITS  # how many numbers there are

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        super().__init__(peers, setup)
        self._weights = whole(peers)
        self._ends = list(accumulate(self._weights))  # of each peer's places
        self._total = self._ends[-1]

    def pick(self, call: Call) -> Peer:
        if call.tried:
            return self._again(call)
        return self.peers[bisect_right(self._ends, (crc32(call.key) >> 16 & 0x7FFF) % self._total)]

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer, count = self.pick(call), self._total
        rows = [(self.peers[node], (str(self._weights[node]),)) for node in self._tried(call, peer)]
        number = next(self.numbers(call.key))
        return peer, Why(f"its key gives {number}, place {number % count} of {count}", ("weight",), tuple(rows))

    def owners(self, keys: Sequence[bytes]) -> list[int]:
        return [self._at(next(self.numbers(key))) for key in keys]

    def candidates(self, key: bytes) -> Iterator[int]:
        met = set()
        for number in self.numbers(key):
            node = self._at(number)
            if node not in met:
                met.add(node)
                yield node
        yield from (node for node in range(len(self.peers)) if node not in met)

    def arcs(self) -> Sequence[float]:
        """The part of the numbers that come to each peer's places, were they all equally likely."""
        turns, rest = divmod(self.values, self._total)
        owned = [
            turns * weight + min(max(rest - (end - weight), 0), weight)
            for end, weight in zip(self._ends, self._weights, strict=True)
        ]
        return [count / self.values for count in owned]

    def _at(self, number: int) -> int:
        return bisect_right(self._ends, number % self._total)

    def numbers(self, key: bytes) -> Iterator[int]:
        """The key's number for the first attempt, the second, and so on."""
        number = crc32(key) >> 16 & 0x7FFF
        yield number
        for attempt in range(1, _TRIES):
            number += crc32(b"%d%b" % (attempt, key)) >> 16 & 0x7FFF
            yield number


class IpHash(Remembering, Nginx):
    """A number from an address."""

    values = _PRIME

    def owner(self, key: bytes) -> int:
        return self._at(next(self.numbers(key)))

    def numbers(self, key: bytes) -> Iterator[int]:
        octets, number = _octets(key), 89
        for _ in range(_TRIES):
            for octet in octets:
                number = (113 * number + octet) % _PRIME
            yield number


def _octets(key: bytes) -> bytes:
    """What counts of an address."""
    from ipaddress import ip_address  # it takes long, and few need it

    try:
        address = ip_address(key.decode())
    except ValueError:
        return key
    return address.packed[:3] if address.version == 4 else address.packed


_PICKERS: Final = {"crc32": HashMod, "nginx": Nginx, "ip_hash": IpHash}


def build(peers: Sequence[Peer], setup: Setup) -> HashMod:
    """The picker of the dialect."""
    return _PICKERS[setup.options.dialect](peers, setup)


POLICY = Policy(
    "hash_mod",
    "by the call's key, its hash modulo the number of backends",
    Expectation.HASH,
    build,
    options=Options(),
    keyed=True,
)
