"""Profiles of settings files: chosen by an option or a variable, and stronger than the rest of the files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lbctl.cli.config import read_config
from lbctl.discovery.weight_limits import WeightLimits
from lbctl.errors import UsageError
from tests.cli.config_files import SEED, settings, write

PROFILES = """\
prefix: /plain/
policy: weighted_random
policy_opt: seq=unit
profile:
  staging: {etcd: {endpoints: "10.1.0.1:2379"}, prefix: /staging/}
  two: {policy: random}
  empty:
"""


@pytest.mark.parametrize(
    ("flags", "environ", "prefix", "policy"),
    [
        ({}, {}, "/plain/", "weighted_random"),
        ({"profile": "staging"}, {}, "/staging/", "weighted_random"),
        ({}, {"LBCTL_PROFILE": "staging"}, "/staging/", "weighted_random"),
        ({"profile": "two"}, {"LBCTL_PROFILE": "staging"}, "/plain/", "random"),
        ({"profile": "empty"}, {}, "/plain/", "weighted_random"),
        ({"profile": "staging", "prefix": "/typed/"}, {}, "/typed/", "weighted_random"),
        ({"profile": "staging"}, {"LBCTL_PREFIX": "/variable/"}, "/variable/", "weighted_random"),
    ],
)
def test_a_chosen_profile_beats_the_rest_of_the_file_and_nothing_else(
    tmp_path: Path, flags: dict[str, str], environ: dict[str, str], prefix: str, policy: str
) -> None:
    found = settings(PROFILES, tmp_path, flags, **environ)
    assert (found.prefix, found.policy) == (prefix, policy)
    assert (found.policy_opt is None) == (policy == "random")  # options are of the policy they were written for


def test_a_profile_beats_what_any_other_file_says_and_is_told_as_the_origin(tmp_path: Path) -> None:
    write(tmp_path / "xdg/lbctl/config.yaml", "profile: {one: {prefix: /home/, policy: random}}")
    found = settings("prefix: /here/\nprofile: {one: {policy: p2c}}", tmp_path, {"profile": "one"})
    assert (found.prefix, found.policy) == ("/home/", "p2c")
    assert found.origins["policy"] == f"{tmp_path}/lbctl.yaml: profile.one: policy"
    with pytest.raises(UsageError) as refused:
        settings("profile: {one: {ascii: maybe}}", tmp_path, {"profile": "one"})
    assert str(refused.value) == f"{tmp_path}/lbctl.yaml: profile.one: ascii: 'maybe' is not true or false"


def test_a_balancer_document_may_stand_in_a_profile(tmp_path: Path) -> None:
    nested = yaml.safe_dump({"profile": {"seed": yaml.safe_load(SEED)}})
    assert settings(nested, tmp_path, {"profile": "seed"}).limits == WeightLimits(1, 10, 5)
    assert settings(nested, tmp_path).limits == WeightLimits()


@pytest.mark.parametrize(
    ("text", "flags", "environ", "message", "hint"),
    [
        (
            PROFILES,
            {"profile": "stagin"},
            {},
            "--profile: no settings file has a profile 'stagin'",
            "did you mean staging?",
        ),
        (
            PROFILES,
            {},
            {"LBCTL_PROFILE": "zzz"},
            "LBCTL_PROFILE: no settings file has a profile 'zzz'",
            "there are: staging, two, empty",
        ),
        (
            "",
            {"profile": "one"},
            {},
            "--profile: no settings file has a profile 'one'",
            "write one under profile: profile: {one: {...}}",
        ),
        ("profile: one", {}, {}, "DIR/lbctl.yaml: profile: expected names with keys under them, not a str", ""),
        ("profile: {one: 1}", {}, {}, "DIR/lbctl.yaml: profile.one: expected keys under it, not a int", ""),
        (
            "profile: {one: {polcy: random}}",
            {},
            {},
            "DIR/lbctl.yaml: profile.one: unknown key 'polcy'",
            "did you mean policy?",
        ),
    ],
)
def test_a_profile_that_is_not_there_or_wrong_is_refused(
    text: str, flags: dict[str, str], environ: dict[str, str], message: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        settings(text, tmp_path, flags, **environ)
    assert (str(refused.value).replace(str(tmp_path), "DIR"), refused.value.hint) == (message, hint)


def test_a_profile_without_any_settings_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read_config({"profile": "one"}, {"XDG_CONFIG_HOME": str(tmp_path)}, tmp_path)
    assert refused.value.hint == "there is no settings file; write ./lbctl.yaml, or name one with --config FILE"
