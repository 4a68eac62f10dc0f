"""Weights by how calls end: a failure halves one, a success adds 1.

Every backend begins at its registered weight, and its weight stays between
min and max. A call goes to a backend drawn in proportion to the weights as
they are at that moment.

    call ends   weight of a   of b    next to a with chance
    -           8             8       8/16
    a fails     4             8       4/12
    a fails     2             8       2/10
    b is OK     2             9       2/11
    a is OK     3             9       3/12

A backend of which the part f of all calls fails has a weight of about
2 (1 - f) / f: then what failures take is what successes give.

    f           50%   20%   10%   5%     below 2%
    mean        2.2   7.6   17.6  37.2   mostly near a max of 100

So a backend that fails all its calls, however fast, falls to min and gets
one call in (sum of the others' weights): enough to notice that it is well
again. One that fails 1 % is hardly told from one that never fails. Registered
weights are only where it begins: backends that are well all reach max.

A backend that joins begins at its own weight, as does one whose registered
weight changes; leaving changes nothing for the others. Every end that is not
OK is a failure, also NOT_FOUND and the like. Source: the exercise with the
Done callback of gRPC-Go's balancers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import SERVER, is_withdrawn
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.urn import Urn
from lbctl.model import Reply


@dataclass(frozen=True, slots=True)
class Options:
    """The bounds."""

    min: int = option(1, "the weight that failures lead down to", least=1, most=1_000_000)
    max: int = option(100, "the weight that successes lead up to", least=1, most=1_000_000)

    def __post_init__(self) -> None:
        if self.min > self.max:
            raise ValueError(f"min={self.min} is above max={self.max}")


class _Slip:
    """One peer's, in the urn that is drawn from; while somebody warms up chances are more than weights."""

    __slots__ = ("chance", "factor", "peer", "place")

    def __init__(self, peer: Peer, weight: int) -> None:
        mine = peer.override or 1
        self.peer = peer
        self.factor = max(1, weight // mine)
        self.chance = self.factor * mine
        self.place = 0


class DoneWeight:
    """Draws by the weights of the moment, which are ``peer.override``; ``peer.memory`` is the weight it began at."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        self._min, self._max = setup.options.min, setup.options.max
        for peer in peers:
            base = peer.weight or 1
            if peer.override is None or peer.memory != base:
                peer.memory, peer.override = base, min(max(base, self._min), self._max)
        self._slips = {peer: _Slip(peer, weight) for peer, weight in zip(peers, weights_of(peers), strict=True)}
        slips = self._slips.values()
        self._urn: Urn[_Slip] = Urn(max(slip.factor for slip in slips) * self._max, setup.rng.random)
        for slip in slips:
            self._urn.add(slip)
        self._draw = self._urn.draw

    def pick(self, call: Call) -> Peer:
        return self._draw().peer

    def why(self, call: Call) -> tuple[Peer, Why]:
        shares = self.law().shares
        rows = [(peer, (str(peer.override), f"{share:.2%}")) for peer, share in zip(self._slips, shares, strict=True)]
        return self.pick(call), Why("drawn by the weights that past ends have left", ("weight", "chance"), tuple(rows))

    def law(self) -> Law:
        """The chances of the next pick."""
        return Law([slip.chance / self._urn.total for slip in self._slips.values()])

    def retire(self) -> None:
        """Weights are the peers' own."""

    def ended(self, peer: Peer, begun_ns: int, now_ns: int, reply: Reply) -> None:
        slip, before = self._slips.get(peer), peer.override
        if slip is None or before is None:  # somebody else's, or it left
            return
        if reply.code or reply.origin is not SERVER:
            if is_withdrawn(reply):
                return
            after = max(before // 2, self._min)
        else:
            after = before + 1 if before < self._max else self._max
        if after != before:
            peer.override = after
            self._urn.reweigh(slip, after * slip.factor)


POLICY = Policy(
    "done_weight",
    "by chance and weight: halved when a call fails, 1 more when it is OK",
    Expectation.FEEDBACK,
    DoneWeight,
    Options(),
)
