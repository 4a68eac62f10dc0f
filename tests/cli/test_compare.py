"""``lbctl compare``: what is asked for, what is refused, and what becomes of a finished comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lbctl.cli.compare_options import ContestFlags, contenders_of, parse_contender
from lbctl.cli.compare_output import ComparisonSink
from lbctl.cli.compare_request import comparison_of, shared
from lbctl.cli.hammer_options import AmountFlags, LoadFlags, ScreenFlags
from lbctl.cli.hammer_request import Asked
from lbctl.cli.hash_key_options import HashKeyFlags, parse_hash_key
from lbctl.cli.regressions import Regressed
from lbctl.cli.request_options import RequestFlags
from lbctl.cli.screens import caps_of
from lbctl.cli.settings import resolve
from lbctl.commands.aborted import Aborted
from lbctl.commands.compare import Compare, Compared, slow_backend
from lbctl.errors import CannotCall, UsageError
from lbctl.load.pacing.schedule import steady
from lbctl.load.plan import Plan
from lbctl.stats.outcome import Outcome
from lbctl.stats.regression import parse_limits
from tests.cli.conftest import Lbctl
from tests.view.sample import sample
from tests.view.sample_contest import contest_sample

SETTINGS = resolve({}, {}, {})


def asked(*policies: str, amount: AmountFlags | None = None, keys: str | None = None, **contest: Any) -> Compare:  # noqa: ANN401
    """The comparison of these policies."""
    return comparison_of(
        "echo",
        None,
        ContestFlags(policy=[parse_contender(each) for each in policies], **contest),
        Asked(
            (amount or AmountFlags()).of_a_policy(),
            RequestFlags(),
            hash_keys=HashKeyFlags(parse_hash_key(keys) if keys else None),
        ),
        SETTINGS,
        {},
    )


def test_every_policy_gets_the_same_load_and_seed() -> None:
    found = asked("smooth_wrr", "least_request,choice-count=3", amount=AmountFlags(requests=500, concurrency=7))
    assert [each.policy.name for each in found.requests] == ["smooth_wrr", "least_request"]
    first, second = found.requests
    assert (first.plan.requests, first.plan.concurrency) == (500, 7)
    assert (second.plan, second.seed, second.payload) == (first.plan, first.seed, first.payload)
    assert dict(second.policy.stated) == {"choice-count": "3"}
    assert (found.rounds, found.order, found.pause_s) == (3, "interleaved", 1.0)


def test_only_policies_that_pick_by_key_are_given_one() -> None:
    found = asked("smooth_wrr", "ring_hash", keys="uuid")
    assert [each.hash_key is not None for each in found.requests] == [False, True]


def test_policies_that_run_at_the_same_time_share_the_load() -> None:
    found = asked("random", "p2c", order="parallel", amount=AmountFlags(concurrency=9))
    assert [each.plan.concurrency for each in found.requests] == [4, 4]
    plan = shared(Plan(10, None, 1.0, 1.0, schedule=steady(100.0)), 4)
    assert plan.schedule is not None
    assert (plan.schedule.rps, plan.concurrency) == (25.0, 2)
    with pytest.raises(UsageError, match="-c 2 cannot be shared by 3 policies"):
        shared(Plan(2, 10, None, 1.0), 3)


def test_labels_tell_policies_apart() -> None:
    policies = [
        parse_contender(each) for each in ("random", "least_request", "least_request,choice_count=3", "least_request")
    ]
    assert [each.label for each in contenders_of(policies)] == [
        "random",
        "least_request",
        "least_request,choice-count=3",
        "least_request #2",
    ]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("echo",), "compare needs two policies or more", "name each: --policy smooth_wrr --policy p2c"),
        (("echo", "--policy", "random"), "compare needs two policies or more", "name each"),
        ((), "compare needs a SERVICE", "see what there is: lbctl ls"),
        (("echo", "--policy", "randon", "--policy", "p2c"), "'randon' is not a policy (did you mean random", ""),
        (("echo", "--policy", "random", "--policy", "p2c,x=1"), "'p2c,x=1': ", ""),
        (("echo", "--policy", "random", "--policy", "p2c,a=2,a=3"), "a is given twice", ""),
        (
            ("echo", "--policy", "random", "--policy", "p2c", "--hash-key", "uuid"),
            "--hash-key: none of these policies picks by key",
            "those that do: lbctl policies",
        ),
        (
            ("echo", "--policy", "random", "--policy", "p2c", "--rounds", "1", "--fail-on-regression", "p99>10%"),
            "--fail-on-regression: one round cannot tell a regression from chance",
            "--rounds 3",
        ),
        (("echo", "--policy", "random", "--policy", "p2c", "--order", "x"), "'x' is not one of interleaved", ""),
        (("echo", "-o", "hdr"), "-o: lbctl compare has no output format 'hdr'", "text, json, yaml, jsonl, csv, html"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: tuple[str, ...], message: str, hint: str, lbctl: Lbctl) -> None:
    said = lbctl("compare", *arguments)
    assert said.status == 2
    assert message in said.err
    assert hint in said.err


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        (("--threshold", "p99<5ms"), "--fail-on-regression 'p99<10%' exits with 1"),
        (("--policy-opt", "a=b"), "behind its name: --policy least_request,choice-count=3"),
        (("--baseline", "x.json"), "lbctl report --baseline"),
        (("--find-max", "p99<5ms"), "lbctl hammer has it"),
        (("--metrics", ":0"), "-o jsonl tells of each run"),
        (("--otlp", "http://127.0.0.1:1"), "-o jsonl tells of each run"),
        (("--ci",), "-o json has the sentences"),
        (("--window", "5s"), "lbctl hammer has it"),
        (("--strict",), "lbctl hammer has it"),
        (("--explain",), "lbctl hammer has it"),
        (("--explain-call", "3"), "lbctl hammer has it"),
    ],
)
def test_what_hammer_has_and_compare_does_not_is_refused_with_what_to_do(
    flag: tuple[str, ...], hint: str, lbctl: Lbctl
) -> None:
    said = lbctl("compare", "echo", "--policy", "random", "--policy", "p2c", *flag)
    assert said.status == 2
    assert said.err.startswith(f"error: {flag[0]}: ")
    assert hint in said.err
    assert f"  {flag[0]}" not in lbctl("compare", "--help").out


def test_one_policy_is_compared_with_that_of_the_settings() -> None:
    settings = resolve({}, {"LBCTL_POLICY": "least_request", "LBCTL_POLICY_OPT": "choice-count=3"}, {})
    found = comparison_of(
        "echo", None, ContestFlags(policy=[parse_contender("p2c")]), Asked(LoadFlags(), RequestFlags()), settings, {}
    )
    assert [(each.label, each.policy) for each in found.contenders] == [
        ("least_request", "least_request"), ("p2c", "p2c")
    ]  # fmt: skip
    assert dict(found.contenders[0].options) == {"choice-count": "3"}
    assert found.notes == ("the baseline is least_request, by LBCTL_POLICY",)


def test_a_run_that_was_too_bad_ends_the_comparison_and_its_status_is_forgiven_on_demand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = Outcome("errors>10", ok=False, value=11.0, unit="", limit=10.0, backend="10.0.0.1:1")
    compared = Compared(contest_sample(9, going=()), None, Aborted(outcome, "round 3 of random"))
    with pytest.raises(Aborted, match=r"--abort-on errors>10: 11 at 10\.0\.0\.1:1 in round 3 of random"):
        sink().end(compared, ())
    assert "Stopped by --abort-on errors>10 after 01:12 (9 of 12 runs)" in capsys.readouterr().out
    assert sink().end(compared, (), forgive=True) == 0
    assert capsys.readouterr().err == "warning: --abort-on errors>10: 11 at 10.0.0.1:1 in round 3 of random\n"
    assert sink().end(Compared(contest_sample(12), None), parse_limits("p99>10%"), forgive=True) == 0
    assert capsys.readouterr().err.startswith("warning: p99 of consistent_hash is ")


def sink() -> ComparisonSink:
    return ComparisonSink(SETTINGS, caps_of(SETTINGS), ScreenFlags(), "echo")


def test_a_policy_that_is_worse_than_it_may_be_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    compared = Compared(contest_sample(12), None)
    with pytest.raises(Regressed, match=r"p99 of consistent_hash is 8\.4ms, \+29\.9% .* against 6\.5ms of smooth_wrr"):
        sink().end(compared, parse_limits("p99>10%"))
    assert "consistent_hash against smooth_wrr" in capsys.readouterr().out
    assert sink().end(compared, parse_limits("p99>50%,rps")) == 0


def test_a_signal_keeps_its_status_and_what_is_complete_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert sink().end(Compared(contest_sample(9, going=()), 2), parse_limits("p99>10%")) == 130
    said = capsys.readouterr()
    assert "Stopped by Ctrl-C after 01:12 (9 of 12 runs)" in said.out
    assert "warning: p99 of consistent_hash" in said.err


def test_what_ended_it_early_is_raised_after_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CannotCall, match="nobody"):
        sink().end(Compared(contest_sample(9, going=()), None, CannotCall("nobody")), ())
    assert "Stopped by an error" in capsys.readouterr().out


def test_runs_of_which_none_counts_are_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    contest = contest_sample(12)
    trials = tuple(replace(each, skipped=True) for each in contest.trials)
    with pytest.raises(CannotCall, match="no run came to its end"):
        sink().end(Compared(replace(contest, trials=trials), None), ())
    assert "12 of 12 runs did not come to their end" in capsys.readouterr().out


def test_a_backend_far_slower_than_the_others_is_told() -> None:
    report = sample(3)
    assert slow_backend(report) == ""
    slow = replace(report.backends[0], latency=report.backends[0].latency.copy())
    for _ in range(slow.latency.total):
        slow.latency.record(900_000)
    found = slow_backend(replace(report, backends=(slow, *report.backends[1:])))
    assert found.startswith("10.0.0.11:50051 slow: p99 899ms, ")
    assert found.endswith("x the median backend")


def test_the_orders_of_the_option_are_those_of_rounds() -> None:
    from lbctl.cli.compare_options import ORDERS
    from lbctl.stats import rounds

    assert ORDERS == rounds.ORDERS
