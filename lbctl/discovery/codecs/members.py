"""Typed members of JSON objects: null is the same as nothing, and a wrong type fails the whole value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lbctl.discovery.flaws import Unusable

_MOST_WEIGHT: Final = 999_999_999


class Members:
    """One JSON object; ``fate`` is what the layout's own clients do to a value with a wrong type in it."""

    __slots__ = ("_fate", "_found")

    def __init__(self, found: Mapping[str, Any], fate: str) -> None:
        self._found = found
        self._fate = fate

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def text(self, name: str) -> str:
        """A string, empty where there is none."""
        found = self._found.get(name)
        if found is not None and not isinstance(found, str):
            raise self._wrong(f"{name} is not a string")
        return found or ""

    def flag(self, name: str) -> bool | None:
        """A truth value, None where there is none."""
        found = self._found.get(name)
        if found is not None and not isinstance(found, bool):
            raise self._wrong(f"{name} is neither true nor false")
        return found

    def whole(self, name: str, code: str) -> int | None:
        """An integer, None where there is none; a number that is no integer has the code."""
        found = self._found.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self._wrong(f"{name} is not a number")
        if isinstance(found, float):
            raise Unusable(code, f"{name} is not an integer; {self._fate}")
        return found

    def weight(self, name: str, default: int) -> int:
        """A weight of at most nine digits; none, 0 and less are the default to those who wrote it."""
        found = self.whole(name, "bad_weight") or 0
        if found > _MOST_WEIGHT:
            raise Unusable("bad_weight", f"{name} has more than nine digits")
        return found if found > 0 else default

    def texts(self, name: str) -> list[str]:
        """A list of strings, empty where there is none."""
        return self._list(name, str, "strings")

    def objects(self, name: str) -> list[Members]:
        """A list of objects, empty where there is none."""
        return [Members(item, self._fate) for item in self._list(name, dict, "objects")]

    def mapping(self, name: str) -> dict[str, Any]:
        """An object, empty where there is none."""
        found = self._found.get(name)
        if found is not None and not isinstance(found, dict):
            raise self._wrong(f"{name} is not an object")
        return found or {}

    def text_map(self, name: str) -> dict[str, str]:
        """An object of strings, empty where there is none."""
        found = self.mapping(name)
        for inner, value in found.items():
            if not isinstance(value, str):
                raise self._wrong(f"{name}.{inner[:40]} is not a string")
        return found

    def extras(self, **names: str) -> dict[str, str]:
        """Strings that are there and not empty, as ``@`` and what they are called: no metadata has such names."""
        return {f"@{extra}": found for extra, name in names.items() if (found := self.text(name))}

    def _list(self, name: str, kind: type, called: str) -> list[Any]:
        found = self._found.get(name)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
            raise self._wrong(f"{name} is not a list of {called}")
        return found

    def _wrong(self, what: str) -> Unusable:
        return Unusable("wrong_type", f"{what}; {self._fate}")


def text_of(document: Mapping[str, Any], name: str) -> str:
    """A string, empty where there is none."""
    found = document.get(name)
    if found is not None and not isinstance(found, str):
        raise Unusable("wrong_type", f"{name} is not a string")
    return found or ""
