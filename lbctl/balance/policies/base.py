"""What a policy is: a name a user can type, a kind of expectation, and a way to build its picker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import NamedTuple, Protocol

from lbctl.balance.peer import Peer


class Expectation(StrEnum):
    """What can be said beforehand about who gets how many picks (and so which test judges them)."""

    SINGLE = "single"  # one peer gets everything
    SEQUENCE = "sequence"  # the order is a function of list order, weights and start state
    COUNTS = "counts"  # |count - N p| is bounded, the phase is unknown
    MULTINOMIAL = "multinomial"  # independent draws with known p
    HASH = "hash"  # each key has one right answer
    FEEDBACK = "feedback"  # depends on latency, errors or load reports


class Call(NamedTuple):
    """What a policy may know about a call."""

    number: int = 0
    key: bytes = b""  # for hash policies


class Picker(Protocol):
    """Chooses among one fixed, non-empty set of ready peers; never blocks, never looks outside its set."""

    def pick(self, call: Call) -> Peer: ...

    def shares(self) -> Sequence[float]:
        """Return the expected share of each peer, 0..1, in the order the picker was built with."""
        ...

    def bound(self) -> float:
        """Return how far, in calls, a count may get from picks x share, whatever their number; inf if by chance."""
        ...

    def retire(self) -> None:
        """Write what must outlive this picker back to its peers; it is not used afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as ``--policy NAME`` finds it.

    ``build`` gets the ready peers in key order: all of positive weight, or all of weight 0 (then each counts as 1).
    """

    name: str
    summary: str
    expectation: Expectation
    build: Callable[[Sequence[Peer], Random], Picker]


def weights_of(peers: Sequence[Peer]) -> list[int]:
    """Return the peers' weights; peers that are all of weight 0 count as 1 each."""
    weights = [peer.weight for peer in peers]
    return weights if any(weights) else [1] * len(weights)
