"""Where the hash keys of calls come from, and how often each may be expected: the shares of hash policies follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Population(NamedTuple):
    """Keys and the part of all calls that carries each. ``drawn``: every call's key is an independent draw.

    Where there are more keys than can be listed, the list is a sample, and ``whole`` is False.
    """

    keys: Sequence[bytes]
    parts: Sequence[float]
    drawn: bool
    whole: bool = True


class Keys(Protocol):
    """A source of keys, one for each call. ``spelled`` is how a user typed it."""

    spelled: str

    def __next__(self) -> bytes: ...

    def population(self) -> Population: ...
