"""Every policy on backends of weights 5, 3, 2, 1, 1: who honours them gives the shares, and every verdict is right."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Final

import pytest

from lbctl.balance.policies.base import Expectation
from lbctl.balance.policies.table import POLICIES
from tests.e2e.conftest import Standing, standing
from tests.e2e.policies import EVEN, STATIC, is_judged, is_right, owed, picks, run, shares

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

WEIGHTS: Final = [5, 3, 2, 1, 1]
CYCLE: Final = sum(WEIGHTS)
FEW: Final = 2 * CYCLE
MANY: Final = 1_200
VERY_MANY: Final = 5_004  # whole cycles too
STRIDE_BOUND: Final = 3  # calls; static_stride is never further off, round_robin one at most
# Points of a ring of five backends; those of crc32 are twice as uneven.
POINTS: Final = {"consistent_hash": 5 * 100 / 4, "ring_hash": 1024}

FEEDBACK: Final = [name for name, policy in POLICIES.items() if policy.expectation is Expectation.FEEDBACK]
STATED: Final = [name for name in POLICIES if name not in FEEDBACK]
# One of each kind of expectation that very many calls could still show to be off: orders are exact after few.
EXACT: Final = (Expectation.SINGLE, Expectation.SEQUENCE)
KINDS: Final = {
    POLICIES[name].expectation: name for name in reversed(STATED) if POLICIES[name].expectation not in EXACT
}.values()


@pytest.fixture(scope="module")
def weighted() -> Iterator[Standing]:
    with standing("--weights", ",".join(map(str, WEIGHTS)), "--latency", "0ms") as found:
        yield found


@pytest.fixture(scope="module")
def unhurried() -> Iterator[Standing]:
    """Backends that are not kept busy: how long they take does not depend on who gets the calls."""
    with standing("--weights", ",".join(map(str, WEIGHTS)), "--latency", "20ms") as found:
        yield found


def assert_owed(name: str, counts: list[int]) -> None:
    """The counts obey the law of the policy's kind."""
    policy, calls = POLICIES[name], sum(counts)
    expected = [share * calls for share in owed(policy, WEIGHTS)]
    if policy.expectation in (Expectation.SINGLE, Expectation.SEQUENCE):
        assert counts == expected  # whole cycles
    elif policy.expectation is Expectation.COUNTS:
        assert counts == pytest.approx(expected, abs=STRIDE_BOUND)
    else:
        for count, mean in zip(counts, expected, strict=True):
            variance = mean * (1 - mean / calls)
            uneven = variance * calls / POINTS.get(name, 20_000)  # a share of a ring is a draw itself
            assert abs(count - mean) < 6 * sqrt(variance + uneven), name


@pytest.mark.parametrize("name", POLICIES)
def test_a_few_calls_are_judged_by_what_they_can_tell(weighted: Standing, name: str) -> None:
    document = run(weighted, name, "-n", str(FEW), "-c", "5")
    kind = POLICIES[name].expectation
    counts = picks(document, weighted)
    assert document["ok"] == sum(counts) == FEW
    if kind in (Expectation.SINGLE, Expectation.SEQUENCE, Expectation.COUNTS):
        assert document["balance"]["verdict"] == "balanced"
        assert_owed(name, counts)
    elif not is_judged(POLICIES[name], FEW):
        assert document["balance"]["verdict"] in ("too_few", "not_applicable")
    elif kind is Expectation.FEEDBACK and document["balance"]["note"].startswith("every count"):
        assert document["balance"]["verdict"] == "balanced"  # it picks by turns, by weights of its own
    else:
        assert document["balance"]["verdict"] == "too_few"


@pytest.mark.parametrize(
    ("name", "calls"), [*((name, MANY) for name in STATED), *((name, VERY_MANY) for name in KINDS)]
)
def test_many_calls_are_balanced_and_weights_are_honoured(weighted: Standing, name: str, calls: int) -> None:
    document = run(weighted, name, "-n", str(calls))
    assert document["ok"] == document["attempts"] == calls
    assert is_right(document), document["balance"]["note"]
    if name in STATIC:
        assert_owed(name, picks(document, weighted))


@pytest.mark.parametrize("name", FEEDBACK)
def test_who_goes_by_feedback_is_balanced_whatever_it_makes_of_weights(unhurried: Standing, name: str) -> None:
    document = run(unhurried, name, "-n", str(MANY // 2), "-c", "10")
    assert document["ok"] == MANY // 2
    assert is_right(document), document["balance"]["note"]


@pytest.mark.parametrize("name", ["least_conn", "dynamic_weight", "weighted_round_robin"])
def test_weights_also_count_where_load_does(weighted: Standing, name: str) -> None:
    """Calls one after the other: ties of least_conn, and nothing measured yet that would change a weight."""
    document = run(weighted, name, "-n", str(10 * CYCLE), "-c", "1")
    expected = [1 / 5] * 5 if name in EVEN else [weight / CYCLE for weight in WEIGHTS]
    assert shares(document, weighted) == pytest.approx(expected, abs=0.001)
    assert is_right(document), document["balance"]["note"]
