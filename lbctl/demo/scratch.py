"""A directory that is gone afterwards: at the end, at exit, or at the next start after a kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PREFIX = "lbctl-etcd-"
_LOCK = "owner.lock"


class ScratchDir:
    """A temporary directory marked as in use by a lock, which ends with the last process that holds it.

    Children that get ``lock_fds`` hold it too. Directories whose owners were killed are removed first.
    """

    def __init__(self) -> None:
        remove_abandoned(Path(tempfile.gettempdir()))
        self._directory = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
        self.path = Path(self._directory.name)
        self.lock_fds: tuple[int, ...] = ()
        if sys.platform != "win32":
            self.lock_fds = (_take_lock(self.path),)

    def cleanup(self) -> None:
        """Remove the directory; safe to repeat."""
        self._directory.cleanup()
        for fd in self.lock_fds:
            os.close(fd)
        self.lock_fds = ()


def remove_abandoned(parent: Path) -> None:
    """Remove scratch directories of this user whose lock nobody holds; those in use, or unclear, stay."""
    if sys.platform == "win32":
        return
    for path in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            fd = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(fd)


def _take_lock(directory: Path) -> int:
    """Create the lock under another name first: between its creation and its locking nobody may find it free."""
    unfinished = directory / f"{_LOCK}.new"
    fd = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    unfinished.rename(directory / _LOCK)
    return fd
