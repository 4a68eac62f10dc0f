"""Who judges a run: conditions end it once, whatever is left is judged when it is over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lbctl.commands.judging import Judge
from lbctl.stats.report import Report
from lbctl.stats.thresholds import Abort, parse_threshold
from tests.view.sample import sample


@dataclass
class FakeRun:
    """A run whose report is whatever the test says, and what it was told."""

    now: Report
    ends: list[str] = field(default_factory=list)
    notes: list[tuple[str, str | None, str, str]] = field(default_factory=list)

    def report(self) -> Report:
        return self.now

    def end(self, why: str) -> None:
        self.ends.append(why)

    def note(self, kind: str, backend: str | None, text: str, level: str = "info") -> None:
        self.notes.append((kind, backend, text, level))


ERRORS = Abort(parse_threshold("errors>=100"), calls=0)


def failed(errors: int, **changes: object) -> Report:
    return replace(sample(3, end_reason="completed"), errors=errors, **changes)  # type: ignore[arg-type]


def test_a_condition_that_is_true_ends_the_run_and_is_its_reason() -> None:
    run = FakeRun(failed(99))
    judge = Judge(conditions=(ERRORS,))
    assert not judge.look(run)
    run.now = failed(120)
    assert judge.look(run)
    assert (run.ends, run.notes) == (["aborted"], [("log", None, "--abort-on errors>=100: 120", "bad")])
    report = judge.judged(failed(150, end_reason="aborted"))
    (found,) = report.abort_on
    # The value is the one that ended it, not what came to it while calls in flight were awaited.
    assert (found.ok, found.value, report.stopped_by) == (False, 120, "--abort-on errors>=100")


def test_a_condition_about_backends_names_the_one() -> None:
    run = FakeRun(sample(3))
    assert Judge(conditions=(Abort(parse_threshold("backend.max>1us")),)).look(run)
    ((_, backend, text, _),) = run.notes
    assert backend in {row.address for row in run.now.backends}
    assert text.startswith("--abort-on backend.max>1us: ")
    assert text.endswith("ms")


def test_nothing_ends_a_run_that_warms_up_or_has_been_stopped() -> None:
    run = FakeRun(failed(120, warming=True))
    judge = Judge(conditions=(ERRORS,))
    assert not judge.look(run)
    run.now = failed(120, stopping=True)
    assert not judge.look(run)
    assert run.ends == []


def test_a_run_that_was_too_short_to_look_at_is_judged_by_its_end() -> None:
    (found,) = Judge(conditions=(ERRORS,)).judged(failed(100)).abort_on
    assert (found.ok, found.value) == (False, 100)
    (found,) = Judge(conditions=(ERRORS,)).judged(failed(3)).abort_on
    assert (found.ok, found.value) == (True, 3)


def test_whoever_else_stopped_it_stays_the_one() -> None:
    report = Judge(conditions=(ERRORS,)).judged(failed(3, end_reason="interrupted", stopped_by="Ctrl-C"))
    assert report.stopped_by == "Ctrl-C"


def test_thresholds_are_judged_in_the_order_they_were_given() -> None:
    exprs = ("errors<5", "p99<1s", "error_rate<1%")
    judged = Judge(tuple(map(parse_threshold, exprs))).judged(failed(5))
    assert [each.expr for each in judged.thresholds] == list(exprs)
    assert [each.ok for each in judged.thresholds] == [False, True, True]
