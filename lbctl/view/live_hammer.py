"""The live view of a run: what its keys do, and how often which part of it is renewed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from lbctl.load.controls import Controls
from lbctl.stats.report import BackendRow, Report
from lbctl.stats.windows import SPAN_S
from lbctl.view.caps import Caps
from lbctl.view.hammer_frame import hold, pieces, planned, tiny
from lbctl.view.header import ticking
from lbctl.view.live import live
from lbctl.view.pages import HELP, farthest
from lbctl.view.sight import Sight
from lbctl.view.theme import ASCII, Look
from lbctl.view.ui import SORTS, Ui

_WANTED_MOST = 40  # characters
_FIGURES_S = 0.24  # figures are renewed four times a second: faster is unreadable


class HammerView:
    """Draws one run and turns keys into calls of its controls."""

    def __init__(
        self,
        report: Callable[[], Report],
        controls: Controls,
        look: Look,
        *,
        can_type: bool = True,
        window_s: float | None = None,
    ) -> None:
        self._report = report
        self._controls = controls
        self._look = look
        self.ui = Ui(can_type=can_type, recent=window_s is not None, sight=Sight(window_s or SPAN_S))
        self._shown: Report | None = None  # what the lines show
        self._lines: list[str] = []
        self._lines_for: tuple[int, int] | None = None  # width, height; None where they are not to be shown again
        self._lines_at = 0.0
        self._keys: dict[str, Callable[[], None]] = {
            "q": self._quit,
            "Q": self._quit_keeping,
            "space": self._toggle_pause,
            "+": lambda: controls.scale(1.25),
            "=": lambda: controls.scale(1.25),
            "-": lambda: controls.scale(0.8),
            ">": lambda: controls.scale(2.0),
            "<": lambda: controls.scale(0.5),
            "p": lambda: controls.next_policy(1),
            "P": lambda: controls.next_policy(-1),
            "d": self._drain,
            "D": self._drain_everywhere,
            "c": controls.recount,
            "s": self._next_sort,
            "r": self._reverse,
            "w": self._next_window,
            "enter": self._toggle_focus,
            "e": lambda: self._turn_to("events"),
            "n": lambda: self._turn_to("connections"),
            "?": lambda: self._turn_to("help"),
            "esc": self._back,
            "/": self._type,
        }

    @property
    def keep_frame(self) -> bool:
        return self.ui.keep_frame

    def woken_by(self, wake: Callable[[], None]) -> None:
        """Have it called for questions."""
        self._controls.registry.on_news = wake

    def draw(self, now_s: float, width: int, height: int, *, fresh: bool = False) -> Iterator[list[str]]:
        """Yield a frame: the clock is always right, all figures are of one moment, 0.25 s ago at most."""
        aged = now_s - self._lines_at
        if fresh:
            self.ui.sight.digests.clear()
        fresh = self._hear_registry() or fresh
        if not fresh and self._shown is not None and self._lines_for == (width, height) and aged < _FIGURES_S:
            yield self._ticked(self._shown, aged, width, height)
            return
        self._lines_for, self._lines_at = (width, height), now_s  # a key meanwhile takes that back
        self._shown = report = self._report()
        hold(report, self.ui)
        yield []
        lines = []
        for piece in pieces(report, self.ui, width, height, self._look):
            lines += piece
            yield piece
        self._lines = lines

    def _ticked(self, report: Report, aged_s: float, width: int, height: int) -> list[str]:
        """Return the lines as they are, with the clock where it is by now."""
        later = replace(report, elapsed_s=report.elapsed_s + aged_s)
        moved = 1 if report.load.requests else 2  # the progress of a number of calls is a figure
        still = moved == 1 and int(later.elapsed_s) == int(report.elapsed_s)
        if still or tiny(width, height) or report.paused or report.end_reason is not None:
            return self._lines
        return [*ticking(later, width, self._look)[:moved], *self._lines[moved:]]

    def press(self, key: str, width: int, height: int) -> None:
        """Act on a key; unknown ones do nothing."""
        action, registry = self._keys.get(key), self._controls.registry
        if registry.question is not None and key != "repaint":
            registry.answer(yes=key in ("y", "Y"))
        elif self.ui.typing and self._typed(key):
            pass
        elif action is not None:
            action()
        elif key == "h":
            self._toggle_histogram(width, height)
        else:
            self._move(key, width, height)
        self._lines_for = None

    def suspend(self) -> None:
        """Pause the load: it stays paused until the person says so."""
        self._controls.pause()

    def settled(self) -> bool:
        """Whether no call is in flight."""
        return not self._report().in_flight

    def resume(self) -> None:
        """Leave the time away out of the rates."""
        self.ui.sight.series.skip(self._report())
        self._lines_for = None

    def log(self, text: str) -> None:
        """Pass on what was written to standard error."""
        self._controls.log(text)

    def simplify(self) -> None:
        """Draw with ASCII characters only from now on."""
        self._look = Look(self._look.style, ASCII)
        self._lines_for = None

    def _quit(self) -> None:
        if self._report().stopping:
            self._controls.abort()
        else:
            self._controls.stop()

    def _quit_keeping(self) -> None:
        self.ui.keep_frame = True
        self._quit()

    def _toggle_pause(self) -> None:
        if self._report().paused:
            self._controls.resume()
        else:
            self._controls.pause()

    def _rows(self) -> list[BackendRow]:
        """The backends in the order that is on the screen."""
        return self.ui.ordered(self.ui.sight.figures or self._report())

    def _chosen(self) -> BackendRow | None:
        """The backend that is selected, if it has not left."""
        rows = self._rows()
        row = rows[self.ui.position(rows)] if rows else None
        return row if row is not None and row.state != "left" else None

    def _drain(self) -> None:
        row = self._chosen()
        if row is not None:
            self._controls.drain(row.key, row.address)

    def _drain_everywhere(self) -> None:
        row = self._chosen()
        if row is not None:
            self._controls.registry.turn(row.address)

    def _hear_registry(self) -> bool:
        """Take what is asked and waited for, and return whether that is news."""
        before, registry = (self.ui.asked, self.ui.busy), self._controls.registry
        self.ui.asked, self.ui.busy = registry.question, registry.busy
        return (self.ui.asked, self.ui.busy) != before

    def _next_sort(self) -> None:
        self._hold()
        self.ui.sort = (self.ui.sort + 1) % len(SORTS)

    def _reverse(self) -> None:
        self._hold()
        self.ui.reverse = not self.ui.reverse

    def _hold(self) -> None:
        """Keep the selection on its backend when the order changes."""
        rows = self._rows()
        self.ui.select(rows, self.ui.position(rows))

    def _next_window(self) -> None:
        self._hold()
        self.ui.recent = not self.ui.recent

    def _toggle_focus(self) -> None:
        self.ui.focus = not self.ui.focus
        if self.ui.focus:
            self.ui.histogram = True

    def _toggle_histogram(self, width: int, height: int) -> None:
        plan = planned(self._report(), self.ui, width, height)
        shown = self.ui.histogram is not False if plan.halves else bool(plan.histogram)
        self.ui.histogram = not shown

    def _turn_to(self, page: str) -> None:
        self.ui.page = "main" if self.ui.page == page else page
        self.ui.scroll = 0

    def _back(self) -> None:
        if self.ui.page == "main":
            self.ui.wanted = ""
        self._turn_to("main")

    def _type(self) -> None:
        self.ui.typing, self.ui.page = True, "main"

    def _typed(self, key: str) -> bool:
        """Act on a key as a part of the text that backends are picked by; False if it is none."""
        ui = self.ui
        if key in ("enter", "esc"):
            ui.typing = False
            ui.wanted = ui.wanted if key == "enter" else ""
        elif key == "backspace":
            ui.wanted = ui.wanted[:-1]
        elif len(key) == 1 or key == "space":
            ui.wanted = (ui.wanted + (key if len(key) == 1 else " "))[:_WANTED_MOST]
        else:
            return False
        return True

    def _move(self, key: str, width: int, height: int) -> None:
        report, ui = self._report(), self.ui
        plan = planned(report, ui, width, height)
        page = max(plan.rows - 1, 1) if ui.page != "events" else max(plan.body - 3, 1)
        far = len(report.backends) + len(report.events)
        steps = {"j": 1, "down": 1, "k": -1, "up": -1, "pgdn": page, "pgup": -page, "g": -far, "G": far}
        step = steps.get(key)
        if step is None:
            return
        if ui.page == "events":
            ui.scroll = min(max(ui.scroll - step, 0), farthest(report, plan.body, width, self._look))
            return
        if ui.page == "help":
            ui.scroll = min(max(ui.scroll + step, 0), max(len(HELP) - plan.body + 2, 0))
            return
        rows = self._rows()
        ui.select(rows, ui.position(rows) + step)


class LiveScreen:
    """A run on the terminal behind standard error; with ``window_s`` the figures of so long come first."""

    def __init__(self, caps: Caps, window_s: float | None = None) -> None:
        self._caps = caps
        self._window_s = window_s

    def showing(self, report: Callable[[], Report], controls: Controls) -> AbstractAsyncContextManager[None]:
        """Show the run until the block ends."""
        caps = self._caps
        look, can_type = Look(caps.err_style, caps.err_glyphs), caps.keys != "none"
        view = HammerView(report, controls, look, can_type=can_type, window_s=self._window_s)
        return live(view, caps)
