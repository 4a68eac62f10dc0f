"""A comparison that was saved is read back with its rounds, or refused with the reason."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lbctl.stats.rounds import Contest
from lbctl.stats.saved import NotARun
from lbctl.stats.saved_contest import contest_from, is_contest
from lbctl.view.compare_output import saved, settled
from tests.view.sample import STARTED
from tests.view.sample_contest import contest_sample


def document(contest: Contest | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(saved(contest or contest_sample(12)))
    return found


def test_what_is_read_is_what_was_saved() -> None:
    contest = replace(contest_sample(9, going=()), stopped_by="q", command="lbctl compare echo", started_at=STARTED)
    trials = list(contest.trials)
    trials[1] = replace(trials[1], skipped=True, began_s=9.5, ended_s=10.25)
    trials[2] = replace(trials[2], report=replace(trials[2].report, end_reason="interrupted"))
    contest = replace(contest, trials=tuple(trials))
    found = settled(contest)
    assert saved(found) == saved(settled(found))
    assert [(each.contender, each.round, each.number, each.counts) for each in found.trials] == [
        (each.contender, each.round, each.number, each.counts) for each in trials
    ]
    assert (found.trials[1].skipped, found.trials[1].began_s, found.trials[1].ended_s) == (True, 9.5, 10.25)
    assert found.contenders == contest.contenders
    assert (found.service, found.rounds, found.order, found.pause_s, found.seed, found.load) == (
        contest.service, contest.rounds, contest.order, contest.pause_s, contest.seed, contest.load
    )  # fmt: skip
    assert (found.stopped_by, found.command, found.started_at) == ("q", "lbctl compare echo", STARTED)
    assert [event.text for event in found.events] == [event.text for event in contest.events]
    assert {each.report.command for each in found.trials} == {"lbctl compare echo"}


def test_a_file_with_the_documents_of_runs_that_count_alone_is_read_too() -> None:
    found = document()
    found["runs"][3]["counts"] = False
    del found["documents"][3], found["load"], found["started_at"]
    for run in found["runs"]:
        del run["began_s"], run["ended_s"]
    contest = contest_from(found)
    assert [each.number for each in contest.trials] == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]
    assert (contest.load, contest.started_at) == ("", None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda found: found["documents"].pop(), "documents: 11 of them, and there are 12 runs"),
        (lambda found: found["runs"][2].update(label="x"), r"runs\[2\].label: 'x' is none of the policies"),
        (lambda found: found["documents"][4].pop("load"), "documents, run 5: load is missing"),
        (lambda found: found.pop("rounds"), "rounds is missing"),
        (lambda found: found.update(started_at="noon"), "started_at: 'noon' is no time"),
    ],
)
def test_a_file_that_somebody_edited_is_refused_with_the_reason(change: Any, reason: str) -> None:  # noqa: ANN401
    found = document()
    change(found)
    with pytest.raises(NotARun, match=reason):
        contest_from(found)


def test_documents_without_rounds_are_no_contest() -> None:
    found = document()
    assert is_contest(found)
    assert not is_contest({**found, "documents": []})
    assert not is_contest({**found, "policies": None})
    assert not is_contest({**found, "schema": "lbctl.run/v1"})
