"""Ways to draw an index by weight: each turns a number from 0 up to ``size`` into an index, and all have one law.

``index`` says it for one number, ``over`` draws for ever. Numbers are exact to 2 ** -53 of their range, those of a
``Table`` wholly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from math import floor, gcd
from random import Random
from typing import Final, Protocol, TypeVar

from lbctl.balance.alias import AliasTable
from lbctl.balance.slots import LEAST_BITS, MOST_BITS, blocks, chosen, drawn

Item = TypeVar("Item")

SLOTS: Final = 1 << MOST_BITS
EXPANDED: Final = 1 << 20  # the longest list that is written out
_GUIDES: Final = 16  # slots of a guide for every index at least
_WORD: Final = 8  # bytes of a list's entry
_LEAST_CAP, _MOST_CAP = 5, 100


class Draws(Protocol):
    """Draws by weight; the items stand for the indices, and none of them is false."""

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]: ...


class Expanded:
    """A list with every index as often as its weight says, without their common divisor."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._list = _listed(range(len(weights)), _reduced(weights))
        self.size = len(self._list)

    def index(self, number: int) -> int:
        return self._list[number]

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        return chosen([items[index] for index in self._list], rng)


class Cumulative:
    """Running sums of the weights: the first one above the number.

    The number's first bits find its slot in a guide. Mostly it lies inside one index, and the sums are not searched.
    """

    def __init__(self, weights: Sequence[int], bits: int = 0) -> None:
        self._indices = [index for index, weight in enumerate(weights) if weight]
        self._sums = list(accumulate(weights[index] for index in self._indices))
        self._bits = bits or _bits_for(len(self._indices))
        self.size = self._sums[-1]

    def index(self, number: float) -> int:
        return _found(self._indices, self._sums)(number)

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        found = [items[index] for index in self._indices]
        return _guided(found, self._sums, self._bits, _found(found, self._sums), rng)


class Alias:
    """One slot for each index, shared with one other; of no weight are as many as make their number a power of two."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._bits = max(LEAST_BITS, (len(weights) - 1).bit_length())
        self._count = 1 << (len(weights) - 1).bit_length()
        self._table = AliasTable([*weights, *[0] * (self._count - len(weights))])
        self.size = self._table.size

    def index(self, number: int) -> int:
        return self._table.index(number)

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        table, total = self._table, self.size // self._count
        copies = (1 << self._bits) // self._count
        spare = items[: self._count - len(items)]  # stand for indices of no weight, and are never met
        own = [part / total for part in table.own] * copies
        mine = [*items, *spare] * copies
        others = [items[other] for other in table.other] * copies
        return chain.from_iterable(_aliased(own, mine, others, self._bits, rng))


class Hybrid:
    """A list of those of at most the threshold, running sums of the rest; with a guide as ``Cumulative`` has it."""

    def __init__(self, weights: Sequence[int], threshold: int) -> None:
        light = [index for index, weight in enumerate(weights) if 0 < weight <= threshold]
        self._light = len(light)
        self._order = light + [index for index, weight in enumerate(weights) if weight > threshold]
        self._sums = list(accumulate(weights[index] for index in self._order))
        self._list = _listed(light, [weights[index] for index in light])
        self.size = self._sums[-1]

    def index(self, number: float) -> int:
        return self._found(self._list, self._order)(number)

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        found = [items[index] for index in self._order]
        listed = [items[index] for index in self._list]
        return _guided(found, self._sums, _bits_for(len(found)), self._found(listed, found), rng)

    def _found(self, listed: Sequence[Item], items: Sequence[Item]) -> Callable[[float], Item]:
        size = len(listed)
        if self._light == len(items):
            return lambda number: listed[int(number)]
        heavy = _found(items[self._light :], self._sums[self._light :])
        return lambda number: listed[int(number)] if number < size else heavy(number)


class Table:
    """A list of bounded length, whole; where weights would need a longer one, a guide of that length to their sums."""

    def __init__(self, weights: Sequence[int], slots: int = SLOTS) -> None:
        self._weights = _reduced(weights)
        self._whole = sum(self._weights) <= slots
        self._bits = slots.bit_length() - 1

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        if self._whole:
            return drawn(_listed(items, self._weights), rng)
        return Cumulative(self._weights, self._bits).over(items, rng)


def _reduced(weights: Sequence[int]) -> list[int]:
    divisor = gcd(*weights)
    return [weight // divisor for weight in weights]


def _listed(items: Sequence[Item], weights: Sequence[int]) -> list[Item]:
    """Every item as often as its weight says."""
    return [item for item, weight in zip(items, weights, strict=True) for _ in range(weight)]


def _bits_for(count: int) -> int:
    return min(max(LEAST_BITS, (_GUIDES * count - 1).bit_length()), MOST_BITS)


def _guided(
    items: Sequence[Item], sums: Sequence[int], bits: int, find: Callable[[float], Item], rng: Random
) -> Iterator[Item]:
    """Draw items by their running sums; ``find`` says whose a number is that lies in a slot of several."""
    size, total = 1 << bits, sums[-1]
    guide: list[Item | None] = [None] * size
    before = 0
    for item, up_to in zip(items, sums, strict=True):
        first, end = -(-before * size // total), up_to * size // total
        if first < end:
            guide[first:end] = [item] * (end - first)
        before = up_to
    return chain.from_iterable(_by_guide(guide, bits, total / size, find, rng))


def _found(items: Sequence[Item], sums: Sequence[int]) -> Callable[[float], Item]:
    """Whose a number is by running sums; the last one's if it has been rounded up to their end."""
    ends, last = [float(each) for each in sums], len(sums) - 1
    return lambda number: items[bisect_right(ends, number, 0, last)]


def _by_guide(
    guide: Sequence[Item | None], bits: int, step: float, find: Callable[[float], Item], rng: Random
) -> Iterator[list[Item]]:
    within = rng.random
    for block in blocks(rng, bits):
        yield [guide[slot] or find((slot + within()) * step) for slot in block]


def _aliased(
    own: Sequence[float], mine: Sequence[Item], others: Sequence[Item], bits: int, rng: Random
) -> Iterator[list[Item]]:
    within = rng.random
    for block in blocks(rng, bits):
        yield [mine[slot] if within() < own[slot] else others[slot] for slot in block]


def weight_cap(memory_limit: int, count: int) -> int:
    """The largest weight with which a list of this many indices stays within so many bytes; 5 to 100."""
    return min(max(memory_limit // _WORD // count, _LEAST_CAP), _MOST_CAP)


def capped(weights: Sequence[int], cap: int, mapping: str) -> list[int]:
    """The weights, none above the cap: "clamp" cuts those that are, "scale" lowers all in proportion, to 1 at least."""
    most = max(weights)
    if most <= cap:
        return list(weights)
    if mapping == "clamp":
        return [min(weight, cap) for weight in weights]
    return [max(1, floor(weight * cap / most + 0.5)) for weight in weights]
