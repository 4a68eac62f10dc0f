"""What the person at the screen of a watch has chosen, and what the keys there do. No drawing in here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lbctl.discovery.watch_report import WatchReport, WatchRow
from lbctl.load.controls import Question
from lbctl.view.pages import hints, registry_line
from lbctl.view.theme import Look

WATCH_HELP: Final = (
    ("q", "quit"),
    ("j k", "select an instance (arrows too)"),
    ("g G", "first, last; PgUp PgDn a page"),
    ("w", "write another weight (asks)"),
    ("d", "drain or undrain (asks)"),
    ("x", "deregister (asks)"),
    ("c", "check health now"),
    ("/", "only instances with a text"),
    ("Ctrl-L", "repaint"),
    ("? Esc", "close this"),
)
# the first of them stay where space is short, with the last
_HINTS: Final = (
    ("q", "quit"),
    ("j/k", "select"),
    ("w", "weight"),
    ("d", "drain"),
    ("x", "deregister"),
    ("c", "check"),
    ("/", "filter"),
    ("?", "help"),
)
_CHECKING: Final = "  checking"
_CHECKING_WIDTH: Final = 60  # from where on there is room to say so
_DIGITS: Final = 7  # of a weight
_WANTED_MOST: Final = 40  # characters


@dataclass(slots=True)
class WatchUi:
    """What the person at the watch has chosen."""

    selected: str | None = None  # its address: each has one row
    help: bool = False
    can_type: bool = True
    wanted: str = ""  # only instances with this in their address, key, state or health are listed
    typing: str = ""  # what keys go into: filter | weight
    weight: str = ""  # as far as it is typed
    weighed: str = ""  # the address that it is for
    asked: Question | None = None  # what is answered by y, or by any other key
    busy: str = ""  # what is waited for before that can be asked, or after it

    def listed(self, report: WatchReport) -> tuple[WatchRow, ...]:
        """Return the instances that are wanted."""
        text = self.wanted.lower()
        if not text:
            return report.rows
        return tuple(
            row
            for row in report.rows
            if text in f"{row.instance.address} {row.instance.key} {row.state} {row.health or ''}".lower()
        )

    def position(self, rows: tuple[WatchRow, ...]) -> int:
        """Where the selected instance is; 0 if it is not there."""
        for index, row in enumerate(rows):
            if row.instance.address == self.selected:
                return index
        return 0

    def select(self, rows: tuple[WatchRow, ...], index: int) -> None:
        """Select the instance at an index, clamped to the rows there are."""
        if rows:
            self.selected = rows[min(max(index, 0), len(rows) - 1)].instance.address

    def type_filter(self, key: str) -> None:
        """Take a key of the text that instances are picked by."""
        if key in ("enter", "esc"):
            self.typing, self.wanted = "", self.wanted if key == "enter" else ""
        elif key == "backspace":
            self.wanted = self.wanted[:-1]
        elif len(key) == 1 or key == "space":
            self.wanted = (self.wanted + (key if len(key) == 1 else " "))[:_WANTED_MOST]

    def type_weight(self, key: str) -> int | None:
        """Take a key of a weight; return the weight once it is whole. What is none is not taken for another."""
        if key == "backspace":
            self.weight = self.weight[:-1]
        elif key == "esc" or (key == "enter" and not self.weight):
            self.typing = ""
        elif key == "enter" and self.is_weight:
            self.typing = ""
            return int(self.weight)
        elif len(key) == 1 or key == "space":
            self.weight = (self.weight + (key if len(key) == 1 else " "))[:_WANTED_MOST]
        return None

    @property
    def is_weight(self) -> bool:
        """Whether what was typed so far is a weight."""
        return self.weight.isascii() and self.weight.isdigit() and len(self.weight) <= _DIGITS


def watch_footer(report: WatchReport, ui: WatchUi, width: int, look: Look) -> str:
    """Return what is asked or typed, otherwise the keys, as many as there is room for."""
    if not ui.can_type:
        return look.paint(look.style.muted, look.elide(" Ctrl-C quits", width))
    if ui.asked is not None or ui.busy:
        return registry_line(ui.asked, ui.busy, width, look)
    if ui.typing == "filter":
        return _typed(f" /{look.show(ui.wanted)}_  Enter: keep  Esc: all instances", width, look)
    if ui.typing == "weight":
        odd = bool(ui.weight) and not ui.is_weight
        words = "no weight: digits only" if odd else "Enter: go on"
        return _typed(f" weight {look.show(ui.weight)}_  {words}  Esc: leave it  {look.show(ui.weighed)}", width, look)
    line = hints(_fitting(width), width, look)
    return line + look.paint(look.style.muted, _CHECKING) if report.checking and width >= _CHECKING_WIDTH else line


def _typed(text: str, width: int, look: Look) -> str:
    return look.paint(look.style.reverse, look.left(text, width))


def _fitting(width: int) -> tuple[tuple[str, str], ...]:
    """The keys there is room for, help among them, and beside them that health is being checked."""
    room = width - (len(_CHECKING) if width >= _CHECKING_WIDTH else 0)
    found = list(_HINTS)
    while len(found) > 1 and sum(len(key) + len(words) + 3 for key, words in found) - 1 > room:
        del found[-2 if len(found) > 2 else -1]
    return tuple(found)
