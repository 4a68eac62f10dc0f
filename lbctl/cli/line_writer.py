"""Lines for standard output, written by a thread of their own: a slow reader must not hold up what makes them."""

from __future__ import annotations

import sys
from queue import SimpleQueue
from threading import Thread
from typing import Final

_BEHIND: Final = 64


class LineWriter:
    """Takes lines at once and writes them in their order, each flushed; after the first failure they go nowhere."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._failure: OSError | None = None
        self._thread: Thread | None = None

    def write(self, line: str) -> None:
        """Add one line, without its end."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="lines", daemon=True)
            self._thread.start()
        self._lines.put(line)

    def is_behind(self) -> bool:
        """Whether the reader has not taken the last few lines."""
        return self._lines.qsize() > _BEHIND

    def is_broken(self) -> bool:
        """Whether nobody reads any more, or nothing more can be written."""
        return self._failure is not None

    def close(self) -> None:
        """Wait until everything is written; raises the OSError that was in the way."""
        if self._thread is not None:
            self._lines.put(None)
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            if self._failure is None:
                try:
                    print(line, file=sys.stdout, flush=True)  # noqa: T201
                except OSError as error:
                    self._failure = error
