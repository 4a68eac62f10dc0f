"""What one call sends that others do not, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from lbctl.errors import UsageError
from lbctl.wire.request import Headers


class Content(NamedTuple):
    """The messages of one call, one unless its client streams, and its own metadata.

    ``method`` is the number of the method, in a run of several; ``key`` the hash key, where it is found in the content.
    """

    messages: tuple[bytes, ...]
    metadata: Headers = ()
    key: bytes | None = None
    method: int = 0


class Contents(Protocol):
    """The contents of a run's calls, one after the other. Nothing raises: what is wrong ends them, as ``failure``."""

    failure: UsageError | None

    def supply(self, most: int) -> int:
        """How many of so many calls there is something for; fewer only where nothing follows."""
        ...

    def __next__(self) -> Content:
        """The next; only after ``supply`` has said that there is one."""
        ...

    def put_back(self, content: Content) -> None:
        """It was not sent after all: the next call gets it."""
        ...

    def close(self) -> None:
        """No more will be wanted."""
        ...


@dataclass(frozen=True, slots=True)
class Variant:
    """A method of a run of several: what it is called there, its weight, and its deadline, 0 for none."""

    name: str
    weight: float = 1.0
    timeout_ns: int = 0


@dataclass(frozen=True, slots=True)
class Varying:
    """A run whose calls differ. ``variants`` are its methods, where it has several; ``keyed``: contents have keys."""

    contents: Contents
    variants: Sequence[Variant] = ()
    keyed: bool = False
