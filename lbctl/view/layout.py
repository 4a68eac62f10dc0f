"""Who gets how many lines: a pure function of the window, the number of backends and what the person asked for."""

from __future__ import annotations

from dataclasses import dataclass

LINE_WIDTH, LINE_HEIGHT = 40, 8  # below: one line
PANEL_WIDTH, PANEL_HEIGHT = 60, 12  # below: header, rows and keys only
SHORT_HEADER_WIDTH = 100  # from here totals and percentiles share a line
HALVES_WIDTH = 110  # from here the lower part has two halves
_EVENTS = 4  # a rule and three lines
_HISTOGRAM_LEAST, _HISTOGRAM_BEST = 7, 9  # a rule and six or eight buckets
_TABLE_LEAST = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """Lines per part, from the top: header, table (rule, heads, rows), histogram, rest, keys; 0 = not shown."""

    header: int
    warning: int
    rows: int
    lower: int
    histogram: int
    halves: bool

    @property
    def body(self) -> int:
        """Lines between the header and the keys."""
        return 2 + self.rows + self.lower


def plan(width: int, height: int, backends: int, *, histogram: bool | None = None, warning: bool = False) -> Plan:
    """Divide a window of at least 40x8. The table comes first, the histogram gives way first."""
    header = 3 if width >= SHORT_HEADER_WIDTH else 4
    warned = int(warning and height >= PANEL_HEIGHT)
    rest = height - header - warned - 2 - 1
    wanted = max(backends, 1)
    if width < PANEL_WIDTH or height < PANEL_HEIGHT:
        return Plan(header, warned, min(wanted, rest), rest - min(wanted, rest), 0, halves=False)
    if width >= HALVES_WIDTH:
        rows = min(wanted, max(_TABLE_LEAST, rest - (11 if rest >= 20 else 5)))
        return Plan(header, warned, rows, rest - rows, 0, halves=True)
    fits = rest - wanted >= _EVENTS + _HISTOGRAM_LEAST
    forced = bool(histogram) and rest >= _TABLE_LEAST + _EVENTS + _HISTOGRAM_LEAST
    shown = histogram is not False and (fits or forced)
    below = _EVENTS + (_HISTOGRAM_LEAST if shown else 0)
    rows = min(wanted, max(_TABLE_LEAST, rest - below))
    lower = rest - rows
    return Plan(header, warned, rows, lower, _histogram_lines(lower) if shown else 0, halves=False)


def _histogram_lines(lower: int) -> int:
    spare = lower - _EVENTS - 1 - _HISTOGRAM_LEAST
    return _HISTOGRAM_LEAST + min(max(spare, 0), _HISTOGRAM_BEST - _HISTOGRAM_LEAST)
