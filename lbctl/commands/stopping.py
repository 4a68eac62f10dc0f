"""Commands that go on until they are stopped: SIGINT and SIGTERM are their normal end."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Final

from lbctl.commands.heard import Handling, unheard
from lbctl.errors import ExitCode
from lbctl.leaving import leave_at_once

_NORMAL: Final = (None, signal.SIGINT, signal.SIGTERM)


def status_after(number: int | None) -> int:
    """Return the exit status of such a command after this signal: nobody asked for a hang-up."""
    return ExitCode.OK if number in _NORMAL else 128 + int(number or 0)


def spelled(number: int) -> str:
    """A signal as its sender speaks of it."""
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


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
        with unheard(self.handled):
            done = super().__exit__(kind, error, trace)
            if self.first is not None:
                for number in self.handled:
                    signal.signal(number, insisted)
        return done

    def _hear(self, number: int) -> None:
        if self.first is None:
            self.first = number
        self._stop()


def insisted(number: int, frame: FrameType | None) -> None:
    """Somebody wants the end of the process, whatever it is about."""
    leave_at_once(128 + number)
