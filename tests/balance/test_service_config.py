"""gRPC's service config: what is taken of it, what is only noted, and what rejects the whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lbctl.balance.policies import POLICIES
from lbctl.balance.service_config import ServiceConfig, Throttling, one, parse_service_config
from lbctl.balance.service_methods import HedgingPolicy, MethodConfig, RetryPolicy
from lbctl.errors import UsageError
from lbctl.model import Code

MS = 1_000_000
RETRY = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2.0,
    "retryableStatusCodes": ["UNAVAILABLE"],
}


def parsed(config: Any) -> ServiceConfig:  # noqa: ANN401  # whatever JSON has
    return parse_service_config(json.dumps(config))


def refusal(config: Any) -> str:  # noqa: ANN401
    with pytest.raises(UsageError) as caught:
        parsed(config)
    return str(caught.value)


def of_all(**method: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"methodConfig": [{"name": [{}], **method}]}


def retrying(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    policy = {name: value for name, value in (RETRY | changes).items() if value is not ...}
    return of_all(retryPolicy=policy)


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


# ---- names of methods ------------------------------------------------------------------------------------------------


def test_the_most_exact_name_counts() -> None:
    config = parsed(
        {
            "methodConfig": [
                {"name": [{}], "timeout": "1s"},
                {"name": [{"service": "a.S"}, {"service": "a.T", "method": ""}], "timeout": "2s"},
                {"name": [{"service": "a.S", "method": "M"}], "timeout": "3s"},
            ]
        }
    )
    timeouts = {path: config.method(path).timeout_ns for path in ("a.S/M", "/a.S/M", "a.S/N", "a.T/M", "b.S/M", "S/M")}
    seconds = {path: (timeout_ns or 0) / 1e9 for path, timeout_ns in timeouts.items()}
    assert seconds == {"a.S/M": 3, "/a.S/M": 3, "a.S/N": 2, "a.T/M": 2, "b.S/M": 1, "S/M": 1}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([[{"service": "a"}], [{"service": "a"}]], "methodConfig[1].name[0]: a has a methodConfig already"),
        ([[{"service": "a", "method": "M"}, {"service": "a", "method": "M"}]], "name[1]: a/M has a methodConfig"),
        ([[{}], [{"service": ""}]], "the default has a methodConfig already, at methodConfig[0].name[0]"),
        ([[{"method": "M"}]], 'methodConfig[0].name[0]: method "M" without a service'),
        ([[7]], "methodConfig[0].name[0]: 7 is not an object"),
        (["a"], 'methodConfig[0].name: "a" is not a list'),
    ],
)
def test_names_that_cannot_be_reject_the_config(names: list[Any], said: str) -> None:
    assert said in refusal({"methodConfig": [{"name": name} for name in names]})


def test_a_method_config_without_a_name_is_for_no_call_and_checked_all_the_same() -> None:
    config = parsed({"methodConfig": [{"timeout": "1s"}]})
    assert config.method("a/b") == MethodConfig()
    assert config.notes == ("service config: methodConfig[0] has no name, so it is for no call",)
    assert "methodConfig[0].timeout" in refusal({"methodConfig": [{"timeout": "1"}]})


# ---- durations and numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("10s", 10_000_000_000),
        ("0.1s", 100_000_000),
        ("1.000000001s", 1_000_000_001),
        ("0.000000001s", 1),
        ("315576000000s", 315_576_000_000 * 10**9),
    ],
)
def test_durations_are_exact(text: str, nanoseconds: int) -> None:
    assert parsed(of_all(timeout=text)).method("a/b").timeout_ns == nanoseconds


@pytest.mark.parametrize(
    "wrong",
    [10, "10", "10ms", "1m", ".s", "s", "1..5s", " 1s", "1e3s", "+1s", "0.0000000001s", "-1s", "0s", "9" * 13 + "s"],
)
def test_what_is_no_duration_is_told_with_its_path(wrong: object) -> None:
    assert "methodConfig[0].timeout: " in refusal(of_all(timeout=wrong))


@given(st.integers(1, 10**12))
def test_a_duration_comes_back_as_it_was_written(nanoseconds: int) -> None:
    text = f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09}s"
    assert parsed(of_all(timeout=text)).method("a/b").timeout_ns == nanoseconds


def test_wait_for_ready_is_taken_and_its_opposite_has_no_effect() -> None:
    assert parsed(of_all(waitForReady=True)).notes == ()
    config = parsed(of_all(waitForReady=False))
    assert config.method("a/b").wait_for_ready is False
    assert "wait for a backend in any case" in config.notes[0]
    assert "neither true nor false" in refusal(of_all(waitForReady="yes"))


# ---- retryPolicy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"maxAttempts": ...}, "retryPolicy: maxAttempts is missing"),
        ({"maxAttempts": 1}, "retryPolicy.maxAttempts: 1 is not above 1; it counts the first attempt too"),
        ({"maxAttempts": 0}, "retryPolicy.maxAttempts: 0 is not above 1"),
        ({"maxAttempts": -1}, "retryPolicy.maxAttempts: -1 is not above 1"),
        ({"maxAttempts": 2.5}, "retryPolicy.maxAttempts: 2.5 is not a whole number"),
        ({"maxAttempts": "3"}, 'retryPolicy.maxAttempts: "3" is not a whole number'),
        ({"maxAttempts": True}, "retryPolicy.maxAttempts: true is not a whole number"),
        ({"initialBackoff": ...}, "retryPolicy: initialBackoff is missing"),
        ({"initialBackoff": "0s"}, 'retryPolicy.initialBackoff: "0s" is not above 0'),
        ({"initialBackoff": "-0.1s"}, "retryPolicy.initialBackoff"),
        ({"maxBackoff": ...}, "retryPolicy: maxBackoff is missing"),
        ({"maxBackoff": "1000ms"}, "retryPolicy.maxBackoff"),
        ({"backoffMultiplier": ...}, "retryPolicy: backoffMultiplier is missing"),
        ({"backoffMultiplier": 0}, "retryPolicy.backoffMultiplier: 0 is not above 0"),
        ({"backoffMultiplier": -2}, "retryPolicy.backoffMultiplier"),
        ({"backoffMultiplier": "2"}, "retryPolicy.backoffMultiplier"),
        ({"backoffMultiplier": 10**400}, "retryPolicy.backoffMultiplier"),
        ({"retryableStatusCodes": ...}, "retryPolicy: retryableStatusCodes is missing"),
        ({"retryableStatusCodes": []}, "retryPolicy: retryableStatusCodes is empty"),
        ({"retryableStatusCodes": "UNAVAILABLE"}, "retryPolicy.retryableStatusCodes"),
        (
            {"retryableStatusCodes": ["UNAVAILABLE", "GONE"]},
            'retryPolicy.retryableStatusCodes[1]: "GONE" is not a status code',
        ),
        (
            {"retryableStatusCodes": ["Aborted"]},
            'retryPolicy.retryableStatusCodes[0]: "Aborted" is not a status code: it is',
        ),
        ({"retryableStatusCodes": ["14"]}, 'retryPolicy.retryableStatusCodes[0]: "14" is not a status code'),
        ({"retryableStatusCodes": [17]}, "retryPolicy.retryableStatusCodes[0]: 17 is not a status code"),
        ({"retryableStatusCodes": [True]}, "retryPolicy.retryableStatusCodes[0]: true is not a status code"),
    ],
)
def test_a_bad_retry_policy_rejects_the_whole_config_with_its_path(changes: dict[str, Any], said: str) -> None:
    assert f"methodConfig[0].{said}" in refusal(retrying(**changes))


def test_codes_are_names_or_numbers_which_not_every_client_takes() -> None:
    config = parsed(retrying(retryableStatusCodes=["UNAVAILABLE", 8]))
    retry = config.method("a/b").retry
    assert retry is not None
    assert retry.codes == {Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED}
    assert [note for note in config.notes if "rejects the whole config for it: write RESOURCE_EXHAUSTED" in note]


def test_what_is_ok_is_not_retried() -> None:
    config = parsed(retrying(retryableStatusCodes=["UNAVAILABLE", "OK"]))
    assert [note for note in config.notes if "a call that is OK has not failed, and is not retried" in note]


@pytest.mark.parametrize(("text", "nanoseconds"), [(".5s", 500_000_000), ("1.s", 1_000_000_000)])
def test_a_duration_without_digits_on_one_side_of_its_point_is_one_for_grpc_go_alone(
    text: str, nanoseconds: int
) -> None:
    config = parsed(of_all(timeout=text))
    assert config.method("a/b").timeout_ns == nanoseconds
    (note,) = config.notes
    assert f'methodConfig[0].timeout: grpc-go takes "{text}", but C-core' in note


@pytest.mark.parametrize(("given_", "counts"), [(2, 2), (5, 5), (6, 5), (4.0, 4), (100_000, 5)])
def test_more_than_five_attempts_are_five_with_a_note(given_: float, counts: int) -> None:
    config = parsed(retrying(maxAttempts=given_))
    retry = config.method("a/b").retry
    assert retry is not None
    assert retry.max_attempts == counts
    noted = [note for note in config.notes if f"{given_} counts as 5, gRPC's limit" in note]
    assert len(noted) == (given_ > 5)


# ---- hedgingPolicy, retryThrottling, healthCheckConfig ---------------------------------------------------------------


def test_a_hedging_policy_is_taken_and_said_to_be_unknown_to_most_clients() -> None:
    policy = {"maxAttempts": 3, "hedgingDelay": "0.05s", "nonFatalStatusCodes": ["UNAVAILABLE", "INTERNAL"]}
    config = parsed(of_all(hedgingPolicy=policy))
    codes = frozenset({Code.UNAVAILABLE, Code.INTERNAL})
    assert config.method("a/b").hedging == HedgingPolicy(3, 50 * MS, codes)
    assert "grpc-go and grpcio do not hedge" in config.notes[0]


def test_hedging_without_a_delay_sends_all_at_once_and_takes_every_code_as_final() -> None:
    assert parsed(of_all(hedgingPolicy={"maxAttempts": 9})).method("a/b").hedging == HedgingPolicy(5, 0, frozenset())


def test_retry_and_hedging_together_are_an_error() -> None:
    said = refusal(of_all(retryPolicy=RETRY, hedgingPolicy={"maxAttempts": 2}))
    assert said == "service config: methodConfig[0]: retryPolicy and hedgingPolicy exclude each other"


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
