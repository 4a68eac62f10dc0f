"""Weighted random: every call to a peer drawn with probability weight / total, whatever came before.

A draw is one slot of a table in which each peer fills as many slots as its weight. A total above the table's size is
cut down to it: each peer gets the whole part of its slots, and the slots left over are drawn again among the
remainders, so the law stays exact and a draw costs the same for any weights.

    weights 5 1 1    a a a a a b c                   a 5/7, b 1/7, c 1/7

    weights 5 1 1    a a _ _      in 4 slots         a 20/7 = 2 + 6/7 slots, b and c 0 + 4/7 each
                     _ is drawn with 6 : 4 : 4       a 2/4 + 2/4 x 6/14 = 5/7
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from random import Random

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of

SLOTS = 1 << 16
_BATCH = 256


class WeightedRandom:
    """Draws peers independently in proportion to their weights, in batches."""

    def __init__(self, peers: Sequence[Peer], setup: Setup, slots: int = SLOTS) -> None:
        self._peers = peers
        self._weights = weights_of(peers)
        self._next = chain.from_iterable(_draws(peers, self._weights, setup.rng, slots)).__next__

    def pick(self, call: Call) -> Peer:
        return self._next()

    def why(self, call: Call) -> tuple[Peer, Why]:
        law, peer = self.law(), self._next()
        rows = [
            (each, (str(weight), f"{share:.2%}"))
            for each, weight, share in zip(self._peers, self._weights, law.shares, strict=True)
        ]
        return peer, Why("drawn by weight", ("weight", "chance"), tuple(rows))

    def law(self) -> Law:
        total = sum(self._weights)
        return Law([weight / total for weight in self._weights], drawn=True)

    def retire(self) -> None:
        """Leave nothing behind: draws are independent."""


def _draws(peers: Sequence[Peer], weights: Sequence[int], rng: Random, slots: int) -> Iterator[list[Peer]]:
    total = sum(weights)
    size = min(total // math.gcd(*weights), slots)
    filled = [divmod(weight * size, total) for weight in weights]
    table = [peer for peer, (whole, _) in zip(peers, filled, strict=True) for _ in range(whole)]
    while len(table) == size:
        yield rng.choices(table, k=_BATCH)
    open_ended = [*table, *[None] * (size - len(table))]
    remainders = list(accumulate(rest for _, rest in filled))
    while True:
        batch = rng.choices(open_ended, k=_BATCH)
        yield [peer or rng.choices(peers, cum_weights=remainders)[0] for peer in batch]


POLICY = Policy("weighted_random", "a backend by chance, by weight", Expectation.MULTINOMIAL, WeightedRandom)
