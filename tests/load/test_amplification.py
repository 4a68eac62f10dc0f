"""What retries make of one call when a part of the attempts fails, at one hop and at three, and what hedges make of it.

p of the attempts at the last of three hops fails, three attempts each: q = p, then q^3, then q^9 at the hops above
attempts per call and hop     a(q) = (1 - q^3) / (1 - q)
at the last hop               a(p) x a(p^3) x a(p^9), of one call at the first
calls that end well           1 - p^27
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from math import prod, sqrt
from random import Random

import pytest

from lbctl.balance.service_methods import HedgingPolicy, RetryPolicy
from lbctl.load.plan import Repeating
from lbctl.model import Code
from lbctl.stats.histogram import bucket_of
from tests.load.again import unavailable
from tests.load.rig import Rig, instance, plan
from tests.wire import frames as h2

HOPS = 3
TABLE = {0.5: (2.0, 1.0), 0.8: (4.99, 0.998), 0.9: (9.42, 0.942), 0.99: (23.8, 0.238)}  # amplification, good ends


def expected_attempts(failing: float, most: int) -> float:
    return (1 - failing**most) / (1 - failing)


def expected(failing: float, most: int = 3) -> tuple[float, float]:
    """Attempts at the last of three hops of one call at the first, and the part of calls that end well."""
    failures = [failing ** (most**hop) for hop in range(HOPS)]
    return prod(expected_attempts(each, most) for each in failures), 1 - failures[-1] ** most


def one_call(rng: Random, failing: float, hop: int, most: int = 3) -> tuple[bool, int]:
    """Whether a call at this hop, of the last 1, ends well, and how many attempts the last one sees of it."""
    seen = 0
    for _ in range(most):
        ok, below = (rng.random() >= failing, 1) if hop == 1 else one_call(rng, failing, hop - 1, most)
        seen += below
        if ok:
            return True, seen
    return False, seen


@pytest.mark.parametrize("failing", TABLE)
def test_the_formula_says_what_is_published_and_what_chance_says(failing: float) -> None:
    amplification, good = expected(failing)
    assert (amplification, good) == pytest.approx(TABLE[failing], rel=2e-3)
    rng, calls = Random(3), 4000
    ends = [one_call(rng, failing, HOPS) for _ in range(calls)]
    spread = sqrt(sum((seen - amplification) ** 2 for _, seen in ends) / calls)
    assert sum(seen for _, seen in ends) / calls == pytest.approx(amplification, abs=4 * spread / sqrt(calls))
    assert sum(ok for ok, _ in ends) / calls == pytest.approx(good, abs=4 * sqrt(good * (1 - good) / calls) + 1e-3)


Below = Callable[[int], Awaitable[int]]  # how many of so many attempts end well


class Hop:
    """A client with retries of its own; each attempt of its calls is something ``below``."""

    def __init__(self, below: Below, most: int = 3) -> None:
        policy = RetryPolicy(most, 10_000_000, 10_000_000, 1.0, frozenset({Code.UNAVAILABLE}))
        self.rig = Rig(plan(timeout_s=0.0), repeating=Repeating(retry=policy))
        self._below = below

    async def call(self, count: int) -> int:
        """Make so many calls at once; returns how many end well."""
        rig, before = self.rig, self.rig.tally.ok
        await rig.do(lambda: rig.engine.start(count))
        while rig.engine.in_flight:
            attempts = len(rig.end(1).waiting)
            good = await self._below(attempts)
            await rig.do(partial(rig.end(1).answer, good))
            await rig.do(partial(rig.end(1).answer, attempts - good, unavailable))
            await rig.pass_(0.02)
        return rig.tally.ok - before

    @property
    def attempts(self) -> int:
        return self.rig.end(1).heads


def by_chance(failing: float, seed: int) -> Below:
    rng = Random(seed)

    async def below(attempts: int) -> int:
        return sum(rng.random() >= failing for _ in range(attempts))

    return below


async def hops(*chain: Hop) -> None:
    for hop in chain:
        await hop.rig.apply(instance(1))


@pytest.mark.parametrize(("most", "failing"), [(2, 0.5), (3, 0.5), (4, 0.2), (5, 0.8)])
async def test_the_attempts_of_one_hop_are_what_the_formula_says(most: int, failing: float) -> None:
    hop, calls = Hop(by_chance(failing, seed=most), most), 400
    await hops(hop)
    good = await hop.call(calls)
    mean = expected_attempts(failing, most)
    square = sum((2 * number + 1) * failing**number for number in range(most))  # E[X^2], from P(X > number)
    assert hop.attempts / calls == pytest.approx(mean, abs=4 * sqrt((square - mean**2) / calls))
    ends_well = 1 - failing**most
    assert good / calls == pytest.approx(ends_well, abs=4 * sqrt(ends_well * (1 - ends_well) / calls))
    await hop.rig.aclose()


@pytest.mark.parametrize("failing", [0.5, 0.9])
async def test_three_hops_multiply_as_published(failing: float) -> None:
    calls = 150
    last = Hop(by_chance(failing, seed=11))
    middle = Hop(last.call)
    first = Hop(middle.call)
    await hops(first, middle, last)
    good = await first.call(calls)
    amplification, ends_well = expected(failing)
    rng = Random(5)
    squares = [(one_call(rng, failing, HOPS)[1] - amplification) ** 2 for _ in range(2000)]
    assert last.attempts / calls == pytest.approx(amplification, abs=4 * sqrt(sum(squares) / len(squares) / calls))
    assert good / calls == pytest.approx(ends_well, abs=4 * sqrt(ends_well * (1 - ends_well) / calls) + 1e-9)
    for hop in (first, middle, last):
        await hop.rig.aclose()


# ---- hedging ---------------------------------------------------------------------------------------------------------


async def test_hedging_at_a_quantile_costs_the_rest_and_cuts_the_tail() -> None:
    """With a hedge after d: P(X > d) more attempts, and P(call > t) = P(X > t) x P(X > t - d) for t above d."""
    calls, delay_ms, rng = 400, 20, Random(9)
    policy = HedgingPolicy(2, delay_ms * 1_000_000, frozenset())
    rig = Rig(plan(timeout_s=0.0), repeating=Repeating(hedging=policy))
    await rig.apply(instance(1))
    end = rig.end(1)
    await rig.do(lambda: end.say(h2.settings({h2.MAX_CONCURRENT_STREAMS: 10_000})))
    await rig.do(lambda: rig.engine.start(calls))
    due_ms: dict[int, int] = {}  # when each attempt is answered: 10 ms on average, memoryless
    for now_ms in range(200):
        for stream in end.waiting:
            if stream not in due_ms:
                due_ms[stream] = now_ms + geometric(rng, 0.1)
        end.waiting.sort(key=due_ms.__getitem__)
        ready = sum(due_ms[stream] <= now_ms for stream in end.waiting)
        await rig.do(partial(end.answer, ready))
        await rig.pass_(0.001)
    assert rig.engine.in_flight == 0
    assert rig.attempts is not None
    late = 0.9**delay_ms
    assert rig.attempts.counts.sent / calls == pytest.approx(late, abs=4 * sqrt(late * (1 - late) / calls))
    for t_ms in (10, 25, 30, 40):
        tail = 0.9**t_ms * (0.9 ** (t_ms - delay_ms) if t_ms > delay_ms else 1)
        found = sum(rig.tally.latency.counts[bucket_of(t_ms * 1000 + 500) :]) / calls
        assert found == pytest.approx(tail, abs=4 * sqrt(tail * (1 - tail) / calls)), t_ms
    await rig.aclose()


def geometric(rng: Random, chance: float) -> int:
    """How many times something of this chance does not happen, and then does."""
    count = 1
    while rng.random() >= chance:
        count += 1
    return count
