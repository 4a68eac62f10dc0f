"""What a verdict on the balance needs to know, as sums: their size does not depend on how many epochs there were.

Three kinds of promises are kept apart. A *bounded* epoch says how far a count may be from its expectation. A *drawn*
epoch is chance, with enough picks for a chi-square of its own. *Pooled* epochs are chance with too few picks each:
their counts and expectations are added up and judged together. A deviation that leans the same way in every epoch is
small in each: so the counts and expectations of all epochs of chance are added up as well.

While a run goes on, chance is judged by Bayes factors instead (see ``bayes``): that of an epoch begins anew, and those
of several multiply, which keeps their mean at 1. Beside them stands the factor of what the epochs before suggest: who
got too much until now is supposed to get too much again. Their mean is a factor too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lbctl.balance.bayes import log_factor
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Law

UNSTEADY = 0.02  # part of the picks that another set may have had before the one they are judged by
_CALM = 20.0  # picks that a peer must be off by before it is thought to stay off
ENOUGH = 5.0  # expected picks of every peer for a chi-square to be valid


class Epoch(NamedTuple):
    """One picker's life: who could be picked, and what their counts obey."""

    peers: Sequence[Peer]
    law: Law

    @property
    def shares(self) -> Sequence[float]:
        return self.law.shares


@dataclass(slots=True)
class Standing:
    """One peer's sums.

    ``below`` and ``above`` are how far bounded counts may be from what was expected, in calls: the bounds of all epochs
    added up, and no more than could be picked in each. ``chance`` is all epochs of chance, ``pooled`` the short ones.
    """

    seen: int = 0  # the peer's picks at the last boundary between epochs
    bounded_picks: int = 0
    bounded_expected: float = 0.0
    below: float = 0.0
    below_squares: float = 0.0
    above: float = 0.0
    above_squares: float = 0.0
    chance_picks: int = 0
    chance_expected: float = 0.0
    pooled_picks: int = 0
    pooled_expected: float = 0.0


@dataclass(slots=True)
class Sums:
    """What all epochs came to together, in picks unless it says otherwise."""

    epochs: int = 0  # epochs with picks
    bounded: int = 0
    overrun: float = -math.inf  # the largest |count - expected| - bound of any bounded epoch
    drawn: int = 0
    chi2: float = 0.0  # over drawn epochs
    dof: int = 0
    pooled: int = 0
    chances: int = 0  # epochs of chance
    log_factor: float = 0.0  # against all that was said of chance, however short the epochs
    log_lean: float = 0.0  # the same of who got too much in the epochs before
    unjudged: int = 0  # nobody can say the shares beforehand, or there was only one way to go
    unfinished: int = 0  # of these, picks whose law was not known in full: there are too many keys
    strays: int = 0  # of peers that the picker should never have picked


class BackendEvidence(NamedTuple):
    """One backend's counts and expectations; see Standing."""

    address: str
    picks: int
    expected: float
    bounded_picks: int
    bounded_expected: float
    below: float
    below_squares: float
    above: float
    above_squares: float
    chance_picks: int
    chance_expected: float
    pooled_picks: int
    pooled_expected: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a verdict needs, at one moment; see Sums."""

    expectation: str
    bounded: int
    overrun: float
    drawn: int
    chi2: float
    dof: int
    pooled: int
    chances: int
    log_factor: float
    unjudged: int
    unfinished: int
    strays: int
    backends: tuple[BackendEvidence, ...]
    keys: str = ""  # where the calls' hash keys came from, as a user typed it
    steady: bool = True  # (nearly) all picks had one policy, one set and one list of weights


def settle(epoch: Epoch, counts: Sequence[int], sums: Sums, standings: Mapping[Peer, Standing]) -> None:
    """Add one epoch's counts, in the order of its peers, to the sums that its kind is judged by."""
    picks = sum(counts)
    if not picks:
        return
    sums.epochs += 1
    if epoch.law.bound != math.inf:
        _settle_bounded(epoch, counts, picks, sums, standings)
    elif not epoch.law.drawn or len(counts) == 1:
        sums.unjudged += picks
        sums.unfinished += picks if epoch.law.partial else 0
    else:
        sums.strays += sum(count for count, share in zip(counts, epoch.shares, strict=True) if not share)
        sums.log_factor += log_factor(counts, epoch.shares)
        sums.log_lean += _lean(epoch, counts, standings)
        _settle_chance(epoch, counts, picks, sums, standings)


def _settle_bounded(
    epoch: Epoch, counts: Sequence[int], picks: int, sums: Sums, standings: Mapping[Peer, Standing]
) -> None:
    sums.bounded += picks
    bound = epoch.law.bound
    for peer, count, share in zip(epoch.peers, counts, epoch.shares, strict=True):
        standing = standings[peer]
        expected = picks * share
        below, above = min(bound, expected), min(bound, picks - expected)
        standing.bounded_picks += count
        standing.bounded_expected += expected
        standing.below += below
        standing.below_squares += below * below
        standing.above += above
        standing.above_squares += above * above
        sums.overrun = max(sums.overrun, abs(count - expected) - bound)


def _settle_chance(
    epoch: Epoch, counts: Sequence[int], picks: int, sums: Sums, standings: Mapping[Peer, Standing]
) -> None:
    possible = [entry for entry in zip(epoch.peers, counts, epoch.shares, strict=True) if entry[2]]
    sums.chances += 1
    for peer, count, share in possible:
        standings[peer].chance_picks += count
        standings[peer].chance_expected += picks * share
    if min(share for _, _, share in possible) * picks >= ENOUGH:
        sums.drawn += picks
        sums.dof += len(possible) - 1
        sums.chi2 += sum((count - picks * share) ** 2 / (picks * share) for _, count, share in possible)
        return
    sums.pooled += picks
    for peer, count, share in possible:
        standings[peer].pooled_picks += count
        standings[peer].pooled_expected += picks * share


def _lean(epoch: Epoch, counts: Sequence[int], standings: Mapping[Peer, Standing]) -> float:
    """The logarithm of how much better the shares explain the counts when bent by what the peers got before."""
    bent = []
    for peer, share in zip(epoch.peers, epoch.shares, strict=True):
        standing = standings[peer]
        bent.append(share * (standing.chance_picks + _CALM) / (standing.chance_expected + _CALM))
    total = sum(bent)
    pairs = zip(counts, bent, epoch.shares, strict=True)
    return sum(count * math.log(each / (total * share)) for count, each, share in pairs if count and share)
