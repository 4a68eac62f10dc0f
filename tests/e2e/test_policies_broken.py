"""Every policy while one backend of five is slow, or fails at once: who is kept away from it, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, Final

import pytest

from lbctl.balance.policies.base import Expectation
from lbctl.balance.policies.table import POLICIES
from tests.e2e.conftest import Standing, standing
from tests.e2e.policies import LOAD_AWARE, STATIC, WIDE, is_right, owed, run, shares
from tests.e2e.runs import row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SIZE: Final = 5
CROWD: Final = 20
CALLS: Final = 400
PENALTY_MS: Final = 1000  # what a failed call counts as
# Both of the two that it draws may be the same backend, which then has no rival.
ALONE: Final = {"least_request": 1 / SIZE**2}
LOAD: Final = ("-n", str(CALLS), "-c", str(CROWD))


@pytest.fixture(scope="module")
def slow() -> Iterator[Standing]:
    """The last one takes 200 ms."""
    with standing("--weights", "1", "--latency", "20ms,20ms,20ms,20ms,200ms") as found:
        yield found


@pytest.fixture(scope="module")
def failing() -> Iterator[Standing]:
    """The last one fails, at once."""
    options = ("--weights", "10", "--latency", "20ms,20ms,20ms,20ms,0ms", "--errors", "0,0,0,0,100%")
    with standing(*options, "--orca") as found:
        yield found


def most(name: str, document: dict[str, Any], demo: Standing, last_ms: float) -> float:
    """Twice the share of the last backend with equal calls in flight everywhere, by the times that were measured.

    Nobody knows anything of the calls that begin together, and all who learn from latency too give it less afterwards.
    """
    latencies = [row_of(document, address)["latency_ms"]["mean"] for address in demo.backends[:-1]]
    law = 1 / last_ms / (1 / last_ms + sum(1 / each for each in latencies))
    at_first = ceil(CROWD / SIZE) / CALLS
    return float(2 * law + 2 * at_first + ALONE.get(name, 0.0) * 1.5)


@pytest.mark.parametrize("name", LOAD_AWARE)
def test_who_goes_by_load_starves_a_slow_backend(slow: Standing, name: str) -> None:
    document = run(slow, name, *LOAD, *WIDE.get(name, ()))
    share = shares(document, slow)[-1]
    bound = most(name, document, slow, row_of(document, slow.backends[-1])["latency_ms"]["mean"])
    assert 0 < share < bound < 1 / SIZE
    assert document["ok"] == CALLS
    assert is_right(document), document["balance"]["note"]


@pytest.mark.parametrize("name", STATIC)
def test_nobody_else_does(slow: Standing, name: str) -> None:
    document = run(slow, name, "-n", "300", "-c", str(CROWD))
    if POLICIES[name].expectation in (Expectation.SEQUENCE, Expectation.COUNTS, Expectation.SINGLE):
        assert shares(document, slow) == pytest.approx(owed(POLICIES[name], [1] * SIZE), abs=0.01)
    else:
        assert shares(document, slow)[-1] > 1 / SIZE / 3  # a ring and chance
    assert is_right(document), document["balance"]["note"]


@pytest.mark.parametrize("name", LOAD_AWARE)
def test_who_goes_by_load_is_not_attracted_by_a_backend_that_fails_at_once(failing: Standing, name: str) -> None:
    document = run(failing, name, *LOAD, *WIDE.get(name, ()))
    assert shares(document, failing)[-1] < most(name, document, failing, PENALTY_MS) < 1 / SIZE
    assert document["errors"] == row_of(document, failing.backends[-1])["picks"]
    assert document["codes"].keys() <= {"OK", "UNAVAILABLE"}
    assert is_right(document), document["balance"]["note"]


def test_without_the_penalty_it_would_be(failing: Standing) -> None:
    document = run(failing, "least_conn", *LOAD, "--policy-opt", "failure-penalty=0s")
    assert shares(document, failing)[-1] > 1 / SIZE
    assert is_right(document), document["balance"]["note"]  # that is what this policy does


@pytest.mark.parametrize("name", STATIC)
def test_who_goes_by_nothing_gives_it_no_more_than_its_share(failing: Standing, name: str) -> None:
    document = run(failing, name, "-n", "300", "-c", str(CROWD))
    assert is_right(document), document["balance"]["note"]
    if POLICIES[name].expectation in (Expectation.SEQUENCE, Expectation.COUNTS, Expectation.SINGLE):
        assert shares(document, failing) == pytest.approx(owed(POLICIES[name], [1] * SIZE), abs=0.01)
    assert document["errors"] == row_of(document, failing.backends[-1])["picks"]


@pytest.mark.parametrize(("name", "options"), [
    ("done_weight", ()),
    ("dynamic_weight", ("interval=300ms", "window=2s", "min-requests=5", "max=20")),
    ("weighted_round_robin", ("blackout-period=0s", "weight-update-period=100ms")),
])  # fmt: skip
def test_who_goes_by_weights_of_its_own_gives_it_less(failing: Standing, name: str, options: tuple[str, ...]) -> None:
    chosen = [word for option in options for word in ("--policy-opt", option)]
    document = run(failing, name, "-r", "300", "-z", "2s", *chosen)
    assert shares(document, failing)[-1] < 0.7 / SIZE
    assert is_right(document), document["balance"]["note"]
