"""What a policy is: a name a user can type, its options, what may be expected of it, and a way to build its picker."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Any, NamedTuple, Protocol, runtime_checkable

from lbctl.balance.keys import Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.options import NO_OPTIONS, parse, spelled
from lbctl.model import Reply


class Expectation(StrEnum):
    """What can be said beforehand about who gets how many picks (and so which test judges them)."""

    SINGLE = "single"  # one peer gets everything
    SEQUENCE = "sequence"  # the order is a function of list order, weights and start state
    COUNTS = "counts"  # |count - N p| is bounded, the phase is unknown
    MULTINOMIAL = "multinomial"  # independent draws with known p
    HASH = "hash"  # each key has one right answer
    FEEDBACK = "feedback"  # depends on latency, errors or load reports


class Call(NamedTuple):
    """What a policy may know about a call: when it is picked, its hash key, and which peers it was sent to before.

    Calls that are started together share one object; ``now_ns`` is also when their attempts begin.
    """

    now_ns: int = 0
    key: bytes = b""
    tried: tuple[Peer, ...] = ()


class Law(NamedTuple):
    """What the counts of one picker's picks obey.

    ``shares``: the expected share of each peer, 0..1, in the order of the set. ``bound``: how far, in calls, a count
    may get from picks x share, whatever their number; inf where nothing bounds it. ``drawn``: every pick is an
    independent draw with these shares. Neither bound nor drawn: they are a guide, and no test can be made of them.
    ``partial``: more is known when the picker is asked again, which takes it a while each time.
    """

    shares: Sequence[float]
    bound: float = math.inf
    drawn: bool = False
    partial: bool = False


class Why(NamedTuple):
    """Why a peer was picked: one sentence, and the candidates with the figures that decided, in the order compared."""

    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Peer, tuple[str, ...]], ...] = ()


class Picker(Protocol):
    """Chooses among one fixed, non-empty set of ready peers; never blocks, never looks outside its set."""

    def pick(self, call: Call) -> Peer: ...

    def why(self, call: Call) -> tuple[Peer, Why]:
        """Make the pick that ``pick`` would have made, and tell why."""
        ...

    def law(self) -> Law: ...

    def retire(self) -> None:
        """Write what must outlive this picker back to its peers; it is not used afterwards."""
        ...


@runtime_checkable
class Learning(Protocol):
    """A picker that learns from how attempts end. ``finished`` was counted, so ``in_flight`` is what it is now.

    Also told of attempts that an earlier picker began, and of peers that are not in its set any more.
    """

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None: ...


@runtime_checkable
class Reported(Protocol):
    """A picker that goes by load reports which come beside calls (ORCA out of band), or by answers to its probes."""

    def reported(self, peer: Peer, report: Any, now_ns: int) -> None: ...  # noqa: ANN401  # the policy knows its reports


@runtime_checkable
class Probing(Reported, Protocol):
    """A picker that goes by the answers to its probes; one of a simulation is answered by the simulation."""

    def crowd(self) -> float:
        """Others' requests in flight where answers came from, for each of this client's and each answer."""
        ...


def _nothing() -> None:
    """Nobody to tell."""


def _nobody(peer: Peer) -> None:
    """Nobody probes."""


def _unheard(kind: str, peer: Peer, text: str, level: str) -> None:
    """Nobody listens."""


def _none(peers: Sequence[Peer]) -> Iterable[str]:
    """The policy is what its name says."""
    return ()


class Setup(NamedTuple):
    """What a picker is built with, beside its peers.

    ``options``: the policy's own, parsed. ``keys``: where hash keys come from, None where calls carry none. ``renew``
    asks for a new picker, and so a new epoch, because weights have changed. ``probe`` asks a peer for a load report.
    ``note`` makes an event: kind, peer, text and level of a ``model.Event``.
    """

    rng: Random
    options: Any = NO_OPTIONS
    keys: Keys | None = None
    renew: Callable[[], None] = _nothing
    probe: Callable[[Peer], None] = _nobody
    note: Callable[[str, Peer, str, str], None] = _unheard


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as ``--policy NAME`` finds it.

    ``build`` gets the ready peers in key order: all of positive weight, or all of weight 0 (then each counts as 1).
    ``options`` holds the values of ``--policy-opt``: a frozen dataclass made of ``options.option`` fields. ``keyed``:
    calls need a hash key. ``cost`` is that of a pick, for people. ``wants`` names response metadata it has to see.
    ``doubts`` says, of all peers there were, why it was not what its name says. ``by_load``: it goes by calls in flight
    alone, so it knows nothing while there are fewer of them than peers. ``replayed``: a run of some seconds, played
    again, says what it does; it does not where the policy takes longer to find its way. ``ignores_health``: of gRPC's
    policies one stays with a backend that says it is not well.
    """

    name: str
    summary: str
    expectation: Expectation
    build: Callable[[Sequence[Peer], Setup], Picker]
    options: Any = NO_OPTIONS
    aliases: tuple[str, ...] = ()
    cost: str = "O(1)"
    keyed: bool = False
    wants: frozenset[bytes] = frozenset()
    doubts: Callable[[Sequence[Peer]], Iterable[str]] = _none
    by_load: bool = False
    replayed: bool = True
    ignores_health: bool = False

    def with_options(self, values: Mapping[str, str]) -> Policy:
        """The policy with these options set; raises UsageError for one it does not have, or a value that cannot be."""
        return replace(self, options=parse(self.name, self.options, values)) if values else self

    @property
    def stated(self) -> Mapping[str, str]:
        """The options that are not at their defaults, as they would be typed."""
        return spelled(self.options)


def weights_of(peers: Sequence[Peer]) -> list[int]:
    """Return the peers' weights as whole numbers; peers that are all of weight 0 count as 1 each.

    A weight that the policy has set itself counts instead. While a peer is warming up, or is only in part this
    client's, weights are in thousandths and at least 1.
    """
    weights, unit = full_weights_of(peers), unit_of(peers)
    if unit == 1:
        return weights
    return [max(1, round(unit * weight * peer.scale)) for weight, peer in zip(weights, peers, strict=True)]


def full_weights_of(peers: Sequence[Peer]) -> list[int]:
    """Return the same weights, whatever part of them counts now."""
    weights = [peer.weight if peer.override is None else peer.override for peer in peers]
    return weights if any(weights) else [1] * len(weights)


def unit_of(peers: Sequence[Peer]) -> int:
    """Return what weight 1 is in ``weights_of``: 1, or 1000 while only a part of somebody's weight counts."""
    return 1000 if any(peer.scale != 1.0 for peer in peers) else 1


def by_weight(peers: Sequence[Peer]) -> list[float]:
    """Return each peer's part of all weights."""
    weights = weights_of(peers)
    total = sum(weights)
    return [weight / total for weight in weights]


def equal(peers: Sequence[Peer]) -> list[float]:
    """Return the same share for everybody."""
    return [1.0 / len(peers)] * len(peers)
