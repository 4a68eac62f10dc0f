"""Proposals look by look: the base, what somebody else wrote, and that weights do not flap."""

from __future__ import annotations

import pytest

from lbctl.balance.adjuster import Adjuster, Sample
from lbctl.balance.dynamic import Thresholds
from tests.balance.fleet import VECTORS

RULE = Thresholds()
BAD = Sample(100, 50, 50 * 0.05)  # halves
FINE = Sample(100, 0, 100 * 0.05)  # doubles
GREAT = Sample(100, 0, 100 * 0.005)  # doubles, and one more
MIDDLING = Sample(100, 5, 95 * 0.05)  # as it is


def weights(adjuster: Adjuster, weight: int, *samples: Sample) -> list[int]:
    """The weights proposed, one look after the other, each written where it differs."""
    found = []
    for sample in samples:
        proposed = adjuster.look("a", weight, sample).weight
        if proposed != weight:
            adjuster.wrote("a", proposed)
        weight = proposed
        found.append(weight)
    return found


def test_one_look_is_the_rule_as_published() -> None:
    vector = VECTORS["dynamic_weight_thresholds"]
    for case, expected in zip(vector["given"]["cases"], vector["expect"]["weights"], strict=True):
        errors = round(case["error_rate"] * case["requests"])
        # The published rule has a mean over all calls; ours is over those that were OK.
        ok = case["requests"] - errors
        sample = Sample(case["requests"], errors, ok * case["avg_latency_ms"] / 1e3)
        assert Adjuster(RULE).look("a", case["base"], sample).weight == expected, case


def test_it_starts_from_the_base_and_not_from_what_it_wrote() -> None:
    assert weights(Adjuster(RULE), 4, FINE, FINE, FINE, BAD, BAD, MIDDLING) == [8, 8, 8, 2, 2, 4]


def test_a_base_may_be_given() -> None:
    assert weights(Adjuster(RULE, bases={"a": 3}), 8, FINE, BAD, MIDDLING) == [6, 1, 3]


def test_a_change_needs_as_many_looks_in_a_row_as_confirm_says() -> None:
    assert weights(Adjuster(RULE, confirm=3), 4, FINE, FINE, MIDDLING, FINE, FINE, FINE, BAD) == [4, 4, 4, 4, 4, 8, 8]


def test_looks_that_disagree_on_how_far_go_to_the_nearest() -> None:
    assert weights(Adjuster(RULE, confirm=2), 4, FINE, GREAT) == [4, 8]
    assert weights(Adjuster(RULE, confirm=2), 4, GREAT, FINE) == [4, 8]


def test_a_backend_at_a_threshold_does_not_flap() -> None:
    """Every other look is above the limit: unconfirmed, the weight would change eleven times."""
    looks = [MIDDLING, FINE] * 6
    assert len(set(weights(Adjuster(RULE, confirm=2), 4, *looks))) == 1
    assert weights(Adjuster(RULE), 4, *looks) == [4, 8] * 6


def test_a_small_change_is_left() -> None:
    slow = Sample(100, 5, 95 * 0.2)
    assert weights(Adjuster(RULE, min_change=2), 4, slow, FINE) == [4, 8]
    assert Adjuster(RULE, min_change=2).look("a", 4, slow).why.endswith("less than 2 away")


def test_a_weight_that_somebody_else_wrote_is_the_new_base() -> None:
    adjuster = Adjuster(RULE)
    assert weights(adjuster, 4, FINE) == [8]

    news = adjuster.look("a", 3, FINE)

    assert (news.base, news.weight) == (3, 6)
    assert news.why == "somebody wrote 3 over 8: that is the base now; errors 0% below 1%: doubled"


def test_a_given_base_stands_whatever_somebody_writes() -> None:
    adjuster = Adjuster(RULE, bases={"a": 2})
    assert weights(adjuster, 2, FINE) == [4]
    assert adjuster.look("a", 9, FINE)[:3] == (2, 4, 4)


def test_an_owner_who_puts_the_base_back_is_confirmed_anew() -> None:
    adjuster = Adjuster(RULE, confirm=2)
    assert weights(adjuster, 4, FINE, FINE) == [4, 8]
    assert weights(adjuster, 4, FINE, FINE) == [4, 8]


@pytest.mark.parametrize("bases", [{}, {"a": 5}])
def test_an_instance_out_of_the_rotation_stays_out(bases: dict[str, int]) -> None:
    proposal = Adjuster(RULE, bases=bases).look("a", 0, GREAT)
    assert (proposal.weight, proposal.why) == (0, "weight 0 stays")


def test_coming_back_into_the_rotation_makes_a_base_again() -> None:
    adjuster = Adjuster(RULE)
    assert weights(adjuster, 4, FINE) == [8]
    assert adjuster.look("a", 0, Sample()).weight == 0
    assert adjuster.look("a", 8, FINE)[:3] == (8, 10, 10)


def test_failing_fast_earns_nothing() -> None:
    """No call was OK, so there is no latency: it must not count as a low one."""
    assert Adjuster(RULE).look("a", 8, Sample(100, 100, 0.0)).weight == 4


def test_an_instance_that_could_not_be_called_gets_its_base_and_the_reason_is_told() -> None:
    adjuster = Adjuster(RULE)
    weights(adjuster, 8, BAD)

    proposal = adjuster.look("a", 4, Sample(trouble="connection refused"))

    assert (proposal.weight, proposal.why) == (8, "0 requests, too few to judge; connection refused")


def test_a_key_that_comes_back_starts_anew() -> None:
    adjuster = Adjuster(RULE, confirm=2)
    weights(adjuster, 4, FINE)
    adjuster.forget_all_but({"b"})
    assert adjuster.look("a", 2, FINE)[:3] == (2, 4, 2)


def test_samples_of_a_window_add_up() -> None:
    total = Sample(10, 1, 0.9, "gone").plus(Sample(30, 4, 2.6))
    assert total == Sample(40, 5, 3.5, "")
    assert total.mean_s == pytest.approx(0.1)
    assert Sample(3, 3, 0.0).mean_s is None
