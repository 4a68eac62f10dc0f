"""Events of what would be too many to tell one by one: when breakers begin to turn calls away, and when they stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from lbctl.balance.guards.base import spelled_s

_QUIET_NS: Final = 1_000_000_000  # without a call turned away, after which it is over; doubled each time it was not
_LONGEST_NS: Final = 64_000_000_000

Note = Callable[[str, str | None, str, str], None]  # kind, backend, text, level


class Spells:
    """The breakers before the pick, each quiet or turning calls away."""

    def __init__(self, names: Mapping[str, object], note: Note) -> None:
        self._spells = {name: _Spell() for name in names}
        self._note = note

    def look(self, turned_away: Mapping[str, int], now_ns: int) -> None:
        """See how many calls each breaker has turned away by now."""
        for name, spell in self._spells.items():
            text = spell.look(turned_away.get(name, 0), now_ns)
            if text:
                self._note("breaker", None, f"{name}: {text}", "bad" if spell.lasts else "good")

    def end(self, turned_away: Mapping[str, int], now_ns: int) -> None:
        """The run is over: what lasts is told as far as it came."""
        self.look(turned_away, now_ns)
        for name, spell in self._spells.items():
            if spell.lasts:
                self._note("breaker", None, f"{name}: {spell.so_far} turned away by the end of the run", "bad")


class _Spell:
    """From the first call that is turned away to the last before a pause."""

    __slots__ = ("_before", "_count", "_first_ns", "_last_ns", "_quiet_ns", "lasts")

    def __init__(self) -> None:
        self.lasts = False
        self._count = self._before = 0
        self._first_ns = self._last_ns = 0
        self._quiet_ns = _QUIET_NS

    @property
    def so_far(self) -> str:
        """The calls of this spell, in words."""
        count = self._count - self._before
        return "1 call" if count == 1 else f"{count:,} calls"

    def look(self, count: int, now_ns: int) -> str:
        """What is to be told, if anything."""
        if count > self._count:
            begins, self.lasts = not self.lasts, True
            if begins:
                self._before, self._first_ns = self._count, now_ns
            self._count, self._last_ns = count, now_ns
            return "begins to turn calls away" if begins else ""
        if self.lasts and now_ns - self._last_ns >= self._quiet_ns:
            self.lasts = False
            self._quiet_ns = min(2 * self._quiet_ns, _LONGEST_NS)
            return f"turns no more calls away, {self.so_far} in {spelled_s(self._last_ns - self._first_ns)}"
        return ""
