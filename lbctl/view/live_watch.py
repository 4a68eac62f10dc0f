"""The live view of a watch: what its keys do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager

from lbctl.discovery.watch_report import WatchReport
from lbctl.load.controls import WatchControls
from lbctl.view.caps import Caps
from lbctl.view.live import live
from lbctl.view.theme import Look
from lbctl.view.watch_frame import WatchUi, build_watch, table_rows


class WatchView:
    """Draws one watch and turns keys into calls of its controls."""

    keep_frame = False

    def __init__(
        self, report: Callable[[], WatchReport], controls: WatchControls, look: Look, *, can_type: bool = True
    ) -> None:
        self._report = report
        self._controls = controls
        self._look = look
        self.ui = WatchUi(can_type=can_type)
        self._keys: dict[str, Callable[[], None]] = {
            "q": controls.stop,
            "c": controls.check,
            "?": self._toggle_help,
            "esc": self._close_help,
        }

    def draw(self, now_s: float, width: int, height: int, *, fresh: bool = False) -> Iterator[list[str]]:
        """Yield a frame of the watch as it is now."""
        yield build_watch(self._report(), self.ui, width, height, *self._look)

    def press(self, key: str, width: int, height: int) -> None:
        """Act on a key; unknown ones do nothing."""
        action = self._keys.get(key)
        if action is not None:
            action()
            return
        report = self._report()
        page, far = max(table_rows(report, height) - 1, 1), len(report.rows)
        steps = {"j": 1, "down": 1, "k": -1, "up": -1, "pgdn": page, "pgup": -page, "g": -far, "G": far}
        if key in steps:
            self.ui.select(report.rows, self.ui.position(report.rows) + steps[key])

    def suspend(self) -> None:
        """Nothing to hold: a watch sends no load."""

    def settled(self) -> bool:
        """Nothing of a watch is distorted by time away."""
        return True

    def resume(self) -> None:
        """Nothing to catch up with: every frame is drawn from the report."""

    def log(self, text: str) -> None:
        """Pass on what was written to standard error."""
        self._controls.log(text)

    def _toggle_help(self) -> None:
        self.ui.help = not self.ui.help

    def _close_help(self) -> None:
        self.ui.help = False


class LiveWatchScreen:
    """A watch on the terminal behind standard error."""

    def __init__(self, caps: Caps) -> None:
        self._caps = caps

    def showing(self, report: Callable[[], WatchReport], controls: WatchControls) -> AbstractAsyncContextManager[None]:
        """Show the watch until the block ends."""
        caps = self._caps
        view = WatchView(report, controls, Look(caps.err_style, caps.err_glyphs), can_type=caps.keys != "none")
        return live(view, caps.keys, caps.fps)
