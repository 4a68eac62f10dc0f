"""Keys that are what they are because of other keys: which to look at again when those change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable


class Askers:
    """Who asked about what: ``/a`` is the value of a key, and ``/a/`` whether there are keys below it."""

    def __init__(self) -> None:
        self._of: defaultdict[str, set[bytes]] = defaultdict(set)
        self._about: dict[bytes, tuple[str, ...]] = {}
        self._stale: set[bytes] = set()

    def asked(self, key: bytes, about: tuple[str, ...]) -> None:
        """Note what a key was decided by, instead of what it was decided by before."""
        self.forget(key)
        if about:
            self._about[key] = about
            for name in about:
                self._of[name].add(key)

    def forget(self, key: bytes) -> None:
        """A key is gone, or is to be decided anew."""
        self._stale.discard(key)
        for name in self._about.pop(key, ()):
            self._of[name].discard(key)
            if not self._of[name]:
                del self._of[name]

    def changed(self, key: str, parents: Iterable[str]) -> None:
        """A key was put or removed, below its parents."""
        if self._of:
            for name in (key, *(f"{parent}/" for parent in parents)):
                self._stale |= self._of.get(name, set())

    def take_stale(self) -> list[bytes]:
        """The keys to decide anew, once."""
        stale = sorted(self._stale)
        self._stale.clear()
        return stale
