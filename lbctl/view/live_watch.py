"""The live view of a watch: what its keys do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager

from lbctl.discovery.watch_report import WatchReport
from lbctl.load.controls import WatchControls
from lbctl.view.caps import Caps
from lbctl.view.live import live
from lbctl.view.theme import ASCII, Look
from lbctl.view.watch_frame import build_watch, table_rows
from lbctl.view.watch_ui import WatchUi


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
            "w": self._weigh,
            "d": lambda: self._with_chosen(controls.registry.turn),
            "x": lambda: self._with_chosen(controls.registry.deregister),
            "/": self._filter,
            "?": self._toggle_help,
            "esc": self._back,
        }

    def woken_by(self, wake: Callable[[], None]) -> None:
        """Have it called for questions."""
        self._controls.registry.on_news = wake

    def draw(self, now_s: float, width: int, height: int, *, fresh: bool = False) -> Iterator[list[str]]:
        """Yield a frame of the watch as it is now."""
        self.ui.asked, self.ui.busy = self._controls.registry.question, self._controls.registry.busy
        yield build_watch(self._report(), self.ui, width, height, *self._look)

    def press(self, key: str, width: int, height: int) -> None:
        """Act on a key; unknown ones do nothing."""
        action, registry = self._keys.get(key), self._controls.registry
        if key == "repaint":
            return
        if registry.question is not None:
            registry.answer(yes=key in ("y", "Y"))
        elif self.ui.typing:
            self._type(key)
        elif action is not None:
            action()
        else:
            self._move(key, height)

    def _type(self, key: str) -> None:
        if self.ui.typing == "filter":
            self.ui.type_filter(key)
            return
        weight = self.ui.type_weight(key)
        if weight is not None:
            self._controls.registry.weigh(self.ui.weighed, weight)

    def _move(self, key: str, height: int) -> None:
        report = self._report()
        rows = self.ui.listed(report)
        page, far = max(table_rows(len(rows), height) - 1, 1), len(rows)
        steps = {"j": 1, "down": 1, "k": -1, "up": -1, "pgdn": page, "pgup": -page, "g": -far, "G": far}
        if key in steps:
            self.ui.select(rows, self.ui.position(rows) + steps[key])

    def _with_chosen(self, act: Callable[[str], None]) -> None:
        """Act on the instance that is selected, if it is still there."""
        rows = self.ui.listed(self._report())
        row = rows[self.ui.position(rows)] if rows else None
        if row is not None and row.gone_s is None:
            self.ui.select(rows, self.ui.position(rows))
            act(row.instance.address)

    def _weigh(self) -> None:
        self._with_chosen(self._type_weight_of)

    def _type_weight_of(self, address: str) -> None:
        self.ui.typing, self.ui.weight, self.ui.weighed = "weight", "", address

    def _filter(self) -> None:
        self.ui.typing, self.ui.help = "filter", False

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

    def simplify(self) -> None:
        """Draw with ASCII characters only from now on."""
        self._look = Look(self._look.style, ASCII)

    def _toggle_help(self) -> None:
        self.ui.help = not self.ui.help

    def _back(self) -> None:
        if not self.ui.help:
            self.ui.wanted = ""
        self.ui.help = False


class LiveWatchScreen:
    """A watch on the terminal behind standard error."""

    def __init__(self, caps: Caps) -> None:
        self._caps = caps

    def showing(self, report: Callable[[], WatchReport], controls: WatchControls) -> AbstractAsyncContextManager[None]:
        """Show the watch until the block ends."""
        caps = self._caps
        view = WatchView(report, controls, Look(caps.err_style, caps.err_glyphs), can_type=caps.keys != "none")
        return live(view, caps)
