"""Weighted random: every call to a peer drawn by weight.

The probability is weight / total, whatever came before. There are several
ways to draw, option form, and one law. For weights 5 1 1 and the number r, 0
to 6:

    form        how r becomes a backend                       memory  pick
    table       slots  a a a a a b c, or running sums         65536   O(1)
    expanded    slots  a a a a a b c                          total   O(1)
    cumulative  running sums 5 6 7, the first above r         n       O(log n)
    alias       one slot each, shared with one other          n       O(1)
    hybrid      list of light ones, running sums of the rest  light   O(log n)
    dynamic     expanded, weights cut down to fit in memory   limit   O(1)

- table, the default, and expanded take out the common divisor, and draw slots
  by random bytes. 65536 slots are the most that are written out; with more of
  them running sums draw the same.
- cumulative, alias and hybrid have a guide of 64 slots for every backend, but
  no more than 32768: equal parts of all numbers r, chosen by random bytes. A
  slot that is inside one backend's part is its own. In the others more bits
  are drawn, until they say what r is; table has 65536 slots then.
- alias, n = 3: a owns its slot, b 3/7 of its own and c too, the rest is a's:
  a (1 + 4/7 + 4/7) / 3 = 5/7.
- hybrid lists backends of weight up to threshold.
- dynamic changes the law. Weights may be at most memory-limit / 8 / n, and
  never less than 5 or more than 100. mapping=clamp cuts larger ones: 100 1
  with a cap of 5 becomes 5 1, and 50 25 becomes 5 5. mapping=scale lowers all
  in proportion, to 1 at least: 50 25 becomes 5 3. Shares are those
  afterwards.

Draws are uneven in the short run: a count is N p with a standard deviation of
sqrt(N p (1 - p)). Nothing is kept when peers join, leave or change weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

from lbctl.balance.draws import EXPANDED, Alias, Cumulative, Draws, Expanded, Hybrid, Table, capped, weight_cap
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Law, Policy, Setup, Why, weights_of
from lbctl.balance.policies.options import option
from lbctl.balance.slots import endless

_FORMS: Final = ("table", "expanded", "cumulative", "alias", "hybrid", "dynamic")


@dataclass(frozen=True, slots=True)
class Options:
    """How a draw is made."""

    form: str = option("table", "how a draw is made", choices=_FORMS)
    threshold: int = option(20, "hybrid: the largest weight that is listed", least=0, most=1000)
    memory_limit: int = option(1 << 20, "dynamic: bytes of the list", least=1, most=1 << 30)
    mapping: str = option("clamp", "dynamic: what becomes of weights that are too large", choices=("clamp", "scale"))


class WeightedRandom:
    """Draws peers independently in proportion to their weights, in batches."""

    def __init__(self, peers: Sequence[Peer], setup: Setup) -> None:
        options: Options = setup.options
        self._peers = peers
        self._weights = weights_of(peers)
        self._drawn = self._weights
        if options.form == "dynamic":
            self._drawn = capped(self._weights, weight_cap(options.memory_limit, len(peers)), options.mapping)
        self._draws = _draws(self._drawn, options).over(peers, setup.rng)
        self.pick: Callable[[Call], Peer] = endless(self._draws)

    def why(self, call: Call) -> tuple[Peer, Why]:
        law, peer = self.law(), next(self._draws)
        if self._drawn is self._weights:
            rows = [
                (each, (str(weight), f"{share:.2%}"))
                for each, weight, share in zip(self._peers, self._weights, law.shares, strict=True)
            ]
            return peer, Why("drawn by weight", ("weight", "chance"), tuple(rows))
        counted = [
            (each, (str(weight), str(drawn), f"{share:.2%}"))
            for each, weight, drawn, share in zip(self._peers, self._weights, self._drawn, law.shares, strict=True)
        ]
        return peer, Why("drawn by weight, cut down to fit", ("weight", "counts as", "chance"), tuple(counted))

    def law(self) -> Law:
        total = sum(self._drawn)
        return Law([weight / total for weight in self._drawn], drawn=True)

    def retire(self) -> None:
        """Leave nothing behind: draws are independent."""


def _draws(weights: Sequence[int], options: Options) -> Draws:
    divisor = gcd(*weights)
    reduced = [weight // divisor for weight in weights]
    match options.form:
        case "alias":
            return Alias(reduced)
        case "hybrid":
            return Hybrid(weights, options.threshold)
        case "expanded" | "dynamic" if sum(reduced) <= EXPANDED:
            return Expanded(reduced)
        case "table":
            return Table(reduced)
        case _:
            return Cumulative(reduced)


POLICY = Policy(
    "weighted_random",
    "a backend by chance, by weight",
    Expectation.MULTINOMIAL,
    WeightedRandom,
    Options(),
    aliases=("wr",),
)
