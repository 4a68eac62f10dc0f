"""Independent draws, made in blocks so that C does most of it; every chance is exact.

A number is made of digits, one byte each, and a digit of a random byte, taken modulo its base; bytes at the top that
would favour some digits are left out. The bases' product is the number of items, or a little more; what is drawn beyond
the last item is left out too.

    items    bases        bytes left out    items beyond the last    number of the last
    3        3            1 of 256          -                        2
    200      200          56                -                        199
    1000     4 250        0 and 6           -                        3, 249
    1001     4 251        0 and 5           3 of 1004                3, 247
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import prod
from random import Random
from sys import byteorder
from typing import Final, TypeVar

Item = TypeVar("Item")

_BYTE: Final = 256
_FIRST, _LARGEST = 32, 1024  # draws made at a time: few for a picker that may soon be replaced
_ARRAYS: Final = {1: "B", 2: "H", 4: "I"}  # by the bytes of a number


def endless(items: Iterator[Item]) -> Callable[[object], Item]:
    """Return a ``pick`` that takes the next of items that never end, whatever the call, and is no Python frame."""
    return partial(next, items)  # the call is next's default, for when there are no more


def drawn(items: Sequence[Item], rng: Random) -> Iterator[Item]:
    """Draw items for ever, each with the same chance; none of them is false."""
    bases = _bases(len(items))
    places = _placed(items, bases)
    blocks = ([places[number] for number in block] for block in _numbers(bases, rng))
    return chain.from_iterable(map(partial(filter, None), blocks))


def numbers(size: int, rng: Random) -> Iterator[Sequence[int]]:
    """Blocks of numbers below a power of two, for ever, each as likely as any other."""
    return _numbers(_bases(size), rng)


def _bases(size: int) -> list[int]:
    """How many values each digit has, the highest first, in numbers of 1, 2 or 4 bytes."""
    count = 1 if size <= _BYTE else 2 if size <= _BYTE**2 else 4
    bases: list[int] = []
    for lower in reversed(range(count)):
        bases.append(-(-size // _BYTE**lower))
        size = -(-size // bases[-1])
    return bases


def _placed(items: Sequence[Item], bases: Sequence[int]) -> list[Item | None]:
    """The items at their numbers; the same part of them for every value of the highest digit."""
    if len(bases) == 1:
        return [*items, *[None] * (bases[0] - len(items))]
    part, room = prod(bases[1:]), _BYTE ** (len(bases) - 1)
    places: list[Item | None] = []
    for start in range(0, bases[0] * part, part):
        found = _placed(items[start : start + part], bases[1:])
        places += [*found, *[None] * (room - len(found))]
    return places


def _numbers(bases: Sequence[int], rng: Random) -> Iterator[Sequence[int]]:
    width, count = len(bases), _FIRST
    kind, upwards = _ARRAYS[width], bases if byteorder == "big" else bases[::-1]
    digits = [_digits(base, rng) for base in upwards]
    while True:
        drawn_digits = [more(count) for more in digits]
        least = min(map(len, drawn_digits))
        block = bytearray(width * least)
        for place, each in enumerate(drawn_digits):
            block[place::width] = each[:least]
        yield array(kind, block)
        count = min(2 * count, _LARGEST)


def _digits(base: int, rng: Random) -> Callable[[int], bytes]:
    """Digits, each as likely as any other, made of so many bytes."""
    digit_of = bytes(number % base for number in range(_BYTE))
    left_out = bytes(range(_BYTE // base * base, _BYTE))
    return lambda count: rng.randbytes(count).translate(digit_of, left_out)
