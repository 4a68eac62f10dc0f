"""Signals as they come: handled while a block lasts, or heard one after the other by commands that pass them on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Final, Self

_HANDLED: Final = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP

Later = Callable[[int, FrameType | None], object]


@contextmanager
def unheard(numbers: Iterable[int]) -> Iterator[None]:
    """Have these signals wait until the block ends: none that this thread gets meets a handler about to be replaced."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Handling(ExitStack):
    """Has signals handled while the block lasts, except those that whoever started lbctl told it to ignore (nohup).

    ``first`` is the number of the first one that came. After the block they mean what they did before, or, where one
    came, what ``later`` makes of them: the process is about to end then.
    """

    def __init__(self, handler: Callable[[int], object], later: Later | None = None) -> None:
        super().__init__()
        self._handler = handler
        self._later = later
        self.handled: list[int] = []
        self.first: int | None = None

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for name in _HANDLED:
            number = getattr(signal, name, None)
            if number is None or (before := signal.getsignal(number)) == signal.SIG_IGN:
                continue
            with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
                loop.add_signal_handler(number, self._on_signal, int(number))
                if before is not None:
                    self.callback(signal.signal, number, before)
                self.callback(loop.remove_signal_handler, number)
                self.handled.append(number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None:
        with unheard(self.handled):
            done = super().__exit__(kind, error, trace)
            if self.first is not None and self._later is not None:
                for number in self.handled:
                    signal.signal(number, self._later)
        return done

    def _on_signal(self, number: int) -> None:
        if self.first is None:
            self.first = number
        self._handler(number)


class Heard(Handling):
    """Hears signals while the block lasts."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[int] = asyncio.Queue()
        super().__init__(self._came.put_nowait)

    async def next(self) -> int:
        """Wait for the next signal and return its number."""
        return await self._came.get()

    async def waiting(self) -> bool:
        """Whether a signal has come that nobody has taken yet."""
        await asyncio.sleep(0)  # one that came during this turn of the loop is put down in its next
        return not self._came.empty()

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
