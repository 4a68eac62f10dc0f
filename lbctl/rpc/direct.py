"""Writing to a socket in the very moment it is asked for."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final

_FLAGS: Final = getattr(socket, "MSG_NOSIGNAL", 0)


class DirectTransport(asyncio.Transport):
    """A transport whose bytes go straight to the kernel while it takes them, and to the event loop's once it does not.

    The socket stays the event loop's: it alone waits for it, reads from it and closes it.
    """

    def __init__(self, transport: asyncio.Transport, sock: socket.socket) -> None:
        super().__init__()
        self._transport = transport
        self._send = sock.send
        self._broken = False
        self.get_write_buffer_size = transport.get_write_buffer_size  # type: ignore[method-assign]

    def write(self, data: Any) -> None:  # noqa: ANN401  # whatever asyncio calls bytes
        """Hand over what the kernel takes now; the rest waits in the event loop's transport, in order."""
        if self._broken:
            return
        if not self.get_write_buffer_size():
            try:
                taken = self._send(data, _FLAGS)
            except (BlockingIOError, InterruptedError):
                taken = 0
            except OSError:
                # The peer is gone. What it said before may still be unread, and reading will find the end by itself.
                self._broken = True
                return
            if taken == len(data):
                return
            data = data[taken:]
        self._transport.write(data)

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  # as asyncio's own
        return self._transport.get_extra_info(name, default)
