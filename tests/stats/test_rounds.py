"""Rounds of runs: their order, what counts, and that what drifts meanwhile is nobody's difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.model import Event
from lbctl.stats.comparison import METRICS, Difference
from lbctl.stats.rounds import Contest, Trial, change_of, compared, notes_on, order_of, standing
from tests.view.sample_contest import POLICIES, contest_sample, trial_report

_P99 = METRICS["p99"]


def two(*drifts: float) -> Contest:
    """Two policies, in rounds of which each is so much slower than the first."""
    trials = [
        Trial(place, number, 0, trial_report(POLICIES[place].policy, number, calls=400, drift=drift))
        for number, drift in enumerate(drifts, 1)
        for place in (0, 1)
    ]
    return contest_sample(contenders=POLICIES[:2], rounds=len(drifts), trials=tuple(trials), going=(), over=True)


def difference(contest: Contest, name: str) -> Difference:
    found = compared(contest)
    assert found is not None
    return next(each for each in found.differences[0] if each.metric.name == name)


def test_interleaved_rounds_begin_with_another_policy_each() -> None:
    assert order_of("interleaved", 3, 3) == [
        [(0, 1)], [(1, 1)], [(2, 1)], [(1, 2)], [(2, 2)], [(0, 2)], [(2, 3)], [(0, 3)], [(1, 3)]
    ]  # fmt: skip


def test_sequential_and_parallel_orders() -> None:
    assert order_of("sequential", 2, 2) == [[(0, 1)], [(0, 2)], [(1, 1)], [(1, 2)]]
    assert order_of("parallel", 2, 2) == [[(0, 1), (1, 1)], [(0, 2), (1, 2)]]


def test_a_machine_that_gets_slower_all_the_time_hides_no_difference() -> None:
    found = difference(two(1.0, 2.0, 4.0), "p50")
    assert found.verdict == "better"
    assert found.change.value == pytest.approx(-0.4, abs=0.05)
    assert found.change.high is not None
    assert found.change.high < -0.2


def test_one_round_is_not_judged() -> None:
    found = difference(two(1.0), "p50")
    assert (found.verdict, found.change.low, found.change.high) == ("not judged", None, None)
    assert "one round cannot tell a difference from chance: there are no intervals" in notes_on(two(1.0))


def test_runs_that_were_skipped_or_cut_off_do_not_count() -> None:
    whole = two(1.0, 1.0)
    cut = replace(whole.trials[1], report=replace(whole.trials[1].report, end_reason="interrupted"))
    skipped = replace(whole.trials[3], skipped=True)
    contest = replace(whole, trials=(whole.trials[0], cut, whole.trials[2], skipped))
    assert [standing(contest, each).runs for each in (0, 1)] == [2, 0]
    assert compared(contest) is None
    assert "2 of 4 runs did not come to their end and are left out" in notes_on(contest)


def test_a_change_of_the_backends_during_a_run_is_told() -> None:
    whole = two(1.0, 1.0)
    report = whole.trials[2].report
    left = replace(report.backends[0], left_s=0.7)
    joined = replace(report.backends[1], joined_s=0.3)
    weight = Event(0.5, "weight", "10.0.0.13:50051", "weight 2 -> 3", "change")
    changed = replace(report, backends=(left, joined, *report.backends[2:]), events=(weight,))
    contest = replace(whole, trials=(*whole.trials[:2], replace(whole.trials[2], report=changed), whole.trials[3]))
    (note,) = [note for note in notes_on(contest) if "changed" in note]
    assert note == (
        "backends changed during round 2 of smooth_wrr: 10.0.0.12:50051 joined, 10.0.0.11:50051 left, "
        "10.0.0.13:50051: another weight"
    )


def test_policies_that_go_by_load_have_no_deviation_from_what_was_due() -> None:
    contest = contest_sample(12)
    found = [standing(contest, each) for each in range(4)]
    assert [each.max_delta is None for each in found] == [False, True, False, False]
    assert found[3].max_delta == pytest.approx(0.1, abs=0.005)
    assert found[3].max_over_expected == pytest.approx(1.4, abs=0.01)


def test_the_figures_of_a_policy_without_a_run_are_those_of_the_one_that_goes_on() -> None:
    contest = contest_sample(0)
    first, second = standing(contest, 0), standing(contest, 1)
    assert (first.live, first.runs, first.latency.total) == (True, 0, 900)
    assert (second.live, second.rps) == (False, None)
    assert change_of(contest, _P99, 1).value is None
