"""The weight that thresholds make of a base weight."""

from __future__ import annotations

import pytest

from lbctl.balance.dynamic import Thresholds, adjusted, explained
from tests.balance.fleet import VECTORS

RULE = Thresholds()


def test_the_published_cases() -> None:
    vector = VECTORS["dynamic_weight_thresholds"]
    weights = [
        adjusted(
            case["base"],
            case["requests"],
            round(case["requests"] * case["error_rate"]),
            case["avg_latency_ms"] / 1e3,
            RULE,
        )
        for case in vector["given"]["cases"]
    ]
    assert weights == vector["expect"]["weights"]


def test_a_weight_is_what_its_base_makes_it_however_often_the_rule_is_applied() -> None:
    assert {adjusted(3, 100, 0, 0.05, RULE) for _ in range(5)} == {6}


@pytest.mark.parametrize("base", range(1, 11))
@pytest.mark.parametrize("errors", [0, 5, 100])
@pytest.mark.parametrize("mean_s", [0.001, 0.05, 2.0])
def test_weights_stay_within_the_bounds(base: int, errors: int, mean_s: float) -> None:
    assert 1 <= adjusted(base, 100, errors, mean_s, RULE) <= 10


def test_a_base_beyond_the_bounds_is_not_moved_the_wrong_way() -> None:
    assert adjusted(100, 100, 0, 0.001, RULE) == 100
    assert adjusted(100, 100, 50, 0.05, RULE) == 50
    assert adjusted(2, 100, 50, 2.0, Thresholds(min_weight=4)) == 2
    assert adjusted(0, 100, 0, 0.001, RULE) == 0


def test_the_reason_names_every_step_that_was_taken() -> None:
    assert explained(5, 100, 20, 0.15, RULE) == "errors 20% above 10%: halved, mean 150ms above 100ms: -1"
    assert explained(5, 100, 0, 0.005, RULE) == "errors 0% below 1%: doubled, mean 5ms below 10ms: +1"
    assert explained(5, 100, 5, 0.05, RULE) == "errors 5%, mean 50ms: as it is"
    assert explained(5, 9, 9, 0.5, RULE) == "9 requests, too few to judge"
    assert explained(0, 100, 0, 0.5, RULE) == "weight 0 stays"


@pytest.mark.parametrize(
    "odd", [{"error_low": 0.2}, {"latency_low_s": 0.2}, {"min_weight": 0}, {"min_weight": 5, "max_weight": 4}]
)
def test_thresholds_that_contradict_each_other_are_refused(odd: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"above|least"):
        Thresholds(**odd)  # type: ignore[arg-type]  # whole numbers where they have to be
