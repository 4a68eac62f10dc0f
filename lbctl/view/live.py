"""The session of a live view: takes the terminal, draws at a bounded cost, hears keys and signals, gives it back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import chain
from typing import Any, Protocol

from lbctl.errors import UsageError
from lbctl.view.caps import Caps
from lbctl.view.capture import StderrCapture
from lbctl.view.keys import parse
from lbctl.view.lines import stripped
from lbctl.view.painter import Painter
from lbctl.view.slices import in_slices
from lbctl.view.terminal import Terminal, Watchdog

_COST_FACTOR = 100  # drawing may take a hundredth of the time
_FASTEST_S = 1 / 30  # between two frames, however many keys come
_SETTLE_S = 0.5  # Ctrl-Z waits that long for what is under way
_SETTLE_LOOKS = 100
_LOG_LINES = 20  # of captured standard error are repeated afterwards
# Some terminals give characters of "ambiguous" width, which most of our glyphs are, two cells: one of them, then where
# is the cursor?
_MEASURE = "\x1b[H█\x1b[6n"
_MEASURED = re.compile(rb"\x1b\[1;([23])R")
_MEASURED_S = 0.1  # the first frame waits that long for the answer


class View(Protocol):
    """What a session shows. ``now_s`` is the session's clock."""

    @property
    def keep_frame(self) -> bool:
        """Whether the last frame stays in the scrollback."""
        ...

    def woken_by(self, wake: Callable[[], None]) -> None:
        """Call that whenever there is something that has to be seen at once; a key is, anyway."""
        ...

    def draw(self, now_s: float, width: int, height: int, *, fresh: bool = False) -> Iterator[list[str]]:
        """Yield the lines of a frame from top to bottom, in pieces; ``fresh``: with no figure from before."""
        ...

    def press(self, key: str, width: int, height: int) -> None: ...

    def suspend(self) -> None:
        """Hear that the person is about to leave (Ctrl-Z): nothing should go on unseen."""
        ...

    def settled(self) -> bool:
        """Whether nothing is under way whose time would include the time away."""
        ...

    def resume(self) -> None:
        """Hear that the person is back."""
        ...

    def log(self, text: str) -> None: ...

    def simplify(self) -> None:
        """Draw with ASCII characters only from now on."""
        ...


class Session:
    """One live view on one terminal, from ``enter`` to ``leave``."""

    def __init__(self, terminal: Terminal, view: View, caps: Caps) -> None:
        self._terminal = terminal
        self._view = view
        self._caps = caps
        self._period_s = 1 / caps.fps
        self._painter = Painter(terminal.out_fd)
        self._capture = StderrCapture(self._on_log)
        self._wake = asyncio.Event()
        self._measured = asyncio.Event()
        self._logs: list[str] = []
        self._signals: list[signal.Signals] = []
        self._drawing: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._failure = ""
        self._size = terminal.size()
        view.woken_by(self._wake.set)

    def enter(self) -> None:
        """Take the terminal over and start to draw."""
        self._take()
        if self._caps.keys != "stdin" or self._caps.err_glyphs.ascii:
            self._measured.set()
        else:
            self._terminal.say(_MEASURE)
        loop = asyncio.get_running_loop()
        for number, handler in self._handlers().items():
            with contextlib.suppress(ValueError, RuntimeError):  # not in the main thread: then without
                loop.add_signal_handler(number, handler)
                self._signals.append(number)
        self._drawing = asyncio.create_task(self._draw())

    async def leave(self) -> None:
        """Give everything back, then say what was held back meanwhile."""
        loop = asyncio.get_running_loop()
        for number in self._signals:
            loop.remove_signal_handler(number)
        tasks = [task for task in (self._drawing, self._stopping) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._measure()  # an answer that comes later would be typed into the shell
        last = self._last_frame() if self._view.keep_frame and self._terminal.entered else []
        self._give()
        for line in [*last, *self._logs[:_LOG_LINES]]:
            self._terminal.say(line + "\n")
        if self._failure:
            self._terminal.say(self._failure)

    def _handlers(self) -> dict[signal.Signals, Callable[[], None]]:
        return {signal.SIGWINCH: self._on_resize, signal.SIGTSTP: self._on_stop, signal.SIGCONT: self._on_continue}

    def _take(self) -> None:
        self._terminal.enter()
        self._capture.start()
        if self._terminal.keys_fd is not None:
            asyncio.get_running_loop().add_reader(self._terminal.keys_fd, self._on_readable)

    def _give(self) -> None:
        if self._terminal.keys_fd is not None:
            asyncio.get_running_loop().remove_reader(self._terminal.keys_fd)
        self._painter.close()
        self._capture.stop()
        self._terminal.leave()

    async def _measure(self) -> None:
        """Wait until the terminal has told how wide our glyphs are, but not for one that does not tell."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_MEASURED_S):
                await self._measured.wait()

    async def _draw(self) -> None:
        """Draw until cancelled; a bug in here ends the view, never the run."""
        loop = asyncio.get_running_loop()
        cost = 0.0
        try:
            await self._measure()
            while True:
                if self._terminal.entered:
                    cost += 0.2 * (await self._frame(loop.time()) - cost)
                await asyncio.sleep(_FASTEST_S)
                await self._pause(max(self._period_s, _COST_FACTOR * cost) - _FASTEST_S)
        except Exception:
            self._failure = f"the live view failed, the run went on\n{traceback.format_exc()}"
            self._give()

    async def _frame(self, now_s: float) -> float:
        """Draw a frame, letting the run go on in between; returns what it took, seconds."""
        size = self._size
        lines, cost = await in_slices(self._view.draw(now_s, *size))
        began = time.perf_counter()
        if self._terminal.entered and self._size == size:  # neither may be so after a break
            self._painter.paint(lines, size[0])
        return cost + time.perf_counter() - began

    async def _pause(self, seconds: float) -> None:
        """Wait that long, or until a key or a signal wants a frame."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()

    def _last_frame(self) -> list[str]:
        width, height = self._terminal.size()
        pieces = self._view.draw(asyncio.get_running_loop().time(), width, height, fresh=True)
        lines = list(chain.from_iterable(pieces))[:-1]  # without the keys
        while lines and not stripped(lines[-1]).strip():
            lines.pop()
        return lines

    def _on_readable(self) -> None:
        fd = self._terminal.keys_fd
        assert fd is not None
        try:
            data = os.read(fd, 1024)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:  # the terminal hung up
            asyncio.get_running_loop().remove_reader(fd)
            return
        if not self._measured.is_set():
            self._hear_measure(data)
        for key in parse(data):
            if key == "repaint":
                self._painter.forget()
            self._view.press(key, *self._size)
        self._wake.set()

    def _hear_measure(self, data: bytes) -> None:
        """Take the terminal's answer, if it is in there; it is no key that anybody knows."""
        answer = _MEASURED.search(data)
        if answer is None:
            return
        self._measured.set()
        if answer[1] == b"3":
            self._caps.measured.wide = True
            self._view.simplify()
            self._painter.forget()

    def _on_log(self, line: str) -> None:
        self._logs.append(line)
        self._view.log(line)

    def _on_resize(self) -> None:
        self._size = self._terminal.size()
        self._painter.forget()
        self._wake.set()

    def _on_stop(self) -> None:
        self._view.suspend()
        if self._terminal.entered:
            self._give()
        if self._stopping is None or self._stopping.done():
            self._stopping = asyncio.create_task(self._stop_once_settled())

    async def _stop_once_settled(self) -> None:
        """Stop the process, calls in flight first: a call that sleeps with it would come out minutes long."""
        for _ in range(_SETTLE_LOOKS):
            if self._view.settled():
                break
            await asyncio.sleep(_SETTLE_S / _SETTLE_LOOKS)
        os.kill(os.getpid(), signal.SIGSTOP)

    def _on_continue(self) -> None:
        if self._stopping is not None:
            self._stopping.cancel()
        if self._failure or not self._terminal.foreground():
            return
        self._take()
        self._view.resume()
        self._on_resize()


@contextlib.asynccontextmanager
async def live(view: View, caps: Caps) -> AsyncIterator[None]:
    """Show the view while the block runs."""
    try:
        terminal = Terminal.open(caps.keys)
    except OSError as error:
        raise UsageError(f"the terminal cannot be opened: {error.strerror}", "use --ui plain") from error
    watchdog = Watchdog(terminal.out_fd)
    try:
        session = Session(terminal, view, caps)
        session.enter()
        try:
            yield
        finally:
            await _finished(session.leave())
    finally:
        terminal.close()
        watchdog.dismiss()


async def _finished(work: Coroutine[Any, Any, None]) -> None:
    """Await the work to its end even if the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
