"""Commands that go on until they are stopped: SIGINT and SIGTERM are their normal end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Final

from lbctl.commands.heard import Handling
from lbctl.errors import ExitCode

_NORMAL: Final = (None, signal.SIGINT, signal.SIGTERM)


def status_after(number: int | None) -> int:
    """Return the exit status of such a command after this signal: nobody asked for a hang-up."""
    return ExitCode.OK if number in _NORMAL else 128 + int(number or 0)


class Stopping(Handling):
    """Calls ``stop`` for every signal that comes while the block lasts; ``first`` is the number of the first one.

    Where one came, the process is about to end afterwards: whoever insists ends it at once, instead of having it raise
    KeyboardInterrupt amid what is being closed.
    """

    def __init__(self, stop: Callable[[], object]) -> None:
        super().__init__(self._hear)
        self._stop = stop
        self.first: int | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None:
        done = super().__exit__(kind, error, trace)
        if self.first is not None:
            for number in self.handled:
                signal.signal(number, leave)
        return done

    def _hear(self, number: int) -> None:
        if self.first is None:
            self.first = number
        self._stop()


def leave(number: int, frame: FrameType | None) -> None:
    """End the process at once. The terminal is given back by the watchdog of the live view."""
    os._exit(128 + number)
