"""What gRPC's service config says of methods: their names, deadlines, retries and hedges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.service_methods import HedgingPolicy, MethodConfig
from lbctl.model import Code
from tests.balance.service_configs import MS, RETRY, of_all, parsed, refusal


def retrying(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    policy = {name: value for name, value in (RETRY | changes).items() if value is not ...}
    return of_all(retryPolicy=policy)


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


# ---- hedgingPolicy ---------------------------------------------------------------------------------------------------


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
