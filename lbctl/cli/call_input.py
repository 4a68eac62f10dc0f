"""Standard input as the messages of one call: of a pipe or a file as they come, of a terminal behind a prompt."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import AsyncIterator
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Final

from lbctl.errors import UsageError

if TYPE_CHECKING:
    import asyncio

    from lbctl.cli.settings import Settings
    from lbctl.errors import LbctlError

STANDARD_INPUT: Final = ("@", "@-")  # as -d has it
_STDIN: Final = 0
_CHUNK: Final = 64 << 10
_AHEAD: Final = 4  # chunks that nobody has taken yet
_PROMPT: Final = "> "
_ERASE: Final = "\r\x1b[K"


class Prompt:
    """The mark behind which somebody types, on standard error; what is printed meanwhile takes its place."""

    def __init__(self, *, erases: bool) -> None:
        self._erases = erases
        self._shown = False

    def show(self) -> None:
        """Ask for a line."""
        self._shown = True
        self._write(_PROMPT)

    def taken(self) -> None:
        """The line was typed to its end."""
        self._shown = False

    def hide(self) -> bool:
        """Make room; whether it was there."""
        shown, self._shown = self._shown, False
        if shown:
            self._write(_ERASE if self._erases else "\n")
        return shown

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class StandardInput:
    """Standard input, read by a thread of its own: neither a terminal nor a file can be waited for otherwise."""

    source = "standard input"

    def __init__(self, *, asked: bool, prompt: Prompt | None = None) -> None:
        self.asked = asked
        self.prompt = prompt

    @property
    def forgives(self) -> bool:
        """Whether somebody types."""
        return self.prompt is not None

    async def lines(self) -> AsyncIterator[str]:
        """Lines as they come; raises UsageError for what is not UTF-8, or cannot be read."""
        import asyncio

        chunks: asyncio.Queue[bytes | OSError] = asyncio.Queue()
        room = Semaphore(_AHEAD)
        Thread(target=_read, args=(asyncio.get_running_loop(), chunks, room), name="input", daemon=True).start()
        pending, number = b"", 0
        while True:
            if self.prompt is not None:
                self.prompt.show()
            chunk = await chunks.get()
            room.release()
            if isinstance(chunk, OSError):
                raise UsageError(f"cannot read {self.source}: {(chunk.strerror or str(chunk)).lower()}")
            if not chunk:
                break
            if self.prompt is not None and chunk.endswith(b"\n"):
                self.prompt.taken()
            *complete, pending = (pending + chunk).split(b"\n")
            for line in complete:
                number += 1
                yield self._text(line + b"\n", number)
        if pending:
            yield self._text(pending, number + 1)

    def _text(self, line: bytes, number: int) -> str:
        try:
            return line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.source}: line {number} is not UTF-8 text (byte {error.start})") from None

    def explain(self, error: LbctlError) -> None:
        """Say what is wrong with a line that was typed."""
        first, *more = str(error).split("\n")
        print(f"not sent: {first}", *more, sep="\n", file=sys.stderr, flush=True)  # noqa: T201


def _read(loop: asyncio.AbstractEventLoop, chunks: asyncio.Queue[bytes | OSError], room: Semaphore) -> None:
    """Read to the end, no more than a little ahead.

    By the descriptor: a thread that waits in Python's own file object would hold a lock that the end of the process
    needs.
    """
    from contextlib import suppress

    chunk: bytes | OSError = b"begun"
    with suppress(RuntimeError):  # the loop is closed: nobody wants to know any more
        while chunk and not isinstance(chunk, OSError):
            room.acquire()
            try:
                chunk = os.read(_STDIN, _CHUNK)
            except OSError as error:
                chunk = error
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)


def standard_input(data: str | None, settings: Settings, *, otherwise: bool) -> StandardInput | None:
    """Standard input where messages may come from there: ``-d @``, or no data at all (``otherwise`` is there any).

    Without ``-d`` it is a terminal, a pipe or a file that counts; what else it may be, such as /dev/null, has nothing.
    """
    asked = data in STANDARD_INPUT
    if not asked and (data is not None or otherwise):
        return None
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if not asked and (settings.no_input if terminal else not _has_something()):
        return None
    if asked and sys.stdin is None:
        raise UsageError("-d: standard input is closed", "give the message itself, or @FILE")
    prompts = terminal and not settings.no_input
    erases = sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    return StandardInput(asked=asked, prompt=Prompt(erases=erases) if prompts else None)


def _has_something() -> bool:
    try:
        mode = os.fstat(_STDIN).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
