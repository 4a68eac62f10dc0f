"""Flow control both ways (RFC 9113 §5.2, §6.9).

Sending: DATA octets, padding included, must fit both the connection's and the stream's window; a change of the peer's
INITIAL_WINDOW_SIZE moves the windows of open streams by the difference, below zero if need be, and never the
connection's. Receiving: every DATA octet is credited back, also those of streams we no longer know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from lbctl.wire.frames import DATA, DEFAULT_WINDOW, END_STREAM, MAX_WINDOW, frame, window_update

STREAM_WINDOW: Final = 8 << 20
CONNECTION_WINDOW: Final = 64 << 20


class WindowOverflow(Exception):
    """The peer's credit would take a window past 2^31 - 1."""


class Upload:
    """The rest of one request body and the stream's window."""

    __slots__ = ("body", "offset", "stream", "window")

    def __init__(self, stream: int, body: bytes, window: int) -> None:
        self.stream = stream
        self.body = body
        self.offset = 0
        self.window = window


class SendWindows:
    """The peer's credit. ``connection`` and ``initial`` are read by the session's fast path, which also spends."""

    def __init__(self) -> None:
        self.connection = DEFAULT_WINDOW
        self.initial = DEFAULT_WINDOW
        self._uploads: deque[Upload] = deque()

    @property
    def busy(self) -> bool:
        """Whether a body is waiting for credit: later bodies must not overtake it on the connection's window."""
        return bool(self._uploads)

    def begin(self, stream: int, body: bytes) -> None:
        """Queue a body; ``frames`` sends what the windows allow."""
        self._uploads.append(Upload(stream, body, self.initial))

    def drop(self, stream: int) -> bool:
        """Forget a body; True if some of it was still unsent."""
        found = next((upload for upload in self._uploads if upload.stream == stream), None)
        if found is None:
            return False
        self._uploads.remove(found)
        return True

    def resize(self, initial: int) -> None:
        """The peer's INITIAL_WINDOW_SIZE changed; raises WindowOverflow."""
        difference, self.initial = initial - self.initial, initial
        for upload in self._uploads:
            if upload.window + difference > MAX_WINDOW:
                raise WindowOverflow
            upload.window += difference

    def credit(self, stream: int, increment: int) -> None:
        """WINDOW_UPDATE; unknown streams need no credit any more. Raises WindowOverflow."""
        if stream == 0:
            if self.connection + increment > MAX_WINDOW:
                raise WindowOverflow
            self.connection += increment
            return
        for upload in self._uploads:
            if upload.stream == stream:
                if upload.window + increment > MAX_WINDOW:
                    raise WindowOverflow
                upload.window += increment

    def frames(self, limit: int) -> Iterator[bytes]:
        """DATA frames of at most ``limit`` octets that fit now, streams in turn; the last one of a body ends it."""
        stuck = 0
        while self._uploads and stuck < len(self._uploads):
            upload = self._uploads.popleft()
            size = min(limit, self.connection, upload.window, len(upload.body) - upload.offset)
            if size <= 0:
                self._uploads.append(upload)
                stuck += 1
                continue
            stuck = 0
            yield self._piece(upload, size)

    def _piece(self, upload: Upload, size: int) -> bytes:
        payload = upload.body[upload.offset : upload.offset + size]
        upload.offset += size
        upload.window -= size
        self.connection -= size
        last = upload.offset == len(upload.body)
        if not last:
            self._uploads.append(upload)
        return frame(DATA, END_STREAM if last else 0, upload.stream, payload)


class ReceiveWindow:
    """Our credit to the peer for the connection; given back in large pieces, not per frame."""

    __slots__ = ("uncredited",)

    def __init__(self) -> None:
        self.uncredited = 0

    def due(self) -> bytes:
        """A WINDOW_UPDATE once half of the window is consumed, else nothing."""
        if self.uncredited < CONNECTION_WINDOW // 2:
            return b""
        increment, self.uncredited = self.uncredited, 0
        return window_update(0, increment)
