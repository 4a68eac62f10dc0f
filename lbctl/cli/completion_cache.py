"""What etcd and backends said a moment ago, kept for the next press of Tab; for this user alone, and nothing secret."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

LIFE_S: Final = 30.0
MOST_BYTES: Final = 2 << 20
MOST_FILES: Final = 32
_PATTERN: Final = "completion-*.json"


class Cache:
    """Files in one directory, each of what was asked in one way; ``now`` is when this is."""

    def __init__(self, environ: Mapping[str, str], now: datetime) -> None:
        home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
        self._folder = Path(home) / "lbctl"
        self._now = now.timestamp()

    def get(self, question: object) -> Any:  # noqa: ANN401 - JSON is what it is
        """What was put for this question within the last 30 s, else None."""
        try:
            with open(os.open(self._path(question), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
                known = os.fstat(file.fileno())
                if not _is_own(known) or not 0 <= self._now - known.st_mtime < LIFE_S or known.st_size > MOST_BYTES:
                    return None
                return json.loads(file.read())
        except (OSError, ValueError):
            return None

    def put(self, question: object, answer: object) -> None:
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
            self._write(self._path(question), data)

    def _write(self, path: Path, data: bytes) -> None:
        """All of it or nothing: another shell may be reading."""
        new = path.with_suffix(f".{os.getpid()}")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            os.utime(new, (self._now, self._now))
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Take away what nobody will read again."""
        ages = sorted((self._now - path.stat().st_mtime, path) for path in self._folder.glob(_PATTERN))
        for place, (age, path) in enumerate(ages):
            if age >= LIFE_S or place >= MOST_FILES - 1:
                path.unlink(missing_ok=True)

    def _path(self, question: object) -> Path:
        name = hashlib.sha256(json.dumps(question).encode()).hexdigest()[:32]
        return self._folder / f"completion-{name}.json"


def _is_own(known: os.stat_result) -> bool:
    """Whether nobody else can have put something there."""
    mine = known.st_uid == os.getuid() if hasattr(os, "getuid") else True
    return mine and not stat.S_ISLNK(known.st_mode)
