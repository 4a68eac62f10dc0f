"""Whether a finished run is good enough for exit status 0, and if not, why."""

from __future__ import annotations

from collections.abc import Iterator

from lbctl.errors import ExitCode, LbctlError
from lbctl.model import Code
from lbctl.stats.report import Report
from lbctl.view.outcomes import sentence


class CheckFailed(LbctlError):
    """The run is over and its result printed; something that was asked of it does not hold."""

    exit_code = ExitCode.CHECK_FAILED


def verdict(report: Report, *, strict: bool) -> CheckFailed | None:
    """What does not hold, a sentence a line; None where all is well."""
    found = [
        *_aborted(report),
        *_broken(report),
        *_dropped(report),
        *_unexpected(report),
        *(_anomalies(report) if strict else ()),
    ]
    if not found:
        return None
    return CheckFailed("\n".join(found), _HINT if report.dropped else "")


_HINT = "lower -r, or allow more: -c and --max-outstanding"


def _aborted(report: Report) -> Iterator[str]:
    """Conditions that must not become true; one of them may have ended the run."""
    for found in report.abort_on:
        if not found.ok:
            yield f"--abort-on {found.expr}: {sentence(found)}"


def _broken(report: Report) -> Iterator[str]:
    """Thresholds that do not hold."""
    for found in report.thresholds:
        if not found.ok:
            yield f"--threshold {found.expr}: {sentence(found)}"


def _dropped(report: Report) -> Iterator[str]:
    """An open loop that could not keep its rate did not put the load on that it was asked for."""
    if report.dropped:
        calls = "1 call was" if report.dropped == 1 else f"{report.dropped:,} calls were"
        yield f"{calls} dropped: as many as allowed were in flight already"


def _unexpected(report: Report) -> Iterator[str]:
    """Replies that --check was false of: the only errors whose code is OK."""
    groups = [group for group in report.error_groups if group.code is Code.OK]
    failed = sum(group.count for group in groups)
    if failed:
        replies = "1 reply" if failed == 1 else f"{failed:,} replies"
        yield f"{replies} of {report.completed:,} failed --check: {groups[0].message.removeprefix('check failed: ')}"


def _anomalies(report: Report) -> Iterator[str]:
    """What backends did that they should not have, a line for each backend and kind."""
    for row in report.backends:
        for kind, count in sorted(row.wire.anomalies.items()):
            yield f"--strict: {row.address} {kind}, {count:,} time{'' if count == 1 else 's'}"
