"""Files that are written whole or not at all: a disk that is full must not cost the result that was there before."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

_MODE: Final = 0o666  # less what the umask takes


def write_whole(path: Path, text: str) -> None:
    """Have a file hold this text, and what it held before if that fails with OSError.

    What is no ordinary file of ours (a pipe, ``/dev/stdout``), or is in a folder that takes no other, is written in
    place.
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    beside = None if mode is None else _beside(target)
    if beside is None or mode is None:
        path.write_text(text, encoding="utf-8")
        return
    fd, new = beside
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
        new.chmod(mode)
        new.replace(target)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def _mode(target: Path) -> int | None:
    """Return the permissions the file has, or is to have; None for what is no ordinary file."""
    try:
        found = target.stat()
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return _MODE & ~umask
    ours = found.st_nlink == 1 and found.st_uid == getattr(os, "geteuid", lambda: found.st_uid)()
    return stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) and ours else None


def _beside(target: Path) -> tuple[int, Path] | None:
    try:
        fd, name = mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError:
        return None
    return fd, Path(name)
