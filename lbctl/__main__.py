"""Run lbctl, as ``lbctl`` or as ``python -m lbctl``; signals end it without a word also while it is being loaded."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_INTERRUPTED = 130  # ExitCode.INTERRUPTED: nothing of lbctl is imported before signals are taken care of

try:
    import atexit
    import signal
except KeyboardInterrupt:
    os._exit(_INTERRUPTED)

_ENDS = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_UNTOUCHED = (signal.default_int_handler, signal.SIG_DFL)  # they are ignored where a shell, or nohup, says so


class _Endings:
    """What signals do to a command that makes nothing of them itself: they end it as Ctrl-C ends any program of Python.

    So it closes what it holds, and only then leaves, with the status of the signal.
    """

    def __init__(self) -> None:
        numbers = [getattr(signal, name) for name in _ENDS if hasattr(signal, name)]
        self._ours = [number for number in numbers if signal.getsignal(number) in _UNTOUCHED]
        self._first = 0

    def leave_at_once(self) -> None:
        """Nothing is held, and a traceback would be all that is said."""
        for number in self._ours:
            signal.signal(number, _leave)

    def listen(self) -> None:
        """A command begins."""
        for number in self._ours:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else self._interrupt)

    def ignore(self) -> None:
        """Not even a handler is called any more."""
        for number in self._ours:
            signal.signal(number, signal.SIG_IGN)

    def status(self, code: object) -> object:
        """Return the exit status of a command that ended with this one."""
        return 128 + self._first if self._first and code == _INTERRUPTED else code

    def _interrupt(self, number: int, frame: object) -> None:
        self._first = self._first or number
        handler = signal.getsignal(signal.SIGINT)  # an event loop's own, where one runs
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)  # type: ignore[arg-type]


def main() -> NoReturn:
    """Run the command line of this process and leave with its exit status."""
    endings = _Endings()
    endings.leave_at_once()
    from lbctl.cli import main as run

    try:
        run(loaded=endings.listen)
    except SystemExit as leaving:
        raise SystemExit(endings.status(leaving.code)) from None
    finally:
        endings.leave_at_once()  # what is left is the interpreter's own
        atexit.register(endings.ignore)  # without this it would at last die of the signal


def _leave(number: int, frame: object) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    main()
