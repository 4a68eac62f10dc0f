"""Everything that was asked of a finished run, a check each: exit status, annotations and JUnit results follow it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from lbctl.model import Code
from lbctl.stats import searched
from lbctl.stats.outcome import Outcome
from lbctl.stats.report import Report
from lbctl.view.outcomes import sentence
from lbctl.view.text import plural

PASSED: Final = "passed"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"  # nothing that was asked for failed, and nothing was shown to hold


class Check(NamedTuple):
    """One thing that was asked, and what became of it in words; ``about`` is the option, or a part of the result."""

    about: str  # run | balance | --threshold | --abort-on | -r | --check | --strict
    name: str
    state: str  # passed | failed | skipped
    text: str = ""
    ends_it: bool = False  # the run is over for another reason than a check, which has an exit status of its own

    def __str__(self) -> str:
        named = f"{self.about} {self.name}" if self.name and self.about.startswith("--") else ""
        return f"{named}: {self.text}" if named else self.text


def checks(report: Report, *, strict: bool = False) -> Sequence[Check]:
    """Everything that was asked, the most serious first where several failed."""
    return (
        *_end(report),
        *_searched(report),
        *(_judged("--abort-on", each) for each in report.abort_on),
        *(_judged("--threshold", each) for each in report.thresholds),
        *(_dropped(report) if report.search is None else ()),
        *_unexpected(report),
        *(_anomalies(report) if strict else ()),
        _balance(report),
    )


def _end(report: Report) -> Iterator[Check]:
    """Whether the run came to its end; a condition that ended it is a check of its own."""
    if report.end_reason == "error":
        yield Check("run", "end", FAILED, f"given up: {report.given_up or 'no backend was ready'}", ends_it=True)
    elif report.end_reason == "max_errors":
        yield Check("run", "end", FAILED, f"stopped by {report.stopped_by or '--max-errors'}", ends_it=True)
    elif report.end_reason == "interrupted":
        by = report.stopped_by or "a signal"
        # q is a wish of somebody who watched; a signal in the middle has an exit status of its own.
        yield Check("run", "end", SKIPPED if by == "q" else FAILED, f"stopped by {by}", ends_it=True)
    else:
        yield Check("run", "end", PASSED, report.end_reason or "")


def _searched(report: Report) -> Iterator[Check]:
    """A search that found a rate; of one that somebody ended nothing was shown to fail."""
    if report.search is not None:
        states = {searched.FAILED: FAILED, searched.INTERRUPTED: SKIPPED}
        state = states.get(report.search.ended, PASSED)
        yield Check("--find-max", " and ".join(report.search.objective), state, report.search.conclusion)


def _judged(option: str, found: Outcome) -> Check:
    return Check(option, found.expr, PASSED if found.ok else FAILED, sentence(found))


def _dropped(report: Report) -> Iterator[Check]:
    """An open loop that could not keep its rate did not put the load on that it was asked for."""
    if report.dropped:
        calls = "1 call was" if report.dropped == 1 else f"{report.dropped:,} calls were"
        yield Check("-r", "dropped", FAILED, f"{calls} dropped: as many as allowed were in flight already")
    elif report.load.mode == "open":
        yield Check("-r", "dropped", PASSED, "no call was dropped")


def _unexpected(report: Report) -> Iterator[Check]:
    """Replies that --check was false of, the only errors whose code is OK: a check for each expression and reason."""
    for group in report.error_groups:
        if group.code is Code.OK:
            replies = "1 reply" if group.count == 1 else f"{group.count:,} replies"
            expr = group.message.removeprefix("check failed: ")
            yield Check("--check", "", FAILED, f"{replies} of {report.completed:,} failed --check: {expr}")


def _anomalies(report: Report) -> Iterator[Check]:
    """What backends did that they should not have, one for each backend and kind."""
    found = False
    for row in report.backends:
        for kind, count in sorted(row.wire.anomalies.items()):
            found = True
            yield Check("--strict", "", FAILED, f"--strict: {row.address} {kind}, {plural(count, 'time')}")
    if not found:
        yield Check("--strict", "", PASSED, "every backend kept the rules of HTTP/2 and gRPC")


def _balance(report: Report) -> Check:
    """The verdict on the balance, which fails nothing by itself: that takes a threshold."""
    balance = report.balance
    words = {"too_few": "too few calls to judge", "not_applicable": "not judged"}
    text = ": ".join(filter(None, (words.get(balance.verdict, balance.verdict), balance.note)))
    return Check("balance", "verdict", PASSED if balance.verdict == "balanced" else SKIPPED, text)
