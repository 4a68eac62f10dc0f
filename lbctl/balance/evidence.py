"""What a verdict on the balance needs to know, as sums: their size does not depend on how many epochs there were.

Three kinds of promises are kept apart. A *bounded* epoch says how far a count may be from its expectation. A *drawn*
epoch is chance, with enough picks for a chi-square of its own. *Pooled* epochs are chance with too few picks each:
their counts and expectations are added up and judged together.

While a run goes on, chance is judged by Bayes factors instead (see ``bayes``): that of an epoch begins anew, and those
of several multiply, which keeps their mean at 1.
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
    """One peer's sums. In bounded epochs ``slack`` adds up the bounds and ``slack_squares`` their squares."""

    seen: int = 0  # the peer's picks at the last boundary between epochs
    bounded_picks: int = 0
    bounded_expected: float = 0.0
    slack: float = 0.0
    slack_squares: float = 0.0
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
    log_factor: float = 0.0  # against all that was said of chance, however short the epochs
    unjudged: int = 0  # nobody can say the shares beforehand, or there was only one way to go
    strays: int = 0  # of peers that the picker should never have picked


class BackendEvidence(NamedTuple):
    """One backend's counts and expectations; see Standing."""

    address: str
    picks: int
    expected: float
    bounded_picks: int
    bounded_expected: float
    slack: float
    slack_squares: float
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
    log_factor: float
    unjudged: int
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
    else:
        sums.strays += sum(count for count, share in zip(counts, epoch.shares, strict=True) if not share)
        sums.log_factor += log_factor(counts, epoch.shares)
        _settle_chance(epoch, counts, picks, sums, standings)


def _settle_bounded(
    epoch: Epoch, counts: Sequence[int], picks: int, sums: Sums, standings: Mapping[Peer, Standing]
) -> None:
    sums.bounded += picks
    slack = min(epoch.law.bound, float(picks))
    for peer, count, share in zip(epoch.peers, counts, epoch.shares, strict=True):
        standing = standings[peer]
        standing.bounded_picks += count
        standing.bounded_expected += picks * share
        standing.slack += slack
        standing.slack_squares += slack * slack
        sums.overrun = max(sums.overrun, abs(count - picks * share) - epoch.law.bound)


def _settle_chance(
    epoch: Epoch, counts: Sequence[int], picks: int, sums: Sums, standings: Mapping[Peer, Standing]
) -> None:
    possible = [entry for entry in zip(epoch.peers, counts, epoch.shares, strict=True) if entry[2]]
    if min(share for _, _, share in possible) * picks >= ENOUGH:
        sums.drawn += picks
        sums.dof += len(possible) - 1
        sums.chi2 += sum((count - picks * share) ** 2 / (picks * share) for _, count, share in possible)
        return
    sums.pooled += picks
    for peer, count, share in possible:
        standings[peer].pooled_picks += count
        standings[peer].pooled_expected += picks * share
