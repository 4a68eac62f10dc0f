"""Flow control both ways (RFC 9113 §5.2, §6.9).

Sending: DATA octets, padding included, must fit both the connection's and the stream's window; a change of the peer's
INITIAL_WINDOW_SIZE moves the windows of open streams by the difference, below zero if need be, and never the
connection's. Receiving: every DATA octet is credited back, also those of streams we no longer know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from lbctl.wire.frames import DATA, DEFAULT_WINDOW, END_STREAM, HEAD, HEADER_SIZE, MAX_WINDOW, window_update

STREAM_WINDOW: Final = 8 << 20
CONNECTION_WINDOW: Final = 64 << 20
_BURST: Final = 1 << 20

Octets = bytes | memoryview
Piece = tuple[bytes, bool]  # of a request, and whether it is the last one
Source = Callable[[], Piece | None]  # the next piece, None when there is no more for now


def _nothing_more() -> Piece:
    """The source of a request that only has to end."""
    return b"", True


class WindowOverflow(Exception):
    """The peer's credit would take a window past 2^31 - 1."""


class Upload:
    """What one stream still has to send, and its window. A body without an end waits for more of it."""

    __slots__ = ("body", "ends", "offset", "queued", "source", "stalled", "stream", "window")

    def __init__(self, stream: int, window: int, source: Source | None) -> None:
        self.stream = stream
        self.window = window
        self.source = source  # of what comes after ``body``
        self.body = b""
        self.offset = 0
        self.ends = False  # with the last octet of ``body``
        self.queued = False  # among those that have something to send
        self.stalled = False  # it has something, and its window is used up

    @property
    def is_sent(self) -> bool:
        """Whether nothing of the body is left but perhaps its end, which as an empty frame needs no window."""
        return self.offset == len(self.body)

    @property
    def has_work(self) -> bool:
        return self.offset < len(self.body) or self.ends

    def refill(self) -> None:
        """Take the next piece, if this one is sent and another is there."""
        if self.has_work:
            return
        piece = self.source() if self.source is not None else None
        if piece is not None:
            self.body, self.ends = piece
            self.offset = 0


class SendWindows:
    """The peer's credit. ``connection`` and ``initial`` are read by the session's fast path, which also spends.

    ``on_sent`` is told when a piece of a stream is wholly in frames, and whether that was more than an end.
    """

    def __init__(self, on_sent: Callable[[int, bool], None] = lambda stream, message: None) -> None:
        self.connection = DEFAULT_WINDOW
        self.initial = DEFAULT_WINDOW
        self._spent = 0  # octets since ``frames`` last began
        self._on_sent = on_sent
        self.uploads: dict[int, Upload] = {}  # every stream whose request is not over; not to be written
        # Those with something to send that their own windows allow, mere ends first.
        self._ready: deque[Upload] = deque()
        self._stalled = 0  # those with something to send that their own windows do not allow
        self._hungry: list[Upload] = []  # those whose source was not asked for more, since enough was sent in one go

    @property
    def busy(self) -> bool:
        """Whether a body waits for the connection's window: later ones must not overtake it there."""
        return bool(self._ready or self._hungry)

    def __len__(self) -> int:
        """How many bodies wait."""
        return len(self._ready) + self._stalled

    def begin(self, stream: int, piece: Piece, source: Source | None = None) -> None:
        """Queue the first piece of a request, and where the rest comes from; ``frames`` sends what fits."""
        upload = self.uploads[stream] = Upload(stream, self.initial, source)
        upload.body, upload.ends = piece
        self._queue(upload)

    def wake(self, stream: int) -> None:
        """Ask a request's source again, if nothing of it waits."""
        upload = self.uploads.get(stream)
        if upload is not None:
            self._queue(upload)

    def end(self, stream: int) -> None:
        """End a request after the piece that is on its way, whatever its source may have."""
        upload = self.uploads.get(stream)
        if upload is not None and not upload.ends:
            upload.source = _nothing_more
            self._queue(upload)

    def is_open(self, stream: int) -> bool:
        """Whether the request of the stream has not ended."""
        return stream in self.uploads

    def _queue(self, upload: Upload) -> None:
        upload.refill()
        if upload.queued or upload.stalled or not upload.has_work:
            return
        upload.queued = True
        if upload.is_sent:
            self._ready.appendleft(upload)
        else:
            self._ready.append(upload)

    def _credited(self, upload: Upload, increment: int) -> None:
        if upload.window + increment > MAX_WINDOW:
            raise WindowOverflow
        upload.window += increment
        if upload.stalled and upload.window > 0:
            upload.stalled = False
            self._stalled -= 1
            self._queue(upload)

    def drop(self, stream: int) -> bool:
        """Forget a request; True if some of it was still unsent."""
        upload = self.uploads.pop(stream, None)
        if upload is None:
            return False
        self._stalled -= upload.stalled
        if upload.queued:
            self._ready.remove(upload)
        if upload in self._hungry:
            self._hungry.remove(upload)
        return True

    def resize(self, initial: int) -> None:
        """The peer's INITIAL_WINDOW_SIZE changed; raises WindowOverflow."""
        difference, self.initial = initial - self.initial, initial
        for upload in self.uploads.values():
            self._credited(upload, difference)

    def credit(self, stream: int, increment: int) -> None:
        """WINDOW_UPDATE; streams whose request is over need no credit any more. Raises WindowOverflow."""
        if stream == 0:
            if self.connection + increment > MAX_WINDOW:
                raise WindowOverflow
            self.connection += increment
            return
        upload = self.uploads.get(stream)
        if upload is not None:
            self._credited(upload, increment)

    def frames(self, limit: int) -> Iterator[Octets]:
        """DATA frames of at most ``limit`` octets that fit now, streams in turn; the last one of a body ends it.

        A request without an end cannot fill the memory: after a mebibyte the rest has to wait (``cut_short``).
        """
        hungry, self._hungry = self._hungry, []
        for upload in hungry:
            self._queue(upload)
        self._spent = 0
        while self._ready and (self.connection > 0 or self._ready[0].is_sent):
            upload = self._ready.popleft()
            upload.queued = False
            if upload.window > 0 or upload.is_sent:
                size = min(limit, self.connection, upload.window, len(upload.body) - upload.offset)
                yield from self._piece(upload, max(0, size))
            else:
                upload.stalled = True
                self._stalled += 1

    @property
    def cut_short(self) -> bool:
        """Whether the last ``frames`` stopped before the windows did."""
        return bool(self._hungry)

    def _piece(self, upload: Upload, size: int) -> tuple[Octets, ...]:
        """One DATA frame, its head and its payload: long payloads are not copied."""
        payload = memoryview(upload.body)[upload.offset : upload.offset + size]
        upload.offset += size
        upload.window -= size
        self.connection -= size
        self._spent += size + HEADER_SIZE
        flags = 0
        if upload.is_sent:
            flags = self._piece_sent(upload)
        else:
            self._queue(upload)
        return HEAD.pack((size << 8) | DATA, flags, upload.stream), payload

    def _piece_sent(self, upload: Upload) -> int:
        """Go on with what comes next; returns the flags of the frame that was the end of this piece."""
        last = upload.ends
        if last:
            del self.uploads[upload.stream]
        self._on_sent(upload.stream, bool(upload.body))
        if not last and upload.source is not None and self._spent >= _BURST:
            self._hungry.append(upload)
        elif not last:
            self._queue(upload)
        return END_STREAM if last else 0


class ReceiveWindow:
    """Our credit to the peer for the connection; given back in large pieces, not per frame."""

    __slots__ = ("uncredited",)

    def __init__(self) -> None:
        self.uncredited = 0

    @property
    def overrun(self) -> bool:
        """Whether the peer sent more than we allowed."""
        return self.uncredited > CONNECTION_WINDOW

    def due(self) -> bytes:
        """A WINDOW_UPDATE once half of the window is consumed, else nothing."""
        if self.uncredited < CONNECTION_WINDOW // 2:
            return b""
        increment, self.uncredited = self.uncredited, 0
        return window_update(0, increment)
