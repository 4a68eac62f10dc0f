"""Commands that print for as long as somebody reads: they end with their reader, not with their next line."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Coroutine
from typing import Any, TypeVar

_STDOUT = 1
T = TypeVar("T")


async def while_read(work: Coroutine[Any, Any, T], fd: int = _STDOUT) -> T:
    """Return what the work does; raises BrokenPipeError as soon as nobody reads the pipe behind ``fd`` any more.

    Otherwise ``lbctl watch echo | head -1`` would hang until the registry changes.
    """
    if not is_pipe(fd):
        return await work
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    gone = asyncio.Event()

    def on_gone() -> None:
        """The writing end of a pipe becomes readable only by an error: there is no reader."""
        gone.set()
        loop.remove_reader(fd)
        task.cancel()

    try:
        loop.add_reader(fd, on_gone)
    except (NotImplementedError, OSError):  # a loop or a system that cannot tell
        return await task
    try:
        return await task
    except asyncio.CancelledError:
        if gone.is_set():
            raise BrokenPipeError from None
        task.cancel()
        raise
    finally:
        loop.remove_reader(fd)


def is_pipe(fd: int) -> bool:
    """Whether this descriptor is one end of a pipe."""
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:
        return False
