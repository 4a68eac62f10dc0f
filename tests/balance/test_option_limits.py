"""Every option of every policy at its limits and beyond: refused as it is typed, or a picker that does its work."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import Field, fields
from random import Random
from typing import Any

import pytest

from lbctl.balance.keys import parse_source
from lbctl.balance.policies.base import Call, Learning, Policy, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.errors import UsageError
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, fleet

ALL = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
PICKS = 400
LOST = Reply(Code.UNAVAILABLE)
UNBOUNDED = [("bounded_load", "factor")]  # inf is no bound
DURATIONS = ("0", ".001us", "1us", "8760h", "8761h", "9" * 400 + "s", "0.0000000001s")
REALS = ("1e-300", "1", "1e12", "1e308", "inf", "-inf", "nan")
WHOLES = ("0", "1", "9" * 18, "9" * 30, "9" * 5000, "-1")


def numeric(policy: Policy) -> list[Field[Any]]:
    return [each for each in fields(policy.options) if not isinstance(each.default, bool | str)]


def extremes(option: Field[Any]) -> Iterator[str]:
    about = option.metadata["about"]
    if about.unit == "duration":
        yield from DURATIONS
        return
    yield from WHOLES if isinstance(option.default, int) else REALS
    for limit in (about.least, about.most, about.above):
        if math.isfinite(limit):
            yield from (f"{limit}", f"{limit - 1}", f"{limit + 1}")


def settings(policy: Policy) -> Iterator[dict[str, str]]:
    """The defaults, and each other choice that an option leaves."""
    yield {}
    for option in fields(policy.options):
        about = option.metadata["about"]
        choices = about.choices or (("true", "false") if isinstance(option.default, bool) else ())
        yield from ({option.name: choice} for choice in choices)


def drive(policy: Policy) -> None:
    peers, keys = fleet([5, 1, 1]), parse_source("uniform(50)").keys(Random(1)) if policy.keyed else None
    picker, rng = policy.build(peers, Setup(Random(2), policy.options, keys)), Random(3)
    learn = picker.ended if isinstance(picker, Learning) else None
    assert math.isclose(sum(picker.law().shares), 1.0)
    now_ns, flying = 10**12, []
    for _ in range(PICKS):
        now_ns += rng.choice((0, 10**5, 10**7, 10**9))
        peer = picker.pick(Call(now_ns, b"" if keys is None else next(keys)))
        assert peer in peers
        peer.picks += 1
        flying.append((now_ns, peer))
        if len(flying) > 6:
            begun_ns, ended = flying.pop(rng.randrange(len(flying)))
            ended.finished += 1
            if learn:
                learn(ended, begun_ns, now_ns, rng.choice((OK, LOST)))
    picker.retire()


def tried(policy: Policy, setting: dict[str, str]) -> int:
    """How many extreme values the policy takes; all that it takes work."""
    taken = 0
    for option in numeric(policy):
        for text in extremes(option):
            try:
                found = policy.with_options({**setting, option.name: text})
            except UsageError:
                continue
            drive(found)
            taken += 1
    return taken


@ALL
def test_numbers_have_limits_on_either_side(policy: Policy) -> None:
    for option in numeric(policy):
        about = option.metadata["about"]
        assert max(about.least, about.above) > -math.inf
        if about.unit != "duration" and (policy.name, option.name) not in UNBOUNDED:
            assert about.most < math.inf, option.name


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(each, marks=[pytest.mark.slow] * (each.name == "maglev"), id=each.name)
        for each in POLICIES.values()
    ],
)  # five million slots take seconds
def test_extreme_values_are_refused_or_work(policy: Policy) -> None:
    assert bool(tried(policy, {})) == bool(numeric(policy))


@pytest.mark.slow
@ALL
def test_extreme_values_are_refused_or_work_whatever_else_is_set(policy: Policy) -> None:
    for setting in settings(policy):
        tried(policy, setting)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("9" * 400 + "s", "longer than a year"),
        ("8760.1h", "longer than a year"),
        ("0.0000000001s", "shorter than a nanosecond"),
        ("0s", "out of range"),
    ],
)
def test_a_duration_is_none_at_all_or_from_a_nanosecond_to_a_year(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        POLICIES["p2c_ewma"].with_options({"decay": text})
    assert POLICIES["p2c_ewma"].with_options({"decay": "8760h"}).options.decay == 365 * 86400
    assert POLICIES["p2c_ewma"].with_options({"decay": ".001us"}).options.decay == 1e-9
    assert POLICIES["p2c_ewma"].with_options({"failure-penalty": "0"}).options.failure_penalty == 0.0


def test_a_whole_number_is_one_that_64_bits_hold() -> None:
    with pytest.raises(UsageError, match="seed=9223372036854775808 has more than 64 bits"):
        POLICIES["aperture"].with_options({"seed": f"{1 << 63}"})


@pytest.mark.parametrize("probe", ["ring", "envoy"])
def test_a_bound_on_load_is_a_sensible_multiple_or_none(probe: str) -> None:
    with pytest.raises(UsageError, match=r"factor=1e\+308 is above 1000000; inf is no bound"):
        POLICIES["bounded_load"].with_options({"factor": "1e308", "probe": probe})
    for factor in ("1", "1000000", "inf"):
        drive(POLICIES["bounded_load"].with_options({"factor": factor, "probe": probe}))
