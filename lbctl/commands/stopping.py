"""Commands that go on until they are stopped: SIGINT and SIGTERM are their normal end."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

from lbctl.commands.heard import Handling
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
        super().__init__(lambda _: stop(), insisted)


def insisted(number: int, frame: FrameType | None) -> None:
    """Somebody wants the end of the process, whatever it is about."""
    leave_at_once(128 + number)
