"""How many answers it takes to believe a health check."""

from __future__ import annotations

import pytest

from lbctl.balance.guards.health import HealthOptions, Pulse


@pytest.mark.parametrize(("failures", "successes", "answers", "states"), [
    (1, 1, "+-+-", "+-+-"),
    (3, 1, "+--+--+---+", "+++++++++-+"),
    (1, 2, "-+-++-", "----+-"),
    (2, 2, "+-+-+--+-++", "++++++----+"),
    (3, 3, "-", "-"),
    (3, 3, "+", "+"),
])  # fmt: skip
def test_thresholds(failures: int, successes: int, answers: str, states: str) -> None:
    pulse = Pulse(HealthOptions(failures=failures, successes=successes))
    seen = ""
    for answer in answers:
        pulse.beat(answer == "+")
        seen += "+" if pulse.healthy else "-"
    assert seen == states


def test_nothing_is_known_before_the_first_answer() -> None:
    assert Pulse(HealthOptions()).healthy is None
