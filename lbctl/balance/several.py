"""Draws of several different items at a time, every order of every choice with the same chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from random import Random
from typing import Final, TypeVar

from lbctl.balance.slots import drawn

Item = TypeVar("Item")

_QUICK: Final = 3  # as many as Prequal probes with each call


def several(items: Sequence[Item], average: float, rng: Random) -> Iterator[Sequence[Item]]:
    """Draw different ones for ever, so many at a time on average; all where there are no more."""
    few = math.floor(average)
    part = average - few
    draws = _different(items, few, rng)
    return _mixed(draws, _different(items, few + 1, rng), part) if part else draws


def _different(items: Sequence[Item], count: int, rng: Random) -> Iterator[Sequence[Item]]:
    """Draw so many different ones at a time, for ever; all where there are no more."""
    if count >= len(items):
        return repeat(items)
    if count != _QUICK:
        return iter(lambda: rng.sample(items, count), None)
    stream = drawn(items, rng)
    return (
        (first, second, third)
        for first, second, third in zip(stream, stream, stream, strict=False)
        if first is not second and second is not third and third is not first
    )


def _mixed(few: Iterator[Item], more: Iterator[Item], part: float) -> Iterator[Item]:
    """Take the second ones as often as the part says, at equal distances."""
    due = 0.0
    while True:
        due += part
        if due < 1.0:
            yield next(few)
        else:
            due -= 1.0
            yield next(more)
