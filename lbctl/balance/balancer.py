"""The balancer: which instances there are, which of them may be picked, and the picker over those.

State only: nothing here dials, waits or looks at a clock. The registry's full snapshots go in, differences come out;
whoever dials reports back with ``mark``. A new picker is built when it is asked for, so a burst of changes costs one.

    registry says     connected   drained by hand   weight   status     picked
    listed            yes         no                > 0      none       yes
    listed            yes         no                0        none       no, unless every weight is 0: then all are 1
    listed            no          -                 -        -          no
    listed            yes         yes               -        -          no
    listed            yes         no                -        disabled   no
    not any more      -           -                 -        -          no, and the caller closes it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from lbctl.balance.epochs import Ledger
from lbctl.balance.evidence import Epoch, Evidence
from lbctl.balance.peer import Nowhere, Peer
from lbctl.balance.policies.base import Picker, Policy
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


class _Built(NamedTuple):
    """What the current picker was built from."""

    policy: Policy
    peers: tuple[Peer, ...]
    weights: tuple[int, ...]


class Balancer:
    """Keeps the peers of one service and the picker over those that may take calls now."""

    def __init__(self, policy: Policy, rng: Random) -> None:
        self.on_change: Callable[[], None] | None = None  # called when `picker` may have become another one
        self.version = 0  # grows at the same moments
        self._policy = policy
        self._rng = rng
        self._peers: dict[Identity, Peer] = {}
        self._departed: dict[Identity, Peer] = {}
        self._ledger = Ledger()
        self._picker: Picker | None = None
        self._built: _Built | None = None
        self._stale = False

    @property
    def policy(self) -> Policy:
        return self._policy

    @property
    def peers(self) -> Mapping[Identity, Peer]:
        """The peers that the registry lists, in key order."""
        return MappingProxyType(self._peers)

    @property
    def departed(self) -> Mapping[Identity, Peer]:
        """Peers that the registry no longer lists and that have been in a picker's set."""
        return MappingProxyType(self._departed)

    @property
    def picker(self) -> Picker | None:
        """The picker over the peers that may take calls now; None when there is none, and calls have to wait."""
        if self._stale:
            self._rebuild()
        return self._picker

    @property
    def epochs(self) -> int:
        """How many pickers that had picks are gone."""
        return self._ledger.epochs

    def update(self, instances: Iterable[Instance]) -> Change:
        """Take a full snapshot of the service.

        The same key at another address is another peer; the first of several equal identities counts; a peer that
        comes back is the object it was, with its counts. Leases, revisions and metadata alone are no change.
        """
        wanted: dict[Identity, Instance] = {}
        for instance in instances:
            wanted.setdefault(instance.identity, instance)
        removed = tuple(self._removed(identity) for identity in [*self._peers] if identity not in wanted)
        reweighted, restated = self._revised(wanted)
        added = tuple(self._added(wanted[identity]) for identity in sorted(wanted) if identity not in self._peers)
        if added:
            self._peers = dict(sorted(self._peers.items()))
        change = Change(added, removed, reweighted, restated)
        if change:
            self._changed()
        return change

    def mark(self, peer: Peer, ready: bool) -> None:
        """Say whether calls can be sent to the peer; a peer that has left stays out whatever is said."""
        if peer.ready != ready and self._peers.get(peer.instance.identity) is peer:
            peer.ready = ready
            self._changed()

    def drain(self, peer: Peer, drained: bool) -> None:
        """Take the peer out of the rotation, or back in; it stays connected, and drained also when it re-registers."""
        if peer.drained != drained:
            peer.drained = drained
            self._changed()

    def switch(self, policy: Policy) -> None:
        """Go on with another policy; nothing the old one remembered is kept."""
        if policy is not self._policy:
            self._policy = policy
            self._changed()

    def expected(self, peer: Peer) -> float:
        """Return the picks the peer should have had by now."""
        return self._ledger.expectations([*self._peers.values(), peer])[peer]

    def expectations(self) -> Mapping[Peer, float]:
        """Return the picks that every peer, listed or departed, should have had by now."""
        return self._ledger.expectations(self._everyone())

    def evidence(self) -> Evidence:
        """Return what a verdict on the balance needs to know."""
        self._revise()
        return self._ledger.evidence(self._policy.expectation, self._everyone())

    def _revise(self) -> None:
        if self._picker is not None:
            self._ledger.bound(self._picker.bound())

    def _everyone(self) -> list[Peer]:
        return [*self._peers.values(), *self._departed.values()]

    def _added(self, instance: Instance) -> Peer:
        peer = self._departed.pop(instance.identity, None) or Peer(instance)
        peer.instance, peer.target, peer.credit = instance, Nowhere(), 0.0
        self._peers[instance.identity] = peer
        return peer

    def _removed(self, identity: Identity) -> Peer:
        peer = self._peers.pop(identity)
        peer.ready = False
        if peer in self._ledger:
            self._departed[identity] = peer
        return peer

    def _revised(self, wanted: Mapping[Identity, Instance]) -> tuple[tuple[Reweighted, ...], tuple[Restated, ...]]:
        reweighted: list[Reweighted] = []
        restated: list[Restated] = []
        for identity, peer in self._peers.items():
            old, new = peer.instance, wanted[identity]
            peer.instance = new
            if old.effective_weight != new.effective_weight:
                reweighted.append(Reweighted(peer, old.effective_weight, new.effective_weight))
            if old.status != new.status:
                restated.append(Restated(peer, old.status, new.status))
        return tuple(reweighted), tuple(restated)

    def _changed(self) -> None:
        self._stale = True
        self.version += 1
        if self.on_change is not None:
            self.on_change()

    def _rebuild(self) -> None:
        self._stale = False
        peers = self._pickable()
        built = _Built(self._policy, peers, tuple(peer.weight for peer in peers))
        if built == self._built:
            return
        self._revise()
        self._ledger.close(self._peers.values())
        if self._picker is not None:
            self._picker.retire()
        if self._built is not None and self._built.policy is not self._policy:
            for peer in self._everyone():
                peer.credit = 0.0
        self._built = built
        self._picker = self._policy.build(peers, self._rng) if peers else None
        if self._picker is not None:
            epoch = Epoch(self._policy.expectation, peers, self._picker.shares(), self._picker.bound())
            self._ledger.open(epoch)

    def _pickable(self) -> tuple[Peer, ...]:
        listed = [peer for peer in self._peers.values() if peer.instance.status is None]
        weightless = not any(peer.weight for peer in listed)
        return tuple(peer for peer in listed if peer.eligible and (peer.weight > 0 or weightless))
