"""Standard output for what may come faster than somebody reads it: who writes waits, and still hears signals."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from typing import Final

from lbctl.cli.listeners import is_pipe

_STDOUT: Final = 1
_FITS: Final = select.PIPE_BUF  # octets: of so many a pipe with room takes all at once


class PatientOutput:
    """Writes to standard output; a full pipe is waited for without holding up the event loop."""

    def __init__(self) -> None:
        self._is_pipe = is_pipe(_STDOUT)
        self._room = select.poll() if self._is_pipe else None
        if self._room is not None:
            self._room.register(_STDOUT, select.POLLOUT)

    async def write(self, data: bytes) -> None:
        """Write all of it; raises BrokenPipeError where nobody reads any more."""
        if self._room is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        for at in range(0, len(data), _FITS):
            if not self._room.poll(0):
                await _writable()
            os.write(_STDOUT, data[at : at + _FITS])


async def _writable() -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def on_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_writer(_STDOUT, on_ready)
    try:
        await ready
    finally:
        loop.remove_writer(_STDOUT)
