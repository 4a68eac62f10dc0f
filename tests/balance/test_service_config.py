"""gRPC's service config: what is taken of it, what is only noted, and what rejects the whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lbctl.balance.policies.table import POLICIES
from lbctl.balance.service_config import ServiceConfig, Throttling, one, parse_service_config
from lbctl.balance.service_methods import MethodConfig, RetryPolicy
from lbctl.errors import UsageError
from lbctl.model import Code
from tests.balance.service_configs import MS, RETRY, parsed, refusal

# ---- the whole -------------------------------------------------------------------------------------------------------


def test_the_config_of_the_tutorial_is_taken_whole() -> None:
    config = parse_service_config("""{
        "loadBalancingConfig": [{"weighted_random":{}}],
        "methodConfig": [
            {
                "name": [{"service": "yourpackage.YourService"}],
                "timeout": "10s",
                "retryPolicy": {
                    "maxAttempts": 3,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "1s",
                    "backoffMultiplier": 2.0,
                    "retryableStatusCodes": ["UNAVAILABLE", "DEADLINE_EXCEEDED"]
                }
            }
        ]
    }""")
    assert config.balancing is not None
    assert (config.balancing.policy, config.balancing.options) == ("weighted_random", {})
    method = config.method("yourpackage.YourService/Say")
    codes = frozenset({Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED})
    assert method == MethodConfig(10_000 * MS, None, RetryPolicy(3, 100 * MS, 1000 * MS, 2.0, codes))
    assert config.method("other.Service/Say") == MethodConfig()
    (note,) = config.notes
    assert "the deadline spans all attempts" in note


@pytest.mark.parametrize("text", ["{}", '{"methodConfig": null, "retryThrottling": null}', ' {"methodConfig": []} '])
def test_what_is_not_there_is_not_stated(text: str) -> None:
    assert parse_service_config(text) == ServiceConfig()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON: expecting value at line 1, column 1"),
        ("methodConfig: []", "not JSON"),
        ('{"methodConfig": [}', "not JSON: expecting value at line 1, column 19"),
        ("7", "7 is not an object"),
        ('{"retryThrottling": {"maxTokens": NaN, "tokenRatio": 1}}', "NaN is not JSON"),
        ("{} nonsense", "something behind it"),
        ('{"methodConfig": ' + "[" * 100_000, "nested too deeply"),
        ('{"x": ' + "1" * 10_000 + "}", "too long"),
    ],
)
def test_what_is_no_json_object_is_told(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("[", r"\[")):
        parse_service_config(text)


@pytest.mark.parametrize("text", ['[{"a": 1}, {"b": 2}]', '{"a": 1}\n{"b": 2}', '{"a": 1}, {"b": 2}'])
def test_two_configs_in_one_text_are_explained(text: str) -> None:
    with pytest.raises(UsageError, match="several configs") as caught:
        parse_service_config(text)
    assert "a second WithDefaultServiceConfig replaces the first" in caught.value.hint
    assert "one JSON object" in caught.value.hint


def test_a_second_config_is_explained() -> None:
    assert one(["{}"]) == "{}"
    with pytest.raises(UsageError, match="given 2 times") as caught:
        one(['{"methodConfig": []}', '{"loadBalancingConfig": [{"round_robin": {}}]}'])
    assert "replaces the first" in caught.value.hint


def test_unknown_keys_are_passed_over_and_noted_with_their_path() -> None:
    config = parsed({"methodConfig": [{"name": [{"service": "a", "x": 1}], "retryPollicy": RETRY}], "loadBalancer": 1})
    assert config.method("a/b") == MethodConfig()
    assert config.notes == tuple(
        f"service config: {path} is not known, and passed over as gRPC does"
        for path in ("methodConfig[0].retryPollicy", "methodConfig[0].name[0].x", "loadBalancer")
    )


def test_a_key_that_is_there_twice_is_noted() -> None:
    config = parse_service_config('{"methodConfig": [{"name": [{}], "timeout": "1s"}], "methodConfig": []}')
    assert not config.methods
    assert config.notes == ("service config: methodConfig is there twice in one object: the last one counts",)


# ---- retryThrottling, healthCheckConfig ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "ratio", "taken"),
    [
        (10, 0.1, Throttling(10_000, 100)),
        (1000, 1, Throttling(1_000_000, 1000)),
        (0.5, 0.001, Throttling(500, 1)),
        (3, 0.5466, Throttling(3000, 546)),  # decimals beyond the third do not count
        (3, 0.29, Throttling(3000, 290)),  # and binary fractions do not take one away
    ],
)
def test_throttling_is_kept_in_thousandths(tokens: float, ratio: float, taken: Throttling) -> None:
    assert parsed({"retryThrottling": {"maxTokens": tokens, "tokenRatio": ratio}}).throttling == taken


@pytest.mark.parametrize(
    ("throttling", "said"),
    [
        ({"maxTokens": 0, "tokenRatio": 0.1}, "retryThrottling.maxTokens: 0 is not above 0"),
        ({"maxTokens": 1000.5, "tokenRatio": 0.1}, "retryThrottling.maxTokens: 1000.5 is above 1000"),
        ({"maxTokens": 10, "tokenRatio": 0}, "retryThrottling.tokenRatio: 0 is not above 0"),
        ({"maxTokens": 10, "tokenRatio": -0.1}, "retryThrottling.tokenRatio: -0.1 is not above 0"),
        ({"maxTokens": 10, "tokenRatio": 0.0009}, "retryThrottling.tokenRatio: 0.0009 is nothing"),
        ({"maxTokens": 10}, "retryThrottling: tokenRatio is missing"),
        ({"tokenRatio": 1}, "retryThrottling: maxTokens is missing"),
        ({"maxTokens": "10", "tokenRatio": 1}, "retryThrottling.maxTokens"),
    ],
)
def test_bad_throttling_rejects_the_config(throttling: dict[str, Any], said: str) -> None:
    assert said in refusal({"retryThrottling": throttling})


@pytest.mark.parametrize(("given_", "taken"), [({"serviceName": "shop"}, "shop"), ({"serviceName": ""}, ""), ({}, "")])
def test_health_checking_names_a_service_or_the_whole_server(given_: dict[str, str], taken: str) -> None:
    assert parsed({"healthCheckConfig": given_}).health_check == {"service_name": taken}


# ---- loadBalancingConfig ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_policy_goes_by_its_own_name(name: str) -> None:
    balancing = parsed({"loadBalancingConfig": [{name: {}}]}).balancing
    assert balancing is not None
    assert (balancing.policy, balancing.options) == (name, {})


def test_the_first_known_policy_counts_and_the_others_are_noted() -> None:
    config = parsed(
        {"loadBalancingConfig": [{"xds_wrr_locality_experimental": {}}, {"round_robin": {}}, {"random": {}}]}
    )
    assert config.balancing is not None
    assert config.balancing.policy == "round_robin"
    assert "xds_wrr_locality_experimental is not known, the next one counts" in config.notes[0]


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        (
            [{"weightedroundrobin": {}}],
            'no policy of "weightedroundrobin" is known, did you mean weighted_round_robin?',
        ),
        ([], "no policy of the empty list is known"),
        ([{}], "loadBalancingConfig[0]: an object with one policy is wanted, this has 0"),
        ([{"round_robin": {}, "random": {}}], "loadBalancingConfig[0]: an object with one policy is wanted"),
        ([{"round_robin": []}], "loadBalancingConfig[0].round_robin: [] is not an object"),
        ("round_robin", 'loadBalancingConfig: "round_robin" is not a list'),
        ([{"outlier_detection_experimental": {}}], "outlier_detection_experimental: childPolicy is missing"),
    ],
)
def test_balancing_that_cannot_be_rejects_the_config(configs: object, said: str) -> None:
    assert said in refusal({"loadBalancingConfig": configs})


def test_the_older_field_counts_where_the_newer_is_missing() -> None:
    old = parsed({"loadBalancingPolicy": "ROUND_ROBIN"}).balancing
    assert old is not None
    assert old.policy == "round_robin"
    both = parsed({"loadBalancingPolicy": "pick_first", "loadBalancingConfig": [{"round_robin": {}}]})
    assert both.balancing is not None
    assert both.balancing.policy == "round_robin"
    assert "deprecated" in both.notes[0]
    assert "is no policy" in refusal({"loadBalancingPolicy": "grpclb"})


@pytest.mark.parametrize(
    ("config", "policy", "options"),
    [
        ({"pick_first": {"shuffleAddressList": True}}, "pick_first", {"shuffle": "uniform"}),
        ({"pick_first": {"shuffleAddressList": False}}, "pick_first", {"shuffle": "no"}),
        (
            {"ring_hash_experimental": {"minRingSize": 5000, "maxRingSize": 8000}},
            "ring_hash",
            {"min-ring-size": "5000", "max-ring-size": "8000"},
        ),
        ({"least_request_experimental": {"choiceCount": 3}}, "least_request", {"choice-count": "3"}),
        (
            {"weighted_round_robin": {"enableOobLoadReport": True, "blackoutPeriod": "0.5s"}},
            "weighted_round_robin",
            {"enable-oob-load-report": "true", "blackout-period": "0.5s"},
        ),
        ({"bounded_load": {}}, "bounded_load", {}),
    ],
)
def test_the_fields_of_a_policy_are_its_options(config: Any, policy: str, options: dict[str, str]) -> None:  # noqa: ANN401
    found = parsed({"loadBalancingConfig": [config]})
    assert found.balancing is not None
    assert (found.balancing.policy, found.balancing.options) == (policy, options)
    assert POLICIES[policy].with_options(found.balancing.options).name == policy
    assert not found.notes


def test_a_field_that_no_option_has_is_noted_and_one_that_cannot_be_rejects_the_config() -> None:
    noted = parsed({"loadBalancingConfig": [{"round_robin": {"weight": 3}}]})
    assert noted.notes == (
        "service config: loadBalancingConfig[0].round_robin.weight is not known, and passed over as gRPC does",
    )
    said = refusal({"loadBalancingConfig": [{"ring_hash_experimental": {"minRingSize": 5000}}]})
    assert said.startswith("service config: loadBalancingConfig[0].ring_hash_experimental: ring_hash: ")
    assert "is above" in said
    said = refusal({"loadBalancingConfig": [{"least_request_experimental": {"choiceCount": "two"}}]})
    assert "loadBalancingConfig[0].least_request_experimental: least_request: choice-count=two" in said


def test_wrappers_stand_beside_what_they_wrap() -> None:
    outliers = {
        "interval": "1.5s",
        "maxEjectionPercent": 50,
        "successRateEjection": {"stdevFactor": 500},
        "failurePercentageEjection": {},
        "childPolicy": [{"random_subsetting_experimental": {"subsetSize": 4, "childPolicy": [{"round_robin": {}}]}}],
    }
    balancing = parsed({"loadBalancingConfig": [{"outlier_detection_experimental": outliers}]}).balancing
    assert balancing is not None
    assert (balancing.policy, balancing.subset) == ("round_robin", 4)
    assert balancing.outlier_detection == {
        "interval": 1.5,
        "maxEjectionPercent": 50,
        "successRateEjection": {"stdevFactor": 500},
        "failurePercentageEjection": {},
    }


# ---- whatever comes --------------------------------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers(-2, 2000) | st.floats(-1, 9) | st.sampled_from(["", "1s", "OK", "x"])
WORDS = """
    methodConfig name service method timeout waitForReady retryPolicy maxAttempts initialBackoff maxBackoff
    backoffMultiplier retryableStatusCodes hedgingPolicy hedgingDelay retryThrottling maxTokens tokenRatio
    loadBalancingConfig round_robin outlier_detection_experimental childPolicy interval subsetSize healthCheckConfig
"""
KEYS = st.sampled_from(WORDS.split())
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))


@settings(max_examples=300)
@given(st.dictionaries(KEYS, ANYTHING, max_size=5))
def test_any_json_is_taken_or_refused_and_says_why(config: dict[str, Any]) -> None:
    try:
        found = parsed(config)
    except UsageError as error:
        said = str(error)
    else:
        said = "service config: fine"
        assert all(method.retry is None or method.hedging is None for method in found.methods.values())
    assert said.startswith("service config: ")
