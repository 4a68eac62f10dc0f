"""What a snapshot of the registry changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lbctl.balance.peer import Peer
from lbctl.model import Identity, Instance


class Reweighted(NamedTuple):
    """A peer whose weight changed; the weights are the ones a balancer uses."""

    peer: Peer
    old: int
    new: int


class Restated(NamedTuple):
    """A peer whose status in the registry changed; None is up."""

    peer: Peer
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """What an update did: peers to dial, peers to close, and what else is worth telling."""

    added: tuple[Peer, ...] = ()
    removed: tuple[Peer, ...] = ()
    reweighted: tuple[Reweighted, ...] = ()
    restated: tuple[Restated, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.reweighted or self.restated)


def revised(
    peers: Mapping[Identity, Peer], wanted: Mapping[Identity, Instance]
) -> tuple[tuple[Reweighted, ...], tuple[Restated, ...]]:
    """Give every peer its instance as it is described now, and tell what about it is another."""
    reweighted: list[Reweighted] = []
    restated: list[Restated] = []
    for identity, peer in peers.items():
        old, new = peer.instance, wanted[identity]
        peer.instance = new
        if old.effective_weight != new.effective_weight:
            reweighted.append(Reweighted(peer, old.effective_weight, new.effective_weight))
        if old.status != new.status:
            restated.append(Restated(peer, old.status, new.status))
    return tuple(reweighted), tuple(restated)
