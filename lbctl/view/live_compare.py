"""The live view of a comparison: what its keys do, and how often which part of it is worked out anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from lbctl.load.controls import CompareControls
from lbctl.stats.rounds import Contest
from lbctl.view.caps import Caps
from lbctl.view.compare_frame import SORTS, CompareUi, build_rows, chosen, ordered
from lbctl.view.compare_table import Row
from lbctl.view.compare_text import rows_of
from lbctl.view.live import live
from lbctl.view.theme import ASCII, Look

_FIGURES_S: Final = 1.0  # figures of a run that goes on; those of runs that are over do not change


class CompareView:
    """Draws one comparison and turns keys into calls of its controls."""

    keep_frame = False

    def __init__(
        self, contest: Callable[[], Contest], controls: CompareControls, look: Look, *, can_type: bool = True
    ) -> None:
        self._contest = contest
        self._controls = controls
        self._look = look
        self.ui = CompareUi(can_type=can_type)
        self._rows: Sequence[Row] = ()
        self._rows_for = -1  # runs that were over
        self._rows_at = 0.0
        self._keys: dict[str, Callable[[], None]] = {
            "q": self._quit,
            "n": controls.skip,
            "space": self._toggle_pause,
            "s": self._next_sort,
            "enter": lambda: self._turn_to("detail"),
            "?": lambda: self._turn_to("help"),
            "esc": lambda: self._turn_to("main"),
            "j": lambda: self._move(1),
            "down": lambda: self._move(1),
            "k": lambda: self._move(-1),
            "up": lambda: self._move(-1),
        }

    def woken_by(self, wake: Callable[[], None]) -> None:
        """Nothing but keys has to be seen at once."""

    def draw(self, now_s: float, width: int, height: int, *, fresh: bool = False) -> Iterator[list[str]]:
        """Yield a frame: the clock is always fresh, figures are a second old at most."""
        contest = self._contest()
        if fresh or self._rows_for != len(contest.trials) or now_s - self._rows_at >= _FIGURES_S:
            self._rows, self._rows_for, self._rows_at = rows_of(contest), len(contest.trials), now_s
            yield []
        yield build_rows(contest, self._rows, self.ui, width, height, self._look)

    def press(self, key: str, width: int, height: int) -> None:
        """Act on a key; unknown ones do nothing."""
        action = self._keys.get(key)
        if action is not None:
            action()

    def suspend(self) -> None:
        """Pause the load: it stays paused until the person says so."""
        self._controls.pause()

    def settled(self) -> bool:
        """Whether no call is in flight."""
        return not any(going.report.in_flight for going in self._contest().going)

    def resume(self) -> None:
        """Nothing to catch up with: every frame is drawn from the contest."""

    def log(self, text: str) -> None:
        """Pass on what was written to standard error."""
        self._controls.log(text)

    def simplify(self) -> None:
        """Draw with ASCII characters only from now on."""
        self._look = Look(self._look.style, ASCII)

    def _quit(self) -> None:
        if self._contest().stopping:
            self._controls.abort()
        else:
            self._controls.stop()

    def _toggle_pause(self) -> None:
        if self._contest().paused:
            self._controls.resume()
        else:
            self._controls.pause()

    def _next_sort(self) -> None:
        self.ui.sort = (self.ui.sort + 1) % len(SORTS)

    def _turn_to(self, page: str) -> None:
        self.ui.page = "main" if self.ui.page == page else page

    def _move(self, step: int) -> None:
        contest = self._contest()
        order = ordered(self._rows or rows_of(contest), self.ui)
        place = order.index(chosen(contest, self.ui)) + step
        self.ui.selected = order[min(max(place, 0), len(order) - 1)]


class LiveCompareScreen:
    """A comparison on the terminal behind standard error."""

    def __init__(self, caps: Caps) -> None:
        self._caps = caps

    def showing(self, contest: Callable[[], Contest], controls: CompareControls) -> AbstractAsyncContextManager[None]:
        """Show the comparison until the block ends."""
        caps = self._caps
        view = CompareView(contest, controls, Look(caps.err_style, caps.err_glyphs), can_type=caps.keys != "none")
        return live(view, caps)
