"""Instances, peers and an engine's counting, as short as tests need them: letters are keys, ports follow from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Picker, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.model import Code, Endpoint, Identity, Instance, Reply

ANY = Call()
OK = Reply(Code.OK)
VECTORS: Mapping[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "policies.json").read_text())


def instance(key: str, weight: int | None = 1, *, port: int = 0, status: str | None = None) -> Instance:
    return Instance(key, "echo", "seed", Endpoint("10.0.0.1", port or sum(key.encode())), weight, status=status)


def fleet(weights: Iterable[int]) -> list[Peer]:
    """Return connected peers A, B, C ... or, beyond Z, numbered ones in key order."""
    given = list(weights)
    keys = [chr(ord("A") + n) for n in range(26)] if len(given) <= 26 else [f"{n:05}" for n in range(len(given))]
    pairs = enumerate(zip(keys, given, strict=False))
    return [Peer(instance(key, weight, port=1 + n), ready=True) for n, (key, weight) in pairs]


def built(policy: str, peers: list[Peer], seed: int = 1, **options: str) -> Picker:
    """Build a picker as the balancer would, with options as they are typed."""
    chosen = POLICIES[policy].with_options(options)
    return chosen.build(peers, Setup(Random(seed), chosen.options))


def drawn(picker: Picker, count: int, *, first: int = 0) -> list[Peer]:
    """Pick for so many calls, each with a key of its own and answered OK after 1 ms, before the next is picked."""
    return [one(picker, number) for number in range(first, first + count)]


def one(picker: Picker, number: int) -> Peer:
    """Pick for one such call."""
    now_ns = (number + 1) * 2_000_000
    peer = picker.pick(Call(now_ns, b"key-%d" % number))
    peer.picks += 1
    peer.finished += 1
    if isinstance(picker, Learning):
        picker.ended(peer, now_ns, now_ns + 1_000_000, OK)
    return peer


def pieced(build: Callable[[], Picker], lives: Iterable[int]) -> list[Peer]:
    """Pick from one picker after another, from each so many times."""
    picked: list[Peer] = []
    for life in lives:
        picker = build()
        picked += drawn(picker, life)
        picker.retire()
    return picked


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
