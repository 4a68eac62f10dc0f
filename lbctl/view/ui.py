"""What the person at the live view has chosen: selection, order, page, window. No drawing and no run state in here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from lbctl.load.controls import Question
from lbctl.stats.report import BackendRow, Report
from lbctl.view.sight import Sight

_SortKey = Callable[[BackendRow, "Ui", float], tuple[float | str, ...]]


def _by_p99(row: BackendRow, ui: Ui, now_s: float) -> tuple[float | str, ...]:
    digest = ui.sight.digests.of(row.latency, now_s)
    return (-digest.p99 if digest else 0.0,)


@lru_cache(maxsize=4096)
def natural(text: str) -> tuple[float | str, ...]:
    """Return a sort key in which numbers inside text count as numbers: ``10.0.0.9`` before ``10.0.0.11``."""
    parts: list[str] = [""]
    for char in text:
        if char.isascii() and char.isdigit() == parts[-1][-1:].isdigit():
            parts[-1] += char
        else:
            parts.append(char)
    return tuple(part.rjust(20, "0") if part[:1].isdigit() else part for part in parts)


# the name in the rule above the table, and the order it stands for; ties stay in report order
SORTS: tuple[tuple[str, _SortKey], ...] = (
    ("addr", lambda row, ui, now_s: natural(row.address)),
    ("share", lambda row, ui, now_s: (-row.attempts,)),
    ("delta", lambda row, ui, now_s: (-abs(row.picks - row.expected),)),
    ("rps", lambda row, ui, now_s: (-(ui.sight.row_rate(row) or 0.0),)),
    ("err", lambda row, ui, now_s: (-row.errors,)),
    ("p99", _by_p99),
)


@dataclass(slots=True)
class Ui:
    """The state of one live view. ``sight`` is its memory of the run's counters."""

    selected: tuple[str, str] | None = None  # key and address; None is the first row
    sort: int = 0
    reverse: bool = False
    histogram: bool | None = None  # None: shown where there is room
    focus: bool = False  # the histogram of the selected backend instead of all
    page: str = "main"  # main | events | help
    scroll: int = 0  # lines: of events up from the newest, of keys down from the first
    keep_frame: bool = False  # leave the last frame in the scrollback
    can_type: bool = True  # keys can be read at all
    wanted: str = ""  # only backends with this in their address, state or reason are listed
    typing: bool = False  # keys go there
    asked: Question | None = None  # what is answered by y, or by any other key
    busy: str = ""  # what is waited for before that can be asked, or after it
    recent: bool = False  # the figures of the last seconds instead of the run's
    sight: Sight = field(default_factory=Sight)

    @property
    def sort_name(self) -> str:
        return SORTS[self.sort][0]

    def ordered(self, report: Report) -> list[BackendRow]:
        """Return the backends that are wanted, in the chosen order."""
        key, now_s = SORTS[self.sort][1], report.elapsed_s
        return sorted(self.listed(report), key=lambda row: key(row, self, now_s), reverse=self.reverse)

    def listed(self, report: Report) -> Sequence[BackendRow]:
        """Return the backends that are wanted."""
        text = self.wanted.lower()
        if not text:
            return report.backends
        return [row for row in report.backends if text in f"{row.address} {row.state} {row.reason}".lower()]

    def position(self, rows: list[BackendRow]) -> int:
        """Where the selected backend is among the rows; 0 if it is not there."""
        if self.selected is not None:
            for index, row in enumerate(rows):
                if (row.key, row.address) == self.selected:
                    return index
        return 0

    def select(self, rows: list[BackendRow], index: int) -> None:
        """Select the backend at an index, clamped to the rows there are."""
        if rows:
            row = rows[min(max(index, 0), len(rows) - 1)]
            self.selected = (row.key, row.address)
