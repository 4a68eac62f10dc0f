"""Instances, peers and an engine's counting, as short as tests need them: letters are keys, ports follow from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer
from lbctl.balance.policies import POLICIES
from lbctl.balance.policies.base import Call, Picker
from lbctl.model import Endpoint, Identity, Instance

ANY = Call()
VECTORS: Mapping[str, Any] = json.loads(Path(__file__).with_name("vectors.json").read_text())


def instance(key: str, weight: int | None = 1, *, port: int = 0, status: str | None = None) -> Instance:
    return Instance(key, "echo", "seed", Endpoint("10.0.0.1", port or sum(key.encode())), weight, status=status)


def fleet(weights: Iterable[int]) -> list[Peer]:
    """Return connected peers A, B, C ... or, beyond Z, numbered ones in key order."""
    given = list(weights)
    keys = [chr(ord("A") + n) for n in range(26)] if len(given) <= 26 else [f"{n:05}" for n in range(len(given))]
    pairs = enumerate(zip(keys, given, strict=False))
    return [Peer(instance(key, weight, port=1 + n), ready=True) for n, (key, weight) in pairs]


def built(policy: str, peers: list[Peer], seed: int = 1) -> Picker:
    return POLICIES[policy].build(peers, Random(seed))


def drawn(picker: Picker, count: int) -> list[Peer]:
    return [picker.pick(ANY) for _ in range(count)]


def letters(peers: Iterable[Peer]) -> str:
    return "".join(peer.instance.key for peer in peers)


class Service:
    """A balancer whose instances all connect at once, and an engine that only counts its picks."""

    def __init__(self, policy: str, seed: int = 1, **weights: int) -> None:
        self.balancer = Balancer(POLICIES[policy], Random(seed))
        self.set(**weights)

    def set(self, **weights: int) -> None:
        """Make the registry list exactly these."""
        change = self.balancer.update(instance(key, weight) for key, weight in weights.items())
        for peer in change.added:
            self.balancer.mark(peer, ready=True)

    def peer(self, key: str) -> Peer:
        return self.balancer.peers[Identity(key, instance(key).endpoint)]

    def run(self, count: int) -> str:
        """Pick and count; the keys picked, in order."""
        picked = []
        for _ in range(count):
            picker = self.balancer.picker
            assert picker is not None, "nothing is ready"
            peer = picker.pick(ANY)
            peer.picks += 1
            picked.append(peer)
        return letters(picked)
