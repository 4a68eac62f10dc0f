"""What flags and a service config mean for the calls of one method."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lbctl.balance.guards.health import HealthOptions
from lbctl.balance.guards.outlier import OutlierOptions
from lbctl.balance.policies.table import ALL_POLICIES, POLICIES
from lbctl.balance.service_config import parse_service_config
from lbctl.balance.service_methods import HedgingPolicy, RetryPolicy
from lbctl.cli import run
from lbctl.cli.guard_options import GuardFlags, guards_of
from lbctl.cli.retry_options import NO_POLICY, RetryFlags, balanced, configured, parse_attempts, parse_budget
from lbctl.cli.service_guards import Guarded, guarded
from lbctl.commands.calling import Calling
from lbctl.commands.repeating import Configured
from lbctl.errors import UsageError
from lbctl.load.plan import Plan
from lbctl.load.throttle import Allowance
from lbctl.model import Code
from lbctl.wire.request import Stream

MS = 1_000_000
RETRY = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE", "ABORTED"],
}
METHODS = [
    {"name": [{"service": "p.S", "method": "M"}], "timeout": "3s", "retryPolicy": RETRY},
    {"name": [{"service": "p.S", "method": "H"}], "hedgingPolicy": {"maxAttempts": 3, "hedgingDelay": "0.02s"}},
]
UNAVAILABLE = frozenset({Code.UNAVAILABLE})
PLAN = Plan(1, 10, None, 20.0)


def of(methods: Any = METHODS, **flags: Any) -> Configured:  # noqa: ANN401
    parts = {"methodConfig": methods, "retryThrottling": {"maxTokens": 8, "tokenRatio": 0.5}}
    return Configured(parse_service_config(json.dumps(parts)), **flags)


def test_a_method_has_the_policy_that_its_config_gives_it() -> None:
    found = of().repeating("p.S/M")
    assert found.retry == RetryPolicy(4, 100 * MS, 1000 * MS, 2.0, frozenset({Code.UNAVAILABLE, Code.ABORTED}))
    assert (found.hedging, found.budget) == (None, None)
    assert found.throttling is not None
    assert found.throttling.max_tokens == 8000
    assert of().repeating("p.S/H").hedging == HedgingPolicy(3, 20 * MS, frozenset())
    assert of().repeating("p.S/Other").retry is None


def test_flags_count_before_the_config_and_say_so() -> None:
    wanted = of(attempts=2)
    assert wanted.repeating("p.S/M").retry == RetryPolicy(2, 100 * MS, 1000 * MS, 2.0, UNAVAILABLE)
    assert "--max-attempts counts, not the retryPolicy of the service config" in list(wanted.notes("p.S/M"))
    hedged = of(hedge_s=0.05, attempts=3).repeating("p.S/M")
    assert (hedged.retry, hedged.hedging) == (None, HedgingPolicy(3, 50 * MS, UNAVAILABLE))
    assert of(hedge_s=0.0).repeating("p.S/M").hedging == HedgingPolicy(2, 0, UNAVAILABLE)


def test_what_is_too_large_to_be_sent_again_is_said() -> None:
    told = "sends more than the 256 KiB that gRPC clients keep of a call: it is not"
    assert f"p.S/M {told} retried beyond that" in list(of().notes("p.S/M", outgrows=True))
    assert f"p.S/H {told} hedged beyond that" in list(of().notes("p.S/H", outgrows=True))
    assert not any(told in note for note in of().notes("p.S/Other", outgrows=True))


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (None, False),
        (Stream(client=True, server=True, messages=(b"m" * 5, b"m" * 15), count=6), False),
        (Stream(client=True, server=True, messages=(b"m" * 5, b"m" * 15), count=7), True),
        (Stream(client=True, server=True, messages=(b"m" * 5,), count=0), True),
        (Stream(client=True, server=True, messages=(b"m" * 5,), count=0, interval_ns=10, duration_ns=80), False),
        (Stream(client=True, server=True, messages=(b"m" * 5,), count=0, interval_ns=10, duration_ns=90), True),
        (Stream(client=True, server=True, messages=(), count=0), False),
    ],
)
def test_what_a_call_sends_is_compared_with_what_is_kept_of_it(stream: Stream | None, expected: bool) -> None:
    assert Calling("p.S/M", b"", stream).outgrows(95) is expected
    assert [Calling("p.S/M", b"m" * size).outgrows(95) for size in (90, 91)] == [False, True]


@pytest.mark.parametrize(
    ("plan_s", "given", "expected_s"), [(20.0, False, 3.0), (1.0, False, 3.0), (1.0, True, 1.0), (9.0, True, 3.0)]
)
def test_the_deadline_is_the_configs_or_the_shorter_one_if_it_was_typed(
    plan_s: float, given: bool, expected_s: float
) -> None:
    plan = Plan(1, 10, None, plan_s)
    assert of(timeout_given=given).plan(plan, "p.S/M").timeout_s == expected_s


def test_no_deadline_that_was_typed_is_longer_than_any() -> None:
    assert of(timeout_given=True).plan(Plan(1, 10, None, 0.0), "p.S/M").timeout_s == 3.0
    assert of().plan(PLAN, "p.S/Other") is PLAN


def test_what_has_no_effect_is_said() -> None:
    notes = list(of(budget=Allowance()).notes("p.S/Other"))
    assert "service config: no methodConfig is for p.S/Other" in notes
    assert "--retry-budget has no effect: nothing is retried by a policy" in notes
    assert "service config: retryThrottling has no effect: there is no retryPolicy for p.S/Other" in notes
    assert list(Configured().notes("p.S/M")) == []
    assert list(of().notes("p.S/M")) == list(of().config.notes)


# ---- the policy ------------------------------------------------------------------------------------------------------

CHOICE = parse_service_config(json.dumps({"loadBalancingConfig": [{"ring_hash_experimental": {"minRingSize": 8}}]}))


def test_the_config_sets_the_policy_unless_the_flag_does() -> None:
    found = balanced(CHOICE, None, "smooth_wrr")
    assert found.policy is not None
    assert (found.policy.name, dict(found.policy.stated)) == ("ring_hash", {"min-ring-size": "8"})
    assert found.notes == (
        "policy ring_hash (ring_hash_experimental) by the service config, not smooth_wrr of the settings",
    )
    flag = balanced(CHOICE, POLICIES["random"], None)
    assert flag.policy is POLICIES["random"]
    assert flag.notes == ("--policy random counts, not ring_hash_experimental of the config",)
    assert balanced(CHOICE, POLICIES["ring_hash"], None).notes == ()
    assert balanced(parse_service_config("{}"), None, "random").policy is None


def test_who_names_no_policy_is_told_what_grpc_makes_of_it() -> None:
    config = parse_service_config(json.dumps({"methodConfig": METHODS}))
    for given in (None, POLICIES["random"]):
        assert balanced(config, given, None).notes == (NO_POLICY,)
    assert balanced(config, POLICIES["pick_first"], None).notes == ()
    assert balanced(parse_service_config("{}"), None, None).notes == ()


def test_an_empty_config_is_told() -> None:
    with pytest.raises(UsageError, match="--service-config is empty"):
        configured(RetryFlags(service_config=[" "]), timeout_given=False)


# ---- what is typed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20%", Allowance(0.2, 10.0, 10.0)),
        ("0,5/s", Allowance(0.0, 5.0, 10.0)),
        ("1.5%,30/m,2s", Allowance(0.015, 0.5, 2.0)),
        ("100%,0,1m", Allowance(1.0, 0.0, 60.0)),
    ],
)
def test_budgets_as_people_type_them(text: str, expected: Allowance) -> None:
    assert parse_budget(text) == expected


@pytest.mark.parametrize("text", ["", "20", "120%", "20%,x", "20%,1,0s", "20%,1,1s,1"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_budget(text)


@pytest.mark.parametrize("text", ["1", "6", "0", "two"])
def test_attempts_are_from_two_to_five(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_attempts(text)
    assert parse_attempts("2") == 2


def test_a_config_is_json_or_a_file_of_it(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("\ufeff" + json.dumps({"methodConfig": METHODS}), encoding="utf-8")
    typed = RetryFlags(service_config=[json.dumps({"methodConfig": METHODS})])
    named = RetryFlags(service_config=[str(file)])
    assert configured(typed, timeout_given=False) == configured(named, timeout_given=False)
    assert configured(RetryFlags(), timeout_given=True) == Configured(timeout_given=True)
    with pytest.raises(UsageError, match="cannot read nowhere: no such file"):
        configured(RetryFlags(service_config=["nowhere"]), timeout_given=False)
    file.write_bytes(b"{\xff}")
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        configured(named, timeout_given=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--max-attempts", "1"],
            "Invalid value for '--max-attempts': '1' is not from 2 to 5; the first attempt counts",
        ),
        (["--hedge", "-1s"], "Invalid value for '--hedge': '-1s': a duration cannot be negative"),
        (["--retry-budget", "20"], "Invalid value for '--retry-budget': '20': write 20% for per cent"),
        (["--service-config", "{}{}"], "service config: these are several configs, and there is one"),
        (["--service-config", "[]"], "service config: these are several configs, and there is one"),
        (["--service-config", "{}", "--service-config", "{}"], "--service-config was given 2 times"),
        (["--service-config", "nowhere"], "--service-config: cannot read nowhere: no such file or directory"),
        (
            ["--service-config", '{"methodConfig": [{"retryPolicy": {"maxAttempts": 1}}]}'],
            "service config: methodConfig[0].retryPolicy.maxAttempts: 1 is not above 1",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run(["hammer", "echo", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")


# ---- around the policy -----------------------------------------------------------------------------------------------


def around(flags: GuardFlags, policy: str = "round_robin", *, balanced: bool = True, **parts: Any) -> Guarded:  # noqa: ANN401
    return guarded(flags, parse_service_config(json.dumps(parts)), ALL_POLICIES[policy], balanced=balanced)


OUTLIERS = {
    "interval": "2s",
    "maxEjectionPercent": 40,
    "failurePercentageEjection": {"threshold": 50, "minimumHosts": 0, "requestVolume": 7},
    "childPolicy": [{"random_subsetting_experimental": {"subsetSize": 4, "childPolicy": [{"round_robin": {}}]}}],
}
WRAPPED = [{"outlier_detection_experimental": OUTLIERS}]


def test_health_outliers_and_subset_of_a_config_are_put_around_the_policy() -> None:
    found = around(GuardFlags(), loadBalancingConfig=WRAPPED, healthCheckConfig={"serviceName": "shop"})
    plan = guards_of(found.flags, POLICIES["round_robin"])
    assert plan.health == HealthOptions(service="shop")
    assert plan.outlier == OutlierOptions(
        interval=2.0,
        max_ejection_percent=40,
        detect="failure-percentage",
        failure_threshold=50,
        failure_hosts=1,
        failure_volume=7,
    )
    assert plan.selection.subset is not None
    assert (plan.selection.subset.size, plan.selection.subset.kind) == (4, "random")
    assert found.notes == ()


def test_both_tests_for_outliers_are_made_if_both_are_asked_for_and_none_if_none_is() -> None:
    both = {"successRateEjection": {"stdevFactor": 500}, "failurePercentageEjection": {}}
    wrapped = [{"outlier_detection_experimental": {**both, "childPolicy": [{"round_robin": {}}]}}]
    plan = guards_of(around(GuardFlags(), loadBalancingConfig=wrapped).flags, POLICIES["round_robin"])
    assert plan.outlier == OutlierOptions(stdev_factor=500)
    nothing: list[Any] = [{"outlier_detection_experimental": {"childPolicy": [{"round_robin": {}}]}}]
    assert around(GuardFlags(), loadBalancingConfig=nothing).flags == GuardFlags()


def test_a_flag_counts_and_what_is_around_another_policy_does_not() -> None:
    flags = GuardFlags(health_check="interval=1s", subset="2")
    found = around(flags, loadBalancingConfig=WRAPPED, healthCheckConfig={})
    assert (found.flags.health_check, found.flags.subset) == ("interval=1s", "2")
    assert found.notes == (
        "--health-check counts, not healthCheckConfig of the service config",
        "--subset counts, not random_subsetting_experimental of the service config",
    )
    assert around(GuardFlags(), balanced=False, loadBalancingConfig=WRAPPED).flags == GuardFlags()
    assert around(GuardFlags(), balanced=False, healthCheckConfig={}).flags.health_check == "on"


def test_nothing_is_put_around_grpcs_own_balancers_and_that_is_said() -> None:
    found = around(GuardFlags(), "grpc:round_robin", balanced=False, healthCheckConfig={})
    assert found.flags == GuardFlags()
    assert found.notes == ("service config: healthCheckConfig has no effect: grpc:round_robin picks by itself",)
