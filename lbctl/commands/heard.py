"""Signals as they come, one after the other, for commands that pass them on or end in an order of their own."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

_HEARD: Final = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Heard:
    """Hears signals while the block lasts, except those that whoever started lbctl told it to ignore (nohup)."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[int] = asyncio.Queue()
        self._installed: list[int] = []

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for name in _HEARD:
            number = getattr(signal, name, None)
            if number is None or signal.getsignal(number) == signal.SIG_IGN:
                continue
            with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
                loop.add_signal_handler(number, self._came.put_nowait, int(number))
                self._installed.append(number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in self._installed:
            loop.remove_signal_handler(number)

    async def next(self) -> int:
        """Wait for the next signal and return its number."""
        return await self._came.get()

    async def during(self, work: Coroutine[Any, Any, object]) -> int | None:
        """See the work through, and raise what it raises; a signal cancels it, and its number is returned."""
        working, hearing = asyncio.create_task(work), asyncio.create_task(self.next())
        try:
            await asyncio.wait({working, hearing}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                return hearing.result()
            working.result()
            return None
        finally:
            for task in (working, hearing):
                task.cancel()
            await asyncio.gather(working, hearing, return_exceptions=True)
