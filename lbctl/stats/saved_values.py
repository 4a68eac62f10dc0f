"""Values out of a document that somebody may have edited: of the kind that is needed, or an error that tells where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Final, TypeVar

T = TypeVar("T")
_NONE: Final = object()
_SHOWN: Final = 40


class NotARun(ValueError):
    """A document that is no run, or not one that can be read; the message says what is the matter with it."""


class Part:
    """One object of a document. What is missing is an error, or the default where there is one."""

    __slots__ = ("_found", "_where")

    def __init__(self, found: object, where: str = "") -> None:
        if not isinstance(found, Mapping):
            raise NotARun(f"{where or 'the document'}: an object is needed, not {_spelled(found)}")
        self._found: Mapping[str, object] = found
        self._where = where

    def __contains__(self, name: str) -> bool:
        """Whether there is anything but null under the name."""
        return self._found.get(name) is not None

    def text(self, name: str, default: object = _NONE) -> str:
        return self._of(name, str, "text", default)

    def word(self, name: str) -> str | None:
        """Text, or None where there is none."""
        return self.text(name) if name in self else None

    def truth(self, name: str, default: object = _NONE) -> bool:
        return self._of(name, bool, "true or false", default)

    def whole(self, name: str, default: object = _NONE) -> int:
        """A whole number of 0 or more."""
        return _whole(self._get(name, default), self._path(name))

    def number(self, name: str, default: object = _NONE) -> float:
        return _number(self._get(name, default), self._path(name))

    def maybe(self, name: str) -> float | None:
        """A number, or None where there is none."""
        return self.number(name) if name in self else None

    def maybe_whole(self, name: str) -> int | None:
        return self.whole(name) if name in self else None

    def part(self, name: str) -> Part:
        return Part(self._get(name, _NONE), self._path(name))

    def maybe_part(self, name: str) -> Part | None:
        return self.part(name) if name in self else None

    def parts(self, name: str) -> Iterator[Part]:
        """The objects of a list; none where there is no list."""
        for place, each in enumerate(self.items(name)):
            yield Part(each, f"{self._path(name)}[{place}]")

    def items(self, name: str) -> list[object]:
        """The list under a name; empty where there is none."""
        return self._of(name, list, "a list", [])

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.items(name)
        for each in found:
            if not isinstance(each, str):
                raise NotARun(f"{self._path(name)}: text is needed, not {_spelled(each)}")
        return tuple(map(str, found))

    def words(self, name: str) -> dict[str, str]:
        """Text by name; empty where there is none."""
        inner = Part(self._found.get(name) or {}, self._path(name))
        return {key: inner.text(key) for key in inner._found}

    def counts(self, name: str) -> dict[str, int]:
        """Whole numbers by name; empty where there are none."""
        inner = Part(self._found.get(name) or {}, self._path(name))
        return {key: inner.whole(key) for key in inner._found}

    def names(self) -> tuple[str, ...]:
        return tuple(self._found)

    def refuse(self, name: str, what: str) -> NotARun:
        """The error of a value that cannot be."""
        return NotARun(f"{self._path(name)}: {what}")

    @property
    def plain(self) -> Mapping[str, object]:
        """The object as it is."""
        return self._found

    def _path(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def _get(self, name: str, default: object) -> object:
        found = self._found.get(name)
        if found is not None:
            return found
        if default is _NONE:
            raise NotARun(f"{self._path(name)} is missing")
        return default

    def _of(self, name: str, kind: type[T], what: str, default: object) -> T:
        found = self._get(name, default)
        if not isinstance(found, kind):
            raise NotARun(f"{self._path(name)}: {what} is needed, not {_spelled(found)}")
        return found


def _number(found: object, where: str) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not _finite(found):
        raise NotARun(f"{where}: a number is needed, not {_spelled(found)}")
    return float(found)


def _finite(found: float) -> bool:
    try:
        return isfinite(found)
    except OverflowError:  # a whole number with hundreds of digits
        return False


def _whole(found: object, where: str) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 1 << 63:
        raise NotARun(f"{where}: a whole number is needed, not {_spelled(found)}")
    return found


def _spelled(found: object) -> str:
    if found is None or isinstance(found, bool):
        return {None: "null", True: "true", False: "false"}[found]
    if isinstance(found, Mapping | list):
        return "an object" if isinstance(found, Mapping) else "a list"
    text = repr(found)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
