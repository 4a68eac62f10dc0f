"""Reading a service config value by value: what is wrong is told with the path to it, what is not known is noted.

    "maxAttempts": 4                    a whole number; 4.0 is one, "4" and true are not
    "initialBackoff": "0.1s"            a duration: seconds with at most nine decimals, and an s; ".1s" is noted
    "retryableStatusCodes": ["UNAVAILABLE", 14]     names as they are spelled; a number is noted

As in gRPC a null is a value that is not there, and keys that nobody knows are passed over.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lbctl.errors import UsageError
from lbctl.model import Code

_DURATION: Final = re.compile(r"(-?)(?=\.?[0-9])([0-9]*)(\.?)([0-9]{0,9})s")
_LONGEST_S: Final = 315_576_000_000  # that of protobuf: 10,000 years
_SHOWN: Final = 60  # characters of a wrong value
_REJECTED: Final = "gRPC rejects the whole service config for this"


def mistake(path: str, what: str, hint: str = _REJECTED) -> UsageError:
    """The error for what stands at that path."""
    return UsageError(f"service config: {path}: {what}" if path else f"service config: {what}", hint)


def shown(value: object) -> str:
    """A value as it stands in the file, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


class Fields:
    """One JSON object at its path. What was not asked for by the end is noted by ``rest``."""

    def __init__(self, value: object, path: str, notes: list[str]) -> None:
        if not isinstance(value, dict):
            raise mistake(path, f"{shown(value)} is not an object")
        self.path = path
        self.notes = notes
        self._values: Mapping[str, Any] = value
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        """The names of its fields that have a value."""
        return (name for name, value in self._values.items() if value is not None)

    def at(self, name: str) -> str:
        """The path of one of its fields."""
        return f"{self.path}.{name}" if self.path else name

    def raw(self, name: str) -> Any:  # noqa: ANN401  # whatever JSON has
        """The value as it is; None where there is none."""
        self._asked.add(name)
        return self._values.get(name)

    def fields(self, name: str) -> Fields | None:
        """The object of that name."""
        value = self.raw(name)
        return None if value is None else Fields(value, self.at(name), self.notes)

    def items(self, name: str) -> list[tuple[str, Any]] | None:
        """The elements of a list, each with its path."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise mistake(self.at(name), f"{shown(value)} is not a list")
        return [(f"{self.at(name)}[{index}]", each) for index, each in enumerate(value)]

    def objects(self, name: str) -> Iterator[Fields]:
        """The objects of a list."""
        for path, value in self.items(name) or ():
            yield Fields(value, path, self.notes)

    def text(self, name: str) -> str | None:
        value = self.raw(name)
        if value is not None and not isinstance(value, str):
            raise mistake(self.at(name), f"{shown(value)} is not a string")
        return value

    def flag(self, name: str) -> bool | None:
        value = self.raw(name)
        if value is not None and not isinstance(value, bool):
            raise mistake(self.at(name), f"{shown(value)} is neither true nor false")
        return value

    def number(self, name: str) -> float | None:
        """A finite number."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            raise mistake(self.at(name), f"{shown(value)} is not a number")
        return float(value)

    def whole(self, name: str, least: int = 0, most: int = (1 << 32) - 1) -> int | None:
        """A whole number within limits."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            raise mistake(self.at(name), f"{shown(value)} is not a whole number")
        if not least <= value <= most:
            raise mistake(self.at(name), f"{shown(value)} is not from {least} to {most}")
        return int(value)

    def duration_ns(self, name: str) -> int | None:
        """A duration of 0 or more."""
        value = self.raw(name)
        if value is None:
            return None
        found = _DURATION.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise mistake(self.at(name), f'{shown(value)} is not a duration, such as "0.1s" or "10s"')
        if len(found[2]) > 12 or int(found[2] or 0) > _LONGEST_S:
            raise mistake(self.at(name), f"{shown(value)} is longer than a duration can be")
        nanoseconds = int(found[2] or 0) * 1_000_000_000 + int(found[4].ljust(9, "0"))
        if found[1] and nanoseconds:
            raise mistake(self.at(name), f"{shown(value)} is negative")
        if found[3] and not (found[2] and found[4]):
            self.notes.append(
                f"service config: {self.at(name)}: grpc-go takes {shown(value)}, but C-core (Python, C++) rejects the "
                "whole config for it: digits belong on both sides of the point"
            )
        return nanoseconds

    def positive_ns(self, name: str) -> int:
        """A duration that has to be there, and above 0."""
        nanoseconds = self.duration_ns(name)
        if nanoseconds is None:
            raise mistake(self.path, f"{name} is missing")
        if not nanoseconds:
            raise mistake(self.at(name), f"{shown(self.raw(name))} is not above 0")
        return nanoseconds

    def codes(self, name: str) -> frozenset[Code] | None:
        """Status codes, by name; a number is noted."""
        found = self.items(name)
        if found is None:
            return None
        self.notes.extend(
            f"service config: {path}: grpc-go takes the number {value}, but C-core (Python, C++) rejects the whole "
            f"config for it: write {Code(value).name}"
            for path, value in found
            if _is_number(value)
        )
        return frozenset(_code(path, value) for path, value in found)

    def rest(self) -> None:
        """Note the keys that nobody has asked for."""
        for name in self._values:
            if name not in self._asked:
                self.notes.append(f"service config: {self.at(name)} is not known, and passed over as gRPC does")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def _is_number(value: object) -> bool:
    """Whether it is that of a status code."""
    return isinstance(value, int) and not isinstance(value, bool) and value in Code.__members__.values()


def _code(path: str, value: Any) -> Code:  # noqa: ANN401  # whatever JSON has
    if isinstance(value, str) and value in Code.__members__:
        return Code[value]
    if _is_number(value):
        return Code(value)
    capitals = value.upper() if isinstance(value, str) else ""
    if capitals in Code.__members__:
        raise mistake(path, f"{shown(value)} is not a status code: it is spelled {capitals}")
    raise mistake(path, f"{shown(value)} is not a status code, such as UNAVAILABLE")
