"""--ci: who is told, where, and what becomes of files that cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml

from lbctl.cli.ci import Ci, NotTold
from lbctl.cli.hammer_verdict import CheckFailed
from lbctl.cli.verdict_options import parse_abort, parse_ci
from lbctl.commands.hammer import Finished
from lbctl.errors import CannotCall, UsageError
from lbctl.stats.outcome import Outcome
from tests.view.sample import sample

REPORT = replace(
    sample(2, end_reason="completed", in_flight=0),
    thresholds=(Outcome("p99<50ms", ok=False, value=63.0, unit="ms", limit=50.0),),
)


BROKEN = CheckFailed("--threshold p99<50ms: 63ms")


class Heard(list[str]):
    """Lines of standard error."""

    def ci(self, *kinds: str, **environ: str) -> Ci:
        return Ci(kinds, "lbctl hammer echo", self.append, strict=False, environ=environ)


def end(ci: Ci, before: Callable[[], None] = lambda: None, failure: Exception | None = BROKEN) -> None:
    """The block of a run that ended, as the command has it."""
    with ci:
        ci.ended(Finished(REPORT, None))
        before()
        if failure is not None:
            raise failure


@pytest.mark.parametrize(
    ("kinds", "environ", "lines"),
    [
        ((), {"GITHUB_ACTIONS": "true"}, 0),
        (("github",), {}, 2),
        (("auto",), {"GITHUB_ACTIONS": "true"}, 2),
    ],
)
def test_who_is_told(kinds: tuple[str, ...], environ: dict[str, str], lines: int) -> None:
    heard = Heard()
    with heard.ci(*kinds, **environ) as ci:
        ci.ended(Finished(REPORT, None))
        assert heard == []
    assert len(heard) == lines


def test_auto_says_where_nobody_is_told() -> None:
    heard = Heard()
    with heard.ci("auto", CI="true") as ci:
        ci.ended(Finished(REPORT, None))
    assert heard == ["note: --ci auto: no CI that lbctl knows runs it (GITHUB_ACTIONS is not true); see --ci github"]


def test_a_failed_run_writes_every_file_and_stays_failed(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "r.xml"
    page.write_text("from another step\n\n", encoding="utf-8")
    with pytest.raises(CheckFailed):
        end(Heard().ci("github", f"junit={results}", GITHUB_STEP_SUMMARY=str(page)))
    (suite,) = JUnitXml.fromfile(str(results))
    assert suite.failures == 1
    assert page.read_text(encoding="utf-8").startswith("from another step\n\n### lbctl hammer echo")


def test_a_run_that_never_began_is_told_too(tmp_path: Path) -> None:
    heard, results = Heard(), tmp_path / "r.xml"
    with pytest.raises(CannotCall), heard.ci("github", f"junit={results}"):
        raise CannotCall("none can be called: 100% refused", "see: lbctl ls")
    assert heard == ["::error title=lbctl hammer echo::none can be called: 100%25 refused%0Asee: lbctl ls"]
    (suite,) = JUnitXml.fromfile(str(results))
    assert (suite.errors, suite.tests) == (1, 1)


@pytest.mark.parametrize(("number", "by", "failures"), [(2, "Ctrl-C", 1), (15, "SIGTERM", 1), (None, "q", 0)])
def test_an_interrupted_run_fails_unless_somebody_wished_it(
    number: int | None, by: str, failures: int, tmp_path: Path
) -> None:
    results = tmp_path / "r.xml"
    with Heard().ci(f"junit={results}") as ci:
        ci.ended(Finished(replace(REPORT, thresholds=(), end_reason="interrupted"), number))
    (suite,) = JUnitXml.fromfile(str(results))
    assert suite.failures == failures
    assert next(iter(suite)).result[0].message == f"stopped by {by}"


def test_a_file_that_cannot_be_written_costs_no_run(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "r.xml"
    with pytest.raises(UsageError) as raised, Heard().ci(f"junit={nowhere}"):
        raise AssertionError("the block must not begin")
    assert str(raised.value) == f"--ci: cannot write {nowhere}: no such file or directory"


def test_a_file_that_can_no_longer_be_written_is_1_and_hides_no_other_failure(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()

    def vanish() -> None:
        (folder / "r.xml").unlink()
        folder.rmdir()

    with pytest.raises(NotTold) as raised:
        end(Heard().ci(f"junit={folder / 'r.xml'}"), vanish, None)
    assert raised.value.exit_code == 1
    folder.mkdir()
    heard = Heard()
    with pytest.raises(CheckFailed):
        end(heard.ci(f"junit={folder / 'r.xml'}"), vanish)
    assert heard == [f"error: --ci: cannot write {folder / 'r.xml'}: no such file or directory"]


@pytest.mark.parametrize("text", ["github", "auto", "junit=r.xml"])
def test_kinds_of_ci(text: str) -> None:
    assert parse_ci(text) == text
    assert parse_ci("on") == "auto"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gitlab", "'gitlab' is not github, junit=FILE or auto"),
        ("junit", "junit needs the file to write: junit=results.xml"),
        ("junit=", "junit needs the file to write: junit=results.xml"),
        ("github=x", "'github=x' is not github, junit=FILE or auto"),
    ],
)
def test_what_is_no_kind_of_ci(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        parse_ci(text)


def test_when_a_condition_may_end_a_run() -> None:
    def of(text: str) -> tuple[float, int]:
        found = parse_abort(text)
        return found.after_s, found.calls

    assert of("errors>=100") == (0.0, 0)
    assert of("rps<5,after=10s") == (10.0, 0)
    assert of("error_rate>50%") == (0.0, 100)
    assert of("errors>50%") == (0.0, 100)
    assert of("p99>1s, after=1m30s, calls=1k") == (90.0, 1000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("errors>1,when=2s", "'errors>1,when=2s': 'when=2s' is neither after=TIME nor calls=N"),
        ("errors>1,after=1s,after=2s", "'errors>1,after=1s,after=2s': after is given twice"),
        ("errors>1,after=soon", "'soon' is not a duration"),
        ("errrs>1", "unknown metric 'errrs'; did you mean errors?"),
    ],
)
def test_what_is_no_condition(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}".replace("?", r"\?")):
        parse_abort(text)
