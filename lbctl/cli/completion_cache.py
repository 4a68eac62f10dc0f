"""What was found out for the last press of Tab, kept for the next; for this user alone, and nothing secret.

What etcd and backends say counts for 30 s. What lbctl itself is slow to tell, as it has to import it, counts an hour.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

LIFE_S: Final = 30.0
OWN_LIFE_S: Final = 3600.0
MOST_BYTES: Final = 2 << 20
MOST_FILES: Final = 32
_PATTERN: Final = "completion-*.json"


class Cache:
    """Files in one directory, each of what was asked in one way; ``now`` is when this is."""

    def __init__(self, environ: Mapping[str, str], now: datetime) -> None:
        home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
        self._folder = Path(home) / "lbctl"
        self._now = now.timestamp()

    def get(self, question: object, life_s: float = LIFE_S) -> Any:  # noqa: ANN401 - JSON is what it is
        """What was put for this question within so many seconds, else None."""
        try:
            with open(os.open(self._path(question), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
                known = os.fstat(file.fileno())
                left_s = known.st_mtime - self._now  # the file's time is when it ends to count
                if not _is_own(known) or not 0 < left_s <= life_s or known.st_size > MOST_BYTES:
                    return None
                return json.loads(file.read())
        except (OSError, ValueError):
            return None

    def put(self, question: object, answer: object, life_s: float = LIFE_S) -> None:
        """Keep an answer; one that is large or cannot be kept is not."""
        data = json.dumps(answer, separators=(",", ":")).encode()
        if len(data) > MOST_BYTES:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(os.lstat(self._folder)):
                return
            self._folder.chmod(0o700)
            self._tidy()
            self._write(self._path(question), data, self._now + life_s)

    def _write(self, path: Path, data: bytes, end: float) -> None:
        """All of it or nothing: another shell may be reading."""
        new = path.with_suffix(f".{os.getpid()}")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            os.utime(new, (end, end))
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Take away what nobody will read again."""
        ends = sorted(((path.stat().st_mtime, path) for path in self._folder.glob(_PATTERN)), reverse=True)
        for place, (end, path) in enumerate(ends):
            if end <= self._now or place >= MOST_FILES - 1:
                path.unlink(missing_ok=True)

    def _path(self, question: object) -> Path:
        name = hashlib.sha256(json.dumps(question).encode()).hexdigest()[:32]
        return self._folder / f"completion-{name}.json"


def remembered(folder: str, tell: Callable[[], Sequence[Sequence[str]]]) -> Sequence[Sequence[str]]:
    """What this lbctl says of itself; the files of a ``folder`` of it decide how long that is so."""
    from lbctl import __file__ as package
    from lbctl import __version__
    from lbctl.clock import SystemClock

    path = Path(package).parent / folder
    newest = max(entry.stat().st_mtime_ns for entry in os.scandir(path))
    cache, question = Cache(os.environ, SystemClock.wall()), [str(path), __version__, newest]
    found: Sequence[Sequence[str]] | None = cache.get(question, OWN_LIFE_S)
    if found is None:
        found = tell()
        cache.put(question, found, OWN_LIFE_S)
    return found


def _is_own(known: os.stat_result) -> bool:
    """Whether nobody else can have put something there."""
    mine = known.st_uid == os.getuid() if hasattr(os, "getuid") else True
    return mine and not stat.S_ISLNK(known.st_mode)
