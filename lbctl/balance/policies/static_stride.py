"""Static stride: gRPC's scheduler of weighted_round_robin.

Here it goes by the registry's weights, not by reported ones. Weights are
scaled so that the largest is 65535. One number counts upwards; number q asks
backend b = q mod n in generation g = q div n. With the scaled weight s, its
turn it is when the remainder (s g + 32767 b) mod 65535 is at least 65535 - s.
For a:1 b:2 c:3, scaled to 21845, 43690 and 65535, from number 0:

    number       0      1      2      3      4      5      6      7      8
    asked        a      b      c      a      b      c      a      b      c
    remainder    0      32767  65534  21845  10922  65534  43690  54612  65534
    at least     43690  21845  0      43690  21845  0      43690  21845  0
    picked              b      c                    c      a      b      c

So the order is b c c a b c: not smooth, but in proportion from any starting
number, which is the whole state. It starts at random, and a successor of the
picker goes on with it, so frequent rebuilds favour nobody.

- clamp=none is grpc-go's: a weight that scales to 0, below 1 / 131070 of the
  largest, is never picked.
- clamp=core, of the C++ core: weights are at most 10 times their mean, and at
  least 1 % of it.
- clamp=java: at most 10 times their mean, and at least 10 % of it.

Shares are those of the scaled and clamped weights. Within any number of
generations a count is within one of its part; between them light backends
come in two bunches, all even and all odd ones, which matters when there are
many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.shared_number import keep_number, number_of
from lbctl.balance.slots import endless
from lbctl.balance.stride import CLAMPS, WRAP, StaticStride


@dataclass(frozen=True, slots=True)
class Options:
    """How far weights may differ."""

    clamp: str = option("none", "whose limits for weights: none (grpc-go), core (C++) or java", choices=CLAMPS)


class Stride:
    """Takes turns by a sequence number, which outlives it in the peers' memory."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        self._peers = peers
        known = number_of(peers)
        opening = known.value if known else setup.rng.randrange(WRAP // 2)  # the wrap is then hours away
        self._weights = weights_of(peers)
        self._stride = StaticStride(self._weights, opening, setup.options.clamp)
        self._picks = self._stride.over(peers)
        self.pick: Callable[[Call], Peer] = endless(self._picks)

    def why(self, call: Call) -> tuple[Peer, Why]:
        peer = next(self._picks)
        generation, index = divmod((self._stride.sequence - 1) % WRAP, len(self._peers))
        rows = [
            (each, (str(weight), str(scaled)))
            for each, weight, scaled in zip(self._peers, self._weights, self._stride.scaled, strict=True)
        ]
        text = f"its turn in generation {generation}: sequence number {generation * len(self._peers) + index}"
        return peer, Why(text, ("weight", "scaled"), tuple(rows))

    def law(self) -> Law:
        return Law(self._stride.shares(), self._stride.bound())

    def retire(self) -> None:
        keep_number(self._peers, self._stride.sequence)


POLICY = Policy(
    "static_stride",
    "turns by weight, gRPC's scheduler",
    Expectation.COUNTS,
    Stride,
    Options(),
    aliases=("stride",),
)
