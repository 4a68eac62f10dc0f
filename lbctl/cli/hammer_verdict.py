"""Whether a finished run is good enough for exit status 0, and if not, why."""

from __future__ import annotations

from collections.abc import Callable

from lbctl.errors import ExitCode, LbctlError
from lbctl.stats.report import Report
from lbctl.view.checks import FAILED, checks


class CheckFailed(LbctlError):
    """The run is over and its result printed; something that was asked of it does not hold."""

    exit_code = ExitCode.CHECK_FAILED


def verdict(report: Report, *, strict: bool) -> CheckFailed | None:
    """What does not hold, a sentence a line; None where all is well."""
    found = [str(each) for each in checks(report, strict=strict) if each.state == FAILED and not each.ends_it]
    if not found:
        return None
    return CheckFailed("\n".join(found), _HINT if report.dropped else "")


_HINT = "lower -r, or allow more: -c and --max-outstanding"


def forgiven(finish: Callable[[], int], note: Callable[[str], None]) -> int:
    """The exit status of ``--exit-zero``: what does not hold is told as a warning, and is no failure."""
    try:
        return finish()
    except CheckFailed as failure:
        for line in str(failure).split("\n"):
            note(f"warning: {line}")
        return ExitCode.OK
