"""How the standing of a backend looks, and what guards did, in the summary and the document."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.stats.report import Report
from lbctl.view.guard_lines import guard_lines
from lbctl.view.run_document import run_document
from lbctl.view.standing import state_mark
from lbctl.view.summary import summary
from lbctl.view.theme import ASCII, COLOUR, PLAIN, UNICODE, Look
from tests.view.sample import sample

GUARDS = {"outlier-detection": {"interval": "5s"}, "breaker kratos": {}}


def guarded(
    state: str = "ejected", reason: str = "", *, ejections: int = 2, trips: int = 0, warmth: float = 1.0
) -> Report:
    """A report whose second backend stands like this."""
    whole = sample()
    first, second, *others = whole.backends
    second = replace(second, state=state, reason=reason, ejections=ejections, trips=trips, warmth=warmth)
    return replace(whole, backends=(first, second, *others), guards=GUARDS, turned_away={"kratos": 12})


@pytest.mark.parametrize(("state", "glyph", "ascii_glyph"), [
    ("ready", "●", "*"), ("connecting", "◐", "o"), ("half_open", "◐", "o"), ("warming", "◐", "o"),
    ("transient_failure", "○", "x"), ("left", "○", "x"),
    ("ejected", "⊘", "!"), ("breaker_open", "⊘", "!"), ("unhealthy", "⊘", "!"),
    ("not_in_subset", "◌", "-"), ("other_zone", "◌", "-"),
])  # fmt: skip
def test_who_is_kept_out_looks_unlike_who_is_gone_or_not_used(state: str, glyph: str, ascii_glyph: str) -> None:
    assert state_mark(state, Look(COLOUR, UNICODE))[1] == glyph
    assert state_mark(state, Look(COLOUR, ASCII))[1] == ascii_glyph


def test_the_summary_says_what_guards_did() -> None:
    address = guarded().backends[1].address
    assert guard_lines(guarded(), Look(PLAIN, UNICODE), 80) == [
        "Guards",
        "  outlier-detection interval=5s",
        "  breaker kratos",
        f"  {address}  ejected 2 times, still out",
        "  12 calls turned away: kratos",
    ]
    assert "Guards\n  outlier-detection" in summary(guarded())


def test_a_backend_that_warms_up_says_how_far_it_is() -> None:
    report = guarded("warming", "has 40% of its weight", ejections=0, trips=1, warmth=0.4)
    *_, line, _ = guard_lines(report, Look(PLAIN, UNICODE), 80)
    assert line.endswith("  breaker opened 1 time, warming: has 40% of its weight")


def test_what_a_guard_was_told_is_told_whole_on_as_many_lines_as_it_takes() -> None:
    options = {f"option-{n}": "5s" for n in range(8)}
    lines = guard_lines(replace(guarded(), guards={"outlier-detection": options}), Look(PLAIN, UNICODE), 60)
    assert max(map(len, lines)) <= 60
    assert " ".join(line.strip() for line in lines[1:4]) == "outlier-detection " + ", ".join(
        f"{name}=5s" for name in options
    )


def test_without_guards_the_summary_says_nothing_of_them() -> None:
    assert guard_lines(sample(), Look(PLAIN, UNICODE), 80) == []


def test_the_document_has_the_counts() -> None:
    document = run_document(guarded(trips=3, warmth=0.5))
    assert document["guards"] == GUARDS
    assert document["turned_away"] == {"kratos": 12}
    backends = document["backends"]
    assert isinstance(backends, list)
    assert (backends[1]["ejections"], backends[1]["trips"], backends[1]["warmth"]) == (2, 3, 0.5)
    assert backends[1]["state"] == "ejected"
