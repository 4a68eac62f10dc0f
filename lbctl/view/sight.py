"""What the frames of a live view show of a run: its figures since the start, or those of the last seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lbctl.stats.report import BackendRow, Report
from lbctl.stats.windows import SPAN_S, Reading, Windows
from lbctl.view.digest import Digests
from lbctl.view.series import Series, messages

_WHOLE_S: Final = 10.0  # from there on seconds are told in whole ones


class Sight:
    """The view's memory of the run's counters, and the ``figures`` of the frame that is drawn.

    Keys take effect with the next ``hold``: a frame is all of the run, or all of the window.
    """

    def __init__(self, span_s: float = SPAN_S) -> None:
        self.span_s = span_s
        self.series = Series()
        self.figures: Report | None = None  # of the frame, once there is one
        self.seconds: float | None = None  # of the window that the frame is about; None: it is about the run
        self._windows = Windows(span_s)
        self._start: Reading | None = None  # of the window; None: it starts with the run
        self._totals = Digests()
        self._lately = Digests()

    @property
    def digests(self) -> Digests:
        return self._totals if self.seconds is None else self._lately

    def hold(self, report: Report, *, recent: bool) -> None:
        """Begin a frame of a report at its moment: histograms go on counting."""
        self._windows.hold(report)
        self._start = self._windows.start(report.elapsed_s) if recent else None
        self.seconds = report.elapsed_s - (self._start.at_s if self._start else 0.0) if recent else None
        self._lately.after(self._start.times if self._start else {})

    def look(self, report: Report) -> Iterator[None]:
        """Make the figures of the report that is held, in pieces."""
        yield from self._windows.complete()
        start, figures = self._start, report
        if start is not None:
            rows: list[BackendRow] = []
            for some in start.rows(report):
                rows += some
                yield
            figures = start.since(report, rows)
        self.figures = figures
        self.series.sample(report)

    def rate(self) -> float | None:
        """Finished calls per second: over the window, or over the last second; None where nothing tells."""
        if self.seconds is None or self.figures is None:
            return self.series.now()
        return self.figures.completed / self.seconds if self.seconds > 0 else None

    def row_rate(self, row: BackendRow) -> float | None:
        """Those of a backend; in a window there is no rate without a call."""
        if self.seconds is None:
            return self.series.row_now(row)
        ended = row.ok + row.errors
        return ended / self.seconds if ended and self.seconds > 0 else None

    def message_rates(self) -> tuple[float | None, float | None]:
        """Messages sent and received per second, over the window or over the last second."""
        if self.seconds is None or self.figures is None:
            return self.series.messages_now()
        if self.seconds <= 0:
            return None, None
        (sent, received), before = messages(self.figures), self._start.messages if self._start else (0, 0)
        return (sent - before[0]) / self.seconds, (received - before[1]) / self.seconds

    @property
    def window(self) -> str:
        """``last 5s``: what the frame is about, empty where that is the run. A window that fills says how far it is."""
        if self.seconds is None:
            return ""
        if abs(self.seconds - self.span_s) < min(0.1 * self.span_s, 0.5):
            return f"last {self.span_s:g}s"
        digits = 1 if self.seconds < _WHOLE_S else 0
        return f"last {round(self.seconds, digits):g}s"
