"""Signals that end a run: the first asks for a graceful end, the second for an immediate one, the third insists."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

_HANDLED: Final = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Interrupts:
    """Handles the signals while the block lasts; ``first`` is the number of the first one that came."""

    def __init__(self, stop: Callable[[], None], abort: Callable[[], None]) -> None:
        self.first: int | None = None
        self._stop = stop
        self._abort = abort
        self._heard = 0
        self._installed: list[int] = []

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for name in _HANDLED:
            number = getattr(signal, name, None)
            if number is None or signal.getsignal(number) == signal.SIG_IGN:
                continue  # nohup asked for it to be ignored
            with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
                loop.add_signal_handler(number, self._on_signal, number)
                self._installed.append(number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in self._installed:
            loop.remove_signal_handler(number)

    def _on_signal(self, number: int) -> None:
        self._heard += 1
        if self._heard == 1:
            self.first = number
            self._stop()
        elif self._heard == 2:
            self._abort()
        else:
            # Something does not end. The terminal is given back by the watchdog of the live view.
            os._exit(128 + number)
