"""Files of requests, read ahead by a thread: the loop that sends calls never waits for a disk if it can be helped."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import RawIOBase
from pathlib import Path
from queue import Empty, Full, Queue
from tempfile import mkstemp
from threading import Event, Thread
from typing import Any, BinaryIO, Final, cast
from weakref import finalize

from lbctl.errors import UsageError

CHUNK: Final = 64 << 10  # octets
KEPT: Final = 1 << 20  # a file of up to so many octets is read once and kept
_AHEAD: Final = 8  # chunks
_TURN_S: Final = 0.1


class DataFile:
    """A file that can be read from its beginning again and again; what comes through a pipe is put into one first."""

    def __init__(self, name: str, option: str, stream: BinaryIO | None = None) -> None:
        """``name`` is its path, or what to call ``stream``, which is read to its end now. Raises UsageError."""
        self.name = name
        self._option = option
        self._spool: int | None = None  # the descriptor of a file without a name
        with self._explained():
            if stream is not None:
                self._spool = _spooled(stream)
            elif not stat.S_ISREG(os.stat(name).st_mode):
                with Path(name).open("rb") as pipe:  # a directory is refused here
                    self._spool = _spooled(pipe)
            if self._spool is not None:
                finalize(self, os.close, self._spool)
            self.size = os.stat(name if self._spool is None else self._spool).st_size

    def read(self) -> bytes:
        """All of it; raises UsageError."""
        with self._explained(), self._opened() as file:
            return file.read()

    def chunks(self) -> Iterator[bytes]:
        """All of it, in order, read ahead; raises UsageError."""
        with self._explained():
            reader = _Reader(self._opened())
        try:
            with self._explained():
                yield from reader
        finally:
            reader.stop()

    def _opened(self) -> BinaryIO:
        return Path(self.name).open("rb") if self._spool is None else cast(BinaryIO, _Spool(self._spool))

    def _explained(self) -> _Explained:
        return _Explained(self._option, self.name)


def _spooled(stream: BinaryIO) -> int:
    """The descriptor of a file of what a stream has brought, which goes away when it is closed."""
    descriptor, name = mkstemp(prefix="lbctl-")
    os.unlink(name)
    try:
        while chunk := stream.read(CHUNK):
            while chunk:
                chunk = chunk[os.write(descriptor, chunk) :]
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


class _Spool(RawIOBase):
    """Reads a file without a name from its beginning, whoever else reads it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  # whatever can be written to
        data = os.pread(self._descriptor, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Explained:
    """Turns what the system says of a file into a UsageError."""

    def __init__(self, option: str, name: str) -> None:
        self._option, self._name = option, name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"{self._option}: cannot read {self._name}: {reason}") from None


class _Reader:
    """One pass over a file, some chunks ahead of whoever takes them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._chunks: Queue[bytes | OSError] = Queue(_AHEAD)
        self._stopped = Event()
        self._thread = Thread(target=self._read, name="requests", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[bytes]:
        while not self._stopped.is_set():
            try:
                chunk = self._chunks.get(timeout=_TURN_S)
            except Empty:
                continue
            if isinstance(chunk, OSError):
                raise chunk
            if not chunk:
                return
            yield chunk

    def _read(self) -> None:
        with self._file as file:
            while not self._stopped.is_set():
                try:
                    chunk: bytes | OSError = file.read(CHUNK)
                except OSError as error:
                    chunk = error
                if not self._put(chunk) or isinstance(chunk, OSError) or not chunk:
                    return

    def _put(self, chunk: bytes | OSError) -> bool:
        while not self._stopped.is_set():
            try:
                self._chunks.put(chunk, timeout=_TURN_S)
            except Full:
                continue
            return True
        return False

    def stop(self) -> None:
        self._stopped.set()
