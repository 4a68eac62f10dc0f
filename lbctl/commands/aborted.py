"""A comparison that ``--abort-on`` ended."""

from __future__ import annotations

from lbctl.errors import ExitCode, LbctlError
from lbctl.stats.outcome import Outcome


class Aborted(LbctlError):
    """A run was too bad to go on; what is complete is printed."""

    exit_code = ExitCode.CHECK_FAILED

    def __init__(self, found: Outcome, where: str) -> None:
        place = f" at {found.where}" if found.where else ""
        super().__init__(f"--abort-on {found.expr}: {found.figure}{place} in {where}")
        self.expr = found.expr
