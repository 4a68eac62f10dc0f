"""What keeps retries from making an overload worse, token by token."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.service_config import Throttling
from lbctl.load.throttle import Allowance, Budget, Throttle
from tests.balance.fleet import VECTORS

S = 1_000_000_000


def test_tokens_go_and_come_as_published() -> None:
    vector = VECTORS["retry_throttle_sequence"]
    given_, expected = vector["given"], vector["expect"]
    throttle = Throttle(Throttling(given_["maxTokens"] * 1000, round(given_["tokenRatio"] * 1000)))
    tokens, allowed = [], []
    for _ in range(6):
        throttle.failed()
        tokens.append(throttle.tokens / 1000)
        allowed.append(throttle.allows)
    assert (tokens, allowed) == (expected["tokens_after"], expected["retry_allowed"])
    successes = 0
    while not throttle.allows:
        throttle.succeeded()
        successes += 1
    assert successes == expected["then_successes_needed_to_be_above_5"]


def test_tokens_stay_between_none_and_all() -> None:
    throttle = Throttle(Throttling(2500, 700))
    throttle.succeeded(10)
    assert throttle.tokens == 2500
    for _ in range(5):
        throttle.failed()
    assert (throttle.tokens, throttle.allows) == (0, False)


def keep_to_fractions(most: int, ratio: int, events: Iterable[int]) -> None:
    """A throttle has the tokens that fractions give it after every event: below 0 a failure, else so many successes."""
    throttle = Throttle(Throttling(most, ratio))
    tokens = whole = Fraction(most, 1000)
    for event in events:
        if event < 0:
            throttle.failed()
            tokens = max(Fraction(0), tokens - 1)
        else:
            throttle.succeeded(event)
            tokens = min(whole, tokens + event * Fraction(ratio, 1000))
        assert Fraction(throttle.tokens, 1000) == tokens
        assert throttle.allows == (tokens > whole / 2)


@given(st.integers(1, 1_000_000), st.integers(1, 5000), st.lists(st.integers(-1, 40), max_size=200))
def test_tokens_are_what_fractions_say(most: int, ratio: int, events: list[int]) -> None:
    keep_to_fractions(most, ratio, events)


def test_tokens_agree_with_fractions_in_10_000_cases() -> None:
    rng = Random(6)
    for _ in range(10_000):
        most, ratio = rng.randint(1, 20_000), rng.randint(1, 3000)
        keep_to_fractions(most, ratio, [rng.randint(-2, 4) for _ in range(rng.randint(1, 12))])


def attempts_per_call(failing: float, calls: int, seed: int) -> float:
    """Attempts of calls whose attempts fail with this probability, three at most each, tokens 10 and 0.1."""
    throttle, rng, attempts = Throttle(Throttling(10_000, 100)), Random(seed), 0
    for _ in range(calls):
        for number in range(3):
            attempts += 1
            if rng.random() >= failing:
                throttle.succeeded()
                break
            throttle.failed()
            if not throttle.allows or number == 2:
                break
    return attempts / calls


@pytest.mark.parametrize(("failing", "least", "most"), [(0.02, 1.015, 1.025), (0.3, 1.0, 1.005), (0.9, 1.0, 1.005)])
def test_throttling_lets_through_what_successes_pay_for(failing: float, least: float, most: float) -> None:
    assert least <= attempts_per_call(failing, 20_000, seed=3) <= most


def test_as_many_failures_as_successes_pay_for_are_the_limit() -> None:
    limit = VECTORS["retry_throttle_equilibrium"]["expect"]["max_sustainable_failure_fraction"]
    ratio = Fraction(100, 1000)
    assert float(ratio / (1 + ratio)) == pytest.approx(limit)

    def drift(failing: float) -> float:
        """The tokens won by 1,000 attempts, far from both ends."""
        throttle = Throttle(Throttling(1_000_000, 100))
        throttle.tokens = 500_000
        for number in range(1000):
            if int((number + 1) * failing) > int(number * failing):
                throttle.failed()
            else:
                throttle.succeeded()
        return (throttle.tokens - 500_000) / 1000

    assert drift(limit * 0.98) > 0 > drift(limit * 1.02)
    assert attempts_per_call(limit * 0.9, 20_000, seed=1) > 1.03
    assert attempts_per_call(limit * 1.4, 20_000, seed=1) < 1.03


# ---- Finagle's budget ------------------------------------------------------------------------------------------------


def withdrawals(budget: Budget, now_ns: Callable[[int], int], tries: int) -> int:
    return sum(budget.withdraw(now_ns(number)) for number in range(tries))


def test_a_budget_is_what_finagle_says() -> None:
    vector = VECTORS["finagle_retry_budget"]
    given_, expected = vector["given"], vector["expect"]
    allowance = Allowance(given_["percentCanRetry"], given_["minRetriesPerSec"], given_["ttl_s"])
    budget = Budget(allowance)
    budget.deposit(given_["requests_in_window"], 5 * S)
    assert budget.left(5 * S) == expected["retries_available"]
    assert (budget._deposit, budget._price, budget._reserve) == (
        expected["deposit"],
        expected["withdraw"],
        expected["reserve_tokens"],
    )
    assert withdrawals(budget, lambda _: 5 * S, 1000) == expected["retries_available"]


def test_what_was_paid_in_and_taken_out_is_forgotten_after_the_ttl() -> None:
    budget = Budget(Allowance(0.5, 0.0, 10.0))
    budget.deposit(10, 0)
    assert budget.left(9 * S) == 5
    assert budget.left(10 * S) == 0
    budget.deposit(10, 10 * S)
    assert withdrawals(budget, lambda _: 19 * S, 10) == 5
    assert budget.left(20 * S) == 0  # the retries outlive the calls that paid for them
    budget.deposit(20, 29 * S)
    assert budget.left(29 * S) == 10


@pytest.mark.parametrize(
    ("part", "per_s", "expected"), [(0.0, 1.0, 10), (1.0, 0.0, 100), (0.01, 0.0, 1), (0.2, 0.5, 25)]
)
def test_part_and_number_a_second_add_up(part: float, per_s: float, expected: int) -> None:
    budget = Budget(Allowance(part, per_s, 10.0))
    budget.deposit(100, S)
    assert withdrawals(budget, lambda _: 2 * S, 1000) == expected


def test_a_long_silence_leaves_nothing_behind() -> None:
    budget = Budget(Allowance(1.0, 0.0, 1.0))
    budget.deposit(7, 0)
    assert budget.left(10**15) == 0
