"""Peers at given addresses, keys, and who owns them, for the tests of policies that pick by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from lbctl.balance.hashing.picker import KeyPicker
from lbctl.balance.keys import Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.model import Endpoint, Instance

KEYS = [b"user-%d" % number for number in range(2000)]


def at(addresses: Mapping[str, int] | Iterable[str]) -> list[Peer]:
    """Connected peers at these addresses, of weight 1 where none is given; their registry keys are the addresses."""
    weights = addresses if isinstance(addresses, Mapping) else dict.fromkeys(addresses, 1)
    return [Peer(_instance(address, weight), ready=True) for address, weight in weights.items()]


def hosts(count: int, first: int = 1) -> list[str]:
    """So many addresses, in order."""
    return [f"10.0.0.{number}:80" for number in range(first, first + count)]


def picker(policy: str, peers: Sequence[Peer], keys: Keys | None = None, /, **options: str) -> KeyPicker:
    """A picker with options as they are typed."""
    chosen = POLICIES[policy].with_options(options)
    built = chosen.build(peers, Setup(Random(1), chosen.options, keys))
    assert isinstance(built, KeyPicker)
    return built


def owner(made: KeyPicker, key: str | bytes, *tried: Peer) -> str:
    """The address that the key is sent to."""
    return made.pick(Call(1, key.encode() if isinstance(key, str) else key, tried)).instance.address


def owners(made: KeyPicker, keys: Sequence[bytes] = KEYS) -> list[str]:
    """The address that each key is sent to, by picking; the same as the picker says without picking."""
    picked = [made.pick(Call(1, key)) for key in keys]
    assert picked == [made.peers[node] for node in made.owners(keys)]
    return [peer.instance.address for peer in picked]


def _instance(address: str, weight: int) -> Instance:
    host, _, port = address.rpartition(":")
    return Instance(address, "echo", "seed", Endpoint(host, int(port)), weight)
