"""Which runs are compared with which, what is said of them, and when a difference is a regression."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from lbctl.stats.comparison import Comparison, Difference, Group, Run, compare
from lbctl.stats.grouping import grouped
from lbctl.stats.histogram import Histogram
from lbctl.stats.regression import DEFAULT, parse_limits, regressions, unjudged
from tests.view.sample import sample

CALM = replace(sample(1, calls=100, in_flight=0, end_reason="completed"), started_at=sample(1, calls=1).started_at)


def run(name: str, *, calls: int = 4000, typical_us: float = 2000, errors: int = 0, **changes: Any) -> Run:  # noqa: ANN401
    """A run of ten seconds with so many calls of about this long."""
    rng = Random(name)
    times = Histogram()
    for _ in range(calls - errors):
        times.record(int(typical_us * rng.lognormvariate(0, 0.3)))
    counts = {"issued": calls, "completed": calls, "ok": calls - errors, "errors": errors, "elapsed_s": 10.0}
    return Run(f"{name}.json", replace(CALM, latency=times, **{**counts, **changes}))


def of(found: Comparison, metric: str, group: int = 0) -> Difference:
    return next(each for each in found.differences[group] if each.metric.name == metric)


def two(base: Run, other: Run) -> Comparison:
    return compare(grouped([base, other]))


def test_a_slower_run_is_worse_and_the_change_is_in_its_interval() -> None:
    found = of(two(run("a"), run("b", typical_us=2400)), "p50")
    assert found.verdict == "worse"
    assert found.change.low is not None
    assert found.change.high is not None
    assert found.change.low < 0.2 < found.change.high
    assert found.worse_by == found.change.value == pytest.approx(0.2, abs=0.03)


def test_alike_runs_have_no_difference() -> None:
    found = two(run("a"), run("c"))
    assert {of(found, name).verdict for name in ("p50", "p90", "p99", "mean", "rps", "error_rate")} == {"no difference"}


def test_more_calls_a_second_are_better_and_more_errors_are_worse() -> None:
    found = two(run("a"), run("b", calls=5000, errors=100))
    assert of(found, "rps").verdict == "better"
    assert of(found, "rps").change.value == pytest.approx(0.25)
    assert of(found, "rps").worse_by == pytest.approx(-0.25)
    assert (of(found, "error_rate").verdict, of(found, "error_rate").change.value) == ("worse", 0.02)


def test_a_percentile_that_few_calls_cannot_tell_is_not_judged() -> None:
    found = two(run("a", calls=100), run("b", calls=100, typical_us=2050))
    assert of(found, "p999").verdict == "too few calls"
    assert of(found, "max").verdict == "not judged"


def test_a_run_without_an_ok_call_has_no_times_to_compare() -> None:
    found = two(run("a"), run("b", errors=4000))
    assert of(found, "p99").change.value is None
    assert of(found, "p99").verdict == "not judged"
    assert of(found, "error_rate").verdict == "worse"


def policy(each: Run, name: str, command: str = "") -> Run:
    return Run(each.name, replace(each.report, policy=name, command=command))


def test_runs_of_one_command_are_repetitions_whatever_their_seed_and_file() -> None:
    typed = "lbctl hammer echo -n 4000 --policy {} --seed {} --save {}.json -q"
    runs = [
        policy(run(f"{name}{n}"), name, typed.format(name, n, f"{name}{n}"))
        for name in ("wrr", "p2c")
        for n in range(3)
    ]
    groups = grouped(runs)
    assert [(group.label, len(group.runs)) for group in groups] == [("wrr", 3), ("p2c", 3)]
    assert compare(groups).notes == ()
    assert [group.label for group in grouped(runs, each=True)] == ["wrr0", "wrr1", "wrr2", "p2c0", "p2c1", "p2c2"]


def test_repeated_runs_are_judged_by_what_they_differ_among_themselves() -> None:
    base = Group("base", tuple(run(f"a{n}", typical_us=2000 + 100 * n) for n in range(3)))
    other = Group("other", tuple(run(f"b{n}", typical_us=2200 + 100 * n) for n in range(3)))
    found = of(compare([base, other]), "p50")
    assert found.verdict == "no difference"  # which it would be by the calls of these runs alone
    assert found.change.value == pytest.approx(0.095, abs=0.02)
    slower = Group("slower", tuple(run(f"b{n}", typical_us=3200 + 100 * n) for n in range(3)))
    assert of(compare([base, slower]), "p50").verdict == "worse"


def test_one_run_against_repeated_ones_is_told_to_know_little() -> None:
    alone, several = Group("alone", (run("a"),)), Group("several", (run("b"), run("c")))
    assert compare([alone, several]).notes == (
        "one run alone tells little: what runs of the others differ among themselves is taken for it too (alone)",
    )


def test_where_no_share_is_due_none_is_missed() -> None:
    goes_by_load = replace(CALM.balance, max_delta=0.3, stated=False)
    found = of(two(run("a"), run("b", balance=goes_by_load)), "max_delta")
    assert (found.other.value, found.change.value, found.verdict) == (None, None, "not judged")


def test_runs_that_all_are_of_one_command_are_compared_with_each_other() -> None:
    groups = grouped([run("before"), run("after")])
    assert [group.label for group in groups] == ["before", "after"]


def test_a_baseline_is_a_group_of_its_own() -> None:
    groups = grouped([run("new1"), run("new2")], [run("old1"), run("old2")])
    assert [(group.label, len(group.runs)) for group in groups] == [("old1 +1", 2), ("new1 +1", 2)]


def test_another_request_is_another_command() -> None:
    first, second, third = (policy(run(name), "wrr", f"lbctl hammer echo -d '{name}'") for name in ("x", "y", "x"))
    assert [len(group.runs) for group in grouped([first, second, third])] == [2, 1]


def test_what_makes_runs_hard_to_compare_is_told() -> None:
    other = run("b", service="shop", end_reason="interrupted")
    assert compare(grouped([run("a"), other])).notes == (
        "these runs differ in their services: echo, shop",
        "1 of 2 runs did not come to their end",
    )


def failed(found: Comparison, limits: str) -> list[str]:
    return [each.limit.text for each in regressions(found, parse_limits(limits))]


def test_a_regression_is_worse_by_more_than_is_allowed_and_certainly_so() -> None:
    found = two(run("a"), run("b", typical_us=2400))
    assert failed(found, "p50<10%") == ["p50<10%"]
    assert failed(found, "p50<30%") == []
    assert failed(found, "p50>10%,mean") == ["p50>10%", "mean"]
    assert failed(found, DEFAULT) == ["p99<10%"]


def test_what_chance_may_have_made_is_no_regression() -> None:
    found = two(run("a", calls=30), run("b", calls=30, typical_us=2150))
    difference = of(found, "p50")
    assert difference.change.value is not None
    assert failed(found, "p50<0.1%") == []
    assert [limit.text for _, limit, _ in unjudged(found, parse_limits("p999<1%,p50<1%"))] == ["p999<1%"]


def test_an_improvement_is_no_regression() -> None:
    assert failed(two(run("a", typical_us=2400, errors=90), run("b", calls=5000)), DEFAULT) == []


def test_fewer_calls_a_second_and_more_errors_are_regressions_by_default() -> None:
    assert failed(two(run("a"), run("b", calls=3600)), DEFAULT) == ["rps<5%"]
    assert failed(two(run("a"), run("b", errors=40)), DEFAULT) == ["error_rate"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("p99", None),
        ("p99.9<10%", None),
        ("error_rate<.5pp", None),
        ("p99<10", "the limit of p99 is in %, like p99<10%"),
        ("error_rate<1%", "the limit of error_rate is in pp, like error_rate<1pp"),
        ("p98<1%", "no metric p98; did you mean p99?"),
        ("latency<1%", "no metric latency; there is rps, error_rate"),
        ("max<1%", "max of a run has no interval"),
        ("p99=1%", "is not METRIC<LIMIT, for example p99<10%,error_rate,rps<5%"),
        ("", "is not METRIC<LIMIT"),
    ],
)
def test_limits_are_understood_or_refused_with_a_reason(text: str, reason: str | None) -> None:
    if reason is None:
        assert len(parse_limits(text)) == 1
        return
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_limits(text)
