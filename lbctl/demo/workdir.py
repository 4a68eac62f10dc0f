"""The directory of one demo; what a killed demo left behind is removed by the next one.

A demo holds a lock on a file inside its directory for as long as it lives. The kernel drops the lock with the process,
however it ends, so a lock that can be taken marks a directory that nobody needs: no process ids that may be reused.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "lbctl-demo-"
_LOCK = "lock"


@contextlib.contextmanager
def working_directory(parent: Path) -> Iterator[Path]:
    """A fresh directory under ``parent``, removed at the end together with the ones that dead demos left there."""
    reap(parent)
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        with _locked(path):
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def reap(parent: Path) -> None:
    """Remove the directories of demos that are gone; another user's, or a running demo's, are left alone."""
    if sys.platform == "win32":
        return
    for path in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            if _is_abandoned(path / _LOCK):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(lock: Path) -> bool:
    """Whether the lock is there and nobody holds it; raises OSError where there is none (a demo that just starts)."""
    if sys.platform == "win32":
        return False
    import fcntl

    descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import fcntl

    fresh = path / f"{_LOCK}.new"
    descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        # Locked first and named after: the file is never there without its lock.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        fresh.rename(path / _LOCK)
        yield
    finally:
        os.close(descriptor)
