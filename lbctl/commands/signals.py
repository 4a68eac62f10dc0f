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

Action = Callable[[], object]


def _nothing() -> None:
    """What a signal does by itself."""


class Interrupts:
    """Handles the signals while the block lasts; ``first`` is the number of the first one that came.

    What the first and the second one do is set with ``mean``; until then, and after ``mean`` without arguments, they
    are only remembered.
    """

    def __init__(self) -> None:
        self.first: int | None = None
        self._actions: tuple[Action, Action] = (_nothing, _nothing)
        self._heard = 0
        self._installed: list[int] = []

    def mean(self, first: Action = _nothing, second: Action = _nothing) -> None:
        """Say what the first signal does from now on, and what the second."""
        self._actions = (first, second)

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
        if self.first is None:
            self.first = number
        if self._heard == len(self._actions):
            # Something does not end. The terminal is given back by the watchdog of the live view.
            os._exit(128 + number)
        action = self._actions[self._heard]
        self._heard += 1
        action()
