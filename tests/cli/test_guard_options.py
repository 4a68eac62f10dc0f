"""The options around the policy: what stands alone, what comes first, and what becomes of it."""

from __future__ import annotations

import pytest

from lbctl.balance.guards.breakers import KratosOptions, MaxRequestsOptions
from lbctl.balance.guards.circuit import CircuitOptions
from lbctl.balance.guards.health import HealthOptions
from lbctl.balance.guards.outlier import OutlierOptions
from lbctl.balance.guards.plan import GuardPlan
from lbctl.balance.policies.table import ALL_POLICIES
from lbctl.balance.selection import Mode, Selection, ZoneOptions
from lbctl.balance.subset import SubsetOptions
from lbctl.cli.flags import completed
from lbctl.cli.guard_options import GuardFlags, guards_of, parse_threshold
from lbctl.errors import UsageError

POLICY = ALL_POLICIES["round_robin"]
ALONE = {"--health-check": ["K=V,..."], "--outlier-detection": ["K=V,..."], "--ci": ["github", "junit=FILE", "auto"]}


@pytest.mark.parametrize(("typed", "whole"), [
    ("--health-check", "--health-check on"),
    ("--health-check echo", "--health-check on echo"),
    ("--health-check -n 5", "--health-check on -n 5"),
    ("--health-check on echo", "--health-check on echo"),
    ("--health-check mode=check echo", "--health-check mode=check echo"),
    ("--health-check=mode=check echo", "--health-check=mode=check echo"),
    ("--health-check --outlier-detection echo", "--health-check on --outlier-detection on echo"),
    ("echo -- --health-check", "echo -- --health-check"),
    ("--zone eu", "--zone eu"),
    ("--ci", "--ci on"),
    ("--ci github echo", "--ci github echo"),
    ("--ci junit=a.xml echo", "--ci junit=a.xml echo"),
    ("--ci echo", "--ci on echo"),
    ("--ci -- lbctl", "--ci on -- lbctl"),
    ("", ""),
])  # fmt: skip
def test_an_option_that_stands_alone_is_completed(typed: str, whole: str) -> None:
    assert completed(typed.split(), ALONE) == whole.split()


@pytest.mark.parametrize(("flag", "typed", "hint"), [
    ("breaker", ["foo"], "for example --breaker consecutive,failures=3"),
    ("breaker", ["consecutiv"], "did you mean consecutive?"),
    ("breaker", ["sre", "sre,k=3"], "one of each kind, with all its options"),
    ("breaker", ["sre,k=3,k=4"], "each option has one value"),
    ("breaker", ["consecutive,codes=FOO"], "codes is "),
    ("outlier_detection", "detect=none", "detect is which test is made; both unless given"),
    ("outlier_detection", "interval", "for example --outlier-detection interval=5s,name=value"),
    ("slow_start", "window=foo", "window is "),
    ("subset", "0", "size is backends this client uses (aperture: at least that many); 10 unless given"),
    ("health_check", "mode=foo", "mode is "),
    ("zone", "key=a", "for example --zone eu-1,key=az"),
])  # fmt: skip
def test_a_mistake_comes_with_a_hint(flag: str, typed: object, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        guards_of(GuardFlags(**{flag: typed}), POLICY)  # type: ignore[arg-type]
    assert raised.value.hint is not None
    assert raised.value.hint.startswith(hint)


def test_nothing_is_around_a_policy_unless_it_was_asked_for() -> None:
    assert guards_of(GuardFlags(), POLICY).is_empty
    assert guards_of(GuardFlags(), POLICY).stated == {}


def test_everything_at_once() -> None:
    flags = GuardFlags(
        health_check="on",
        outlier_detection="interval=5s",
        breaker=["consecutive,failures=3", "kratos", "max-requests,limit=7"],
        when_all_out="fail",
        panic_threshold=50.0,
        slow_start="dialect=haproxy",
        subset="3,kind=deterministic",
        zone="eu-1,key=az",
    )
    plan = guards_of(flags, POLICY)
    assert plan.health == HealthOptions()
    assert plan.outlier == OutlierOptions(interval=5.0)
    assert plan.circuit == CircuitOptions(failures=3)
    assert plan.breakers == {"kratos": KratosOptions(), "max-requests": MaxRequestsOptions(limit=7)}
    assert plan.selection == Selection(
        SubsetOptions(3, "deterministic"), ZoneOptions("eu-1", "az"), 50.0, when_all_out=Mode.FAIL
    )
    assert plan.stated == {
        "health-check": {},
        "outlier-detection": {"interval": "5s"},
        "breaker consecutive": {"failures": "3"},
        "breaker kratos": {},
        "breaker max-requests": {"limit": "7"},
        "slow-start": {"dialect": "haproxy"},
        "subset": {"size": "3", "kind": "deterministic"},
        "zone": {"name": "eu-1", "key": "az"},
        "panic-threshold": {"percent": "50"},
        "when-all-out": {"do": "fail"},
    }


def test_the_settings_may_ask_for_health_checks_and_the_flag_has_the_last_word() -> None:
    assert guards_of(GuardFlags(), POLICY, "mode=check,interval=1s").health == HealthOptions(mode="check", interval=1.0)
    assert guards_of(GuardFlags(health_check="on"), POLICY, "mode=check").health == HealthOptions()
    assert guards_of(GuardFlags(), ALL_POLICIES["grpc:round_robin"], "mode=check") == GuardPlan()


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("50", 50), ("50%", 50), ("12.5%", 12.5), ("100", 100)])
def test_a_threshold_is_a_percentage(text: str, value: float) -> None:
    assert parse_threshold(text) == value


@pytest.mark.parametrize("text", ["", "%", "-1", "101", "nan", "half"])
def test_what_is_no_percentage_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a percentage from 0 to 100"):
        parse_threshold(text)
