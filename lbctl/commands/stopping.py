"""Commands that go on until they are stopped: SIGINT and SIGTERM are their normal end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopped_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Call ``stop`` for every signal that comes while the block lasts, unless whoever started lbctl had it ignored.

    Where one came, the system has the next ones afterwards: the process is about to end, and whoever insists ends it at
    once, instead of raising KeyboardInterrupt amid what is being closed.
    """
    loop = asyncio.get_running_loop()
    heard: list[int] = []
    handled: list[signal.Signals] = []

    def hear(number: int) -> None:
        heard.append(number)
        stop()

    for number in _ENDS:
        if signal.getsignal(number) == signal.SIG_IGN:
            continue
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not in the main thread
            loop.add_signal_handler(number, hear, int(number))
            handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
            if heard:
                signal.signal(number, signal.SIG_DFL)
