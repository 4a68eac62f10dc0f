"""Command lines of etcd's own tools, for findings about etcd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lbctl.suggestion import shell


@dataclass(frozen=True, slots=True)
class EtcdTools:
    """Spells command lines of etcdctl and curl with what lbctl was told about etcd, but for passwords.

    ``flags`` are etcdctl's, ``curl`` those of curl for the same, and ``shadows`` the variables that etcdctl does not
    accept beside flags.
    """

    flags: tuple[str, ...] = ()
    curl: tuple[str, ...] = ()
    shadows: tuple[str, ...] = ()
    secure: bool = False

    def etcdctl(self, endpoints: Sequence[str], *words: str) -> str:
        """``etcdctl WORDS``, put to these endpoints."""
        scheme = "https://" if self.secure else ""
        where = ",".join(f"{scheme}{each}" for each in endpoints)
        unset = [word for name in self.shadows for word in ("-u", name)]
        return shell([*(["env", *unset] if unset else []), "etcdctl", f"--endpoints={where}", *self.flags, *words])

    def head(self, endpoint: str, path: str) -> str:
        """A command that shows the headers of an answer by HTTP."""
        scheme = "https" if self.secure else "http"
        return shell(["curl", "-sD", "-", "-o", "/dev/null", *self.curl, f"{scheme}://{endpoint}{path}"])
