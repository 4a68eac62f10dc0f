"""Weights that come, go and change one at a time, and are drawn from: each in a few steps, however many there are.

Weights share a class when they have as many binary digits, so the lightest of a class weighs more than half of what
the heaviest may. A draw finds a class by the sums of all, then draws evenly in it until one is accepted, with its
weight over the greatest of its class as the chance: after one or two draws.

    weights    5  1  1  3  2      classes of 3, 2 and 1 digits: sums 5, 5 and 2
    point 7    5 <= 7 < 10        the second class: 3 or 2, each with the chance of its weight over 3
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Generic, Protocol, TypeVar


class Weighty(Protocol):
    """What can be put into an urn; its ``chance`` is whole and above 0, its ``place`` is the urn's."""

    chance: int
    place: int


Item = TypeVar("Item", bound=Weighty)


class _Class(Generic[Item]):
    """The items whose chances have as many binary digits."""

    __slots__ = ("members", "most", "total")

    def __init__(self, digits: int) -> None:
        self.most = (1 << digits) - 1
        self.total = 0
        self.members: list[Item] = []


class Urn(Generic[Item]):
    """Items to draw by their chances, none above ``most``; empty at first. ``total`` is the sum of the chances."""

    __slots__ = ("_by_digits", "_classes", "_random", "total")

    def __init__(self, most: int, random: Callable[[], float]) -> None:
        self.total = 0
        self._random = random
        self._by_digits: list[_Class[Item]] = [_Class(digits) for digits in range(most.bit_length() + 1)]
        self._classes = self._by_digits[:0:-1]  # the heavy first, which are found most often

    def add(self, item: Item) -> None:
        """Put one in."""
        chance = item.chance
        found = self._by_digits[chance.bit_length()]
        members = found.members
        item.place = len(members)
        members.append(item)
        found.total += chance
        self.total += chance

    def remove(self, item: Item) -> None:
        """Take one out."""
        chance = item.chance
        found = self._by_digits[chance.bit_length()]
        members = found.members
        last = members.pop()
        if last is not item:
            place = last.place = item.place
            members[place] = last
        found.total -= chance
        self.total -= chance

    def reweigh(self, item: Item, chance: int) -> None:
        """Let one that is in it have another chance."""
        if chance.bit_length() == item.chance.bit_length():
            difference = chance - item.chance
            self._by_digits[chance.bit_length()].total += difference
            self.total += difference
            item.chance = chance
        else:
            self.remove(item)
            item.chance = chance
            self.add(item)

    def draw(self) -> Item:
        """Draw one, and leave it in."""
        point = self._random() * self.total
        for found in self._classes:
            if point < found.total:
                break
            point -= found.total
        members, most = found.members, found.most
        place = point / found.total * len(members)  # what is left of a number is as even as the number was
        while True:
            item = members[floor(place)]
            if place % 1.0 * most < item.chance:
                return item
            place = self._random() * len(members)
