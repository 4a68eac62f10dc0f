"""Ways to draw an index by weight: each has a line of ``size`` whole numbers, of which an index has its weight's part.

``index`` says whose a number is; all ways have one law, exactly. ``over`` draws for ever: out of the line itself where
that is a list, and else by a guide of random bits. A slot of it stands for an equal part of the line, which mostly is
inside one index's piece. In the slots where pieces meet more bits are drawn, until they say whose the number is.

    weights 5 1 1, a guide of 8 slots: 7/8 of a number each

    slot     0  1  2  3  4  5       6       7
    numbers  of index 0     4.4 on  5.3 on  6.1 on
    index    0  0  0  0  0  0 or 1  1 or 2  2
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from math import floor, gcd
from random import Random
from typing import Final, Protocol, TypeVar

from lbctl.balance.alias import AliasTable
from lbctl.balance.slots import drawn, numbers

Item = TypeVar("Item")

EXPANDED: Final = 1 << 16  # entries of the longest list that is written out
_GUIDES: Final = 64  # slots of a guide for every piece
_MOST: Final = 1 << 15  # of a guide: more do not fit into caches
_MORE: Final = 32  # bits that are drawn at a time where pieces meet
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
        return drawn([items[index] for index in self._list], rng)


class Guided(Protocol):
    """A line that is drawn from by a guide."""

    size: int

    def index(self, number: int) -> int: ...

    def pieces(self) -> Sequence[tuple[int, int]]:
        """The line from its beginning: indices, and where the piece of each ends."""
        ...


class Cumulative:
    """Running sums of the weights: the first one above the number."""

    def __init__(self, weights: Sequence[int], slots: int = 0) -> None:
        self._indices = [index for index, weight in enumerate(weights) if weight]
        self._sums = list(accumulate(weights[index] for index in self._indices))
        self._slots = slots
        self.size = self._sums[-1]

    def index(self, number: int) -> int:
        return self._indices[bisect_right(self._sums, number)]

    def pieces(self) -> Sequence[tuple[int, int]]:
        return [*zip(self._indices, self._sums, strict=True)]

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        return _guided(self, items, rng, self._slots)


class Alias:
    """One slot for each index, shared with one other; of no weight are as many as make their number a power of two."""

    def __init__(self, weights: Sequence[int]) -> None:
        spare = (1 << (len(weights) - 1).bit_length()) - len(weights)
        self._table = AliasTable([*weights, *[0] * spare])
        self.size = self._table.size

    def index(self, number: int) -> int:
        return self._table.index(number)

    def pieces(self) -> Sequence[tuple[int, int]]:
        return self._table.pieces()

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        return _guided(self, items, rng)


class Hybrid:
    """A list of those of at most the threshold, running sums of the rest."""

    def __init__(self, weights: Sequence[int], threshold: int) -> None:
        light = [index for index, weight in enumerate(weights) if 0 < weight <= threshold]
        self._order = light + [index for index, weight in enumerate(weights) if weight > threshold]
        self._sums = list(accumulate(weights[index] for index in self._order))
        self._light = len(light)
        self._list = _listed(light, [weights[index] for index in light])
        self.size = self._sums[-1]

    def index(self, number: int) -> int:
        if number < len(self._list):
            return self._list[number]
        return self._order[bisect_right(self._sums, number, self._light)]

    def pieces(self) -> Sequence[tuple[int, int]]:
        return [*zip(self._order, self._sums, strict=True)]

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        return _guided(self, items, rng)


class Table:
    """A list of bounded length; where weights would need a longer one, a guide of that length to their sums."""

    def __init__(self, weights: Sequence[int], slots: int = EXPANDED) -> None:
        whole = sum(_reduced(weights)) <= slots
        self._draws: Draws = Expanded(weights) if whole else Cumulative(weights, slots)

    def over(self, items: Sequence[Item], rng: Random) -> Iterator[Item]:
        return self._draws.over(items, rng)


def _reduced(weights: Sequence[int]) -> list[int]:
    divisor = gcd(*weights)
    return [weight // divisor for weight in weights]


def _listed(items: Sequence[Item], weights: Sequence[int]) -> list[Item]:
    """Every item as often as its weight says."""
    return [item for item, weight in zip(items, weights, strict=True) for _ in range(weight)]


def _guided(line: Guided, items: Sequence[Item], rng: Random, slots: int = 0) -> Iterator[Item]:
    """Draw items by their pieces of the line, with a guide of so many slots, a power of two."""
    pieces = line.pieces()
    slots = slots or min(1 << (_GUIDES * len(pieces) - 1).bit_length(), _MOST)
    guide: list[Item | None] = [None] * slots
    before = 0
    for index, end in pieces:
        inside = range(-(-before * slots // line.size), end * slots // line.size)
        guide[inside.start : inside.stop] = [items[index]] * len(inside)
        before = end
    return chain.from_iterable(_by_guide(guide, _meeting(line, items, rng, slots.bit_length() - 1), rng))


def _by_guide(guide: Sequence[Item | None], meeting: Callable[[int], Item], rng: Random) -> Iterator[list[Item]]:
    for block in numbers(len(guide), rng):
        yield [guide[slot] or meeting(slot) for slot in block]


def _meeting(line: Guided, items: Sequence[Item], rng: Random, bits: int) -> Callable[[int], Item]:
    """Draw in a slot where pieces meet, given its number, which are the first bits of what is drawn."""
    size, index, more, bits = line.size, line.index, rng.getrandbits, bits + _MORE

    def item(slot: int) -> Item:
        number, shift = slot << _MORE | more(_MORE), bits
        at = number * size
        while at >> shift < at + size - 1 >> shift:
            number, shift = number << _MORE | more(_MORE), shift + _MORE
            at = number * size
        return items[index(at >> shift)]

    return item


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
