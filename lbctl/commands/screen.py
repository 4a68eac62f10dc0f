"""What a command needs of a screen. The real ones are in lbctl.view; the command line chooses one and hands it in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from lbctl.discovery.watch_report import WatchReport, WatchRow
from lbctl.load.controls import CompareControls, Controls, WatchControls
from lbctl.stats.report import Report
from lbctl.stats.rounds import Contest

__all__ = [
    "CompareControls",
    "CompareScreen",
    "Controls",
    "Screen",
    "WatchControls",
    "WatchReport",
    "WatchRow",
    "WatchScreen",
]


class Screen(Protocol):
    """Shows a run at its own pace until the block ends; the terminal is given back however it ends.

    ``report`` is called often and must be cheap. Signals that end the run are the command's own business.
    """

    def showing(self, report: Callable[[], Report], controls: Controls) -> AbstractAsyncContextManager[None]: ...


class WatchScreen(Protocol):
    """Shows a watch at its own pace until the block ends; the terminal is given back however it ends."""

    def showing(
        self, report: Callable[[], WatchReport], controls: WatchControls
    ) -> AbstractAsyncContextManager[None]: ...


class CompareScreen(Protocol):
    """Shows a comparison at its own pace until the block ends; the terminal is given back however it ends."""

    def showing(
        self, contest: Callable[[], Contest], controls: CompareControls
    ) -> AbstractAsyncContextManager[None]: ...
