"""Which screen a run or a watch gets: the only place that knows them all. The live ones are loaded when needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Generic, Protocol, TypeVar

from lbctl.discovery.watch_report import WatchReport
from lbctl.load.controls import Controls, WatchControls
from lbctl.stats.report import Report
from lbctl.view.caps import Caps
from lbctl.view.progress import NoScreen, PlainScreen


class RunScreen(Protocol):
    """What shows a run."""

    def showing(self, report: Callable[[], Report], controls: Controls) -> AbstractAsyncContextManager[None]: ...


_Shown = TypeVar("_Shown", contravariant=True)
_Hand = TypeVar("_Hand", contravariant=True)


class AnyScreen(Protocol[_Shown, _Hand]):
    """What shows something, and hands on what is done about it."""

    def showing(self, report: Callable[[], _Shown], controls: _Hand, /) -> AbstractAsyncContextManager[None]: ...


class Together(Generic[_Shown, _Hand]):
    """Several screens at once; the first one is the last to end."""

    def __init__(self, screens: Sequence[AnyScreen[_Shown, _Hand]]) -> None:
        self._screens = screens

    @asynccontextmanager
    async def showing(self, report: Callable[[], _Shown], controls: _Hand) -> AsyncIterator[None]:
        """Show it on each of them until the block ends."""
        async with AsyncExitStack() as stack:
            for screen in self._screens:
                await stack.enter_async_context(screen.showing(report, controls))
            yield


class WatchingScreen(Protocol):
    """What shows a watch."""

    def showing(
        self, report: Callable[[], WatchReport], controls: WatchControls
    ) -> AbstractAsyncContextManager[None]: ...


def run_screen(
    caps: Caps, write: Callable[[str], None], *, interval_s: float = 5.0, window_s: float | None = None
) -> RunScreen:
    """Return the screen for a run; ``write`` gets whole lines for standard error, without their end.

    A live one shows totals first, or the last ``window_s`` seconds.
    """
    if caps.screen == "live":
        from lbctl.view.live_hammer import LiveScreen

        return LiveScreen(caps, window_s)
    return PlainScreen(write, interval_s, caps.err_glyphs) if caps.screen == "plain" else NoScreen()


def watch_screen(caps: Caps) -> WatchingScreen:
    """Return the screen for a watch; without a terminal nothing, the command itself prints what happens."""
    if caps.screen == "live":
        from lbctl.view.live_watch import LiveWatchScreen

        return LiveWatchScreen(caps)
    return NoScreen()
