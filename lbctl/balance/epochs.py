"""What each peer should have got: picks times share, summed over epochs.

An epoch is the life of one picker: a fixed set, fixed weights, one policy. However many there are, only sums are kept.

    epoch   picks   a     b     c     expected so far
    1       70      5/7   1/7   1/7   50  10  10
    2       20      -     1/2   1/2   50  20  20      a has left
    3       30      1/3   1/3   1/3   60  30  30      a is back and all weights are 1
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from lbctl.balance.bayes import log_mean
from lbctl.balance.evidence import BackendEvidence, Epoch, Evidence, Standing, Sums, settle
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Expectation, Law


class Ledger:
    """Closes the books on an epoch when its picker goes; answers for the open one on demand.

    Counts are differences of ``peer.judged``, so that the engine has nothing to do but to count picks.
    """

    def __init__(self) -> None:
        self._epoch: Epoch | None = None
        self._standings: dict[Peer, Standing] = {}
        self._sums = Sums()

    @property
    def epochs(self) -> int:
        """How many epochs are closed and had picks."""
        return self._sums.epochs

    def __contains__(self, peer: object) -> bool:
        """Whether the peer ever was in a picker's set."""
        return peer in self._standings

    def open(self, epoch: Epoch) -> None:
        """Begin an epoch; the one before must be closed."""
        self._epoch = epoch
        for peer in epoch.peers:
            self._standings.setdefault(peer, Standing())

    def revise(self, law: Law) -> None:
        """Say anew what the open epoch obeys: a balancer that is not ours is known better and better."""
        if self._epoch is not None:
            self._epoch = self._epoch._replace(law=law)

    def close(self, listed: Collection[Peer]) -> None:
        """End the open epoch, if any; ``listed`` are all peers that exist now, in the picker's set or not."""
        epoch = self._epoch
        for peer, expected in self.expectations(listed).items():
            peer.expected = expected
        self._sums.strays += self._strays(listed)
        if epoch is not None:
            settle(epoch, self._counts(), self._sums, self._standings)
        self._epoch = None
        for peer in {*listed, *(epoch.peers if epoch is not None else ())}:
            if peer.judged:
                self._standings.setdefault(peer, Standing()).seen = peer.judged

    def expectations(self, peers: Collection[Peer]) -> dict[Peer, float]:
        """Return the picks that each of these peers, and each in the open epoch, should have had by now."""
        expected = {peer: peer.expected for peer in peers}
        epoch = self._epoch
        if epoch is not None:
            picks = sum(self._counts()) + self._strays(peers)
            for peer, share in zip(epoch.peers, epoch.shares, strict=True):
                expected[peer] = peer.expected + picks * share
        return expected

    def evidence(self, expectation: Expectation, peers: Collection[Peer]) -> Evidence:
        """Return what a verdict needs, the open epoch included; ``peers`` are all that ever were in a picker's set."""
        sums, standings, epoch = replace(self._sums), self._standings, self._epoch
        sums.strays += self._strays(peers)
        if epoch is not None:
            standings = standings | {peer: replace(standings[peer]) for peer in epoch.peers}
            settle(epoch, self._counts(), sums, standings)
        expected = self.expectations(peers)
        return Evidence(
            expectation=expectation.value,
            bounded=sums.bounded,
            overrun=sums.overrun,
            drawn=sums.drawn,
            chi2=sums.chi2,
            dof=sums.dof,
            pooled=sums.pooled,
            chances=sums.chances,
            log_factor=log_mean((sums.log_factor, sums.log_lean)),
            unjudged=sums.unjudged,
            unfinished=sums.unfinished,
            strays=sums.strays,
            backends=tuple(_row(peer, expected[peer], standings.get(peer) or Standing()) for peer in peers),
        )

    def _since(self, peer: Peer) -> int:
        standing = self._standings.get(peer)
        return peer.judged if standing is None else peer.judged - standing.seen

    def _counts(self) -> list[int]:
        return [self._since(peer) for peer in self._epoch.peers] if self._epoch is not None else []

    def _strays(self, listed: Collection[Peer]) -> int:
        inside = set(self._epoch.peers) if self._epoch is not None else set()
        return sum(self._since(peer) for peer in listed if peer not in inside)


def _row(peer: Peer, expected: float, standing: Standing) -> BackendEvidence:
    return BackendEvidence(
        address=peer.instance.address,
        picks=peer.picks,
        expected=expected,
        bounded_picks=standing.bounded_picks,
        bounded_expected=standing.bounded_expected,
        below=standing.below,
        below_squares=standing.below_squares,
        above=standing.above,
        above_squares=standing.above_squares,
        chance_picks=standing.chance_picks,
        chance_expected=standing.chance_expected,
        pooled_picks=standing.pooled_picks,
        pooled_expected=standing.pooled_expected,
    )
