"""Which backend gets a single call: the one that was named, or the one that a policy picks, and why."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, Protocol

from lbctl.balance.balancer import Balancer
from lbctl.balance.keys import Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Policy, Why, weights_of
from lbctl.clock import Clock
from lbctl.commands.call_backends import CallBackends
from lbctl.load.explanation import explanation
from lbctl.load.single import Picked
from lbctl.model import Instance, Reply

_WEIGHT: Final = "weight"


class Chooser(Protocol):
    """Chooses the backend of one call after the other, and learns how each ended."""

    def pick(self, key: bytes | None) -> Picked | None:
        """The next; None where nobody can be called."""
        ...

    def ended(self, reply: Reply) -> None: ...


class Named:
    """Every call goes to one backend."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._number = 0

    def pick(self, key: bytes | None) -> Picked | None:
        self._number += 1
        return Picked(self._instance, self._number)

    def ended(self, reply: Reply) -> None:
        """Nothing is learnt from it."""


class Balanced:
    """A policy picks among those that can be called, one call after the other."""

    def __init__(
        self,
        policy: Policy,
        used: Sequence[Instance],
        backends: CallBackends,
        keys: Keys | None,
        seed: int,
        clock: Clock,
    ) -> None:
        """``used`` are the backends with the weights that count."""
        self._balancer = Balancer(policy, Random(seed), keys)
        self._backends = backends
        self._keys = keys
        self._now = clock.now_ns
        self._number = 0
        self._flying: tuple[Peer, int] | None = None
        self._balancer.update(used)

    def pick(self, key: bytes | None) -> Picked | None:
        balancer = self._balancer
        for peer in balancer.peers.values():
            balancer.mark(peer, self._backends.is_ready(peer.instance))
        picker = balancer.picker
        if picker is None:
            return None
        if key is None:
            key = b"" if self._keys is None else next(self._keys)
        call = Call(self._now(), key)
        peer, why = picker.why(call)
        peer.picks += 1
        self._number += 1
        self._flying = peer, call.now_ns
        told = explanation(balancer.policy, peer, call, why, self._number)
        return Picked(peer.instance, self._number, balancer.policy.name, self._weight(peer, why), told)

    def _weight(self, peer: Peer, why: Why) -> tuple[float, float] | None:
        """The weight that the policy says it went by, and that of all it could have picked: 0 where none has any."""
        if _WEIGHT not in why.columns:
            return None
        eligible = [each for each in self._balancer.peers.values() if each.eligible]
        if not any(each.weight_used for each in eligible):
            return 0, 0
        ready = [each for each in eligible if each.weight_used or each is peer]
        weights = dict(zip(ready, weights_of(ready), strict=True))
        return (weights[peer], sum(weights.values())) if peer in weights else None

    def ended(self, reply: Reply) -> None:
        if self._flying is not None:
            peer, begun_ns = self._flying
            self._flying = None
            peer.finished += 1
            self._balancer.ended(peer, begun_ns, self._now(), reply)
