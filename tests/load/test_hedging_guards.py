"""Calls that are sent several times at once, and those around them: policies, guards and breakers."""

from __future__ import annotations

from random import Random

from lbctl.balance.guards.base import EJECTED
from lbctl.balance.guards.circuit import CircuitBreakers, CircuitOptions
from lbctl.balance.guards.outlier import OutlierDetection, OutlierOptions
from lbctl.balance.peer import Peer
from lbctl.balance.selection import Mode, Selection
from lbctl.model import Code, Reply
from tests.load.again import one_call
from tests.load.hedging import HOSTS, answer, at, ended, hedging, outcome, seen, waiting
from tests.load.rig import Rig, instance, plan


def peer(rig: Rig, number: int) -> Peer:
    return rig.backends.lanes[instance(number).identity].peer


async def two_attempts(policy: str, milliseconds: float) -> tuple[Rig, int, int]:
    """A call so long after its start; where its first attempt waits and where its second."""
    rig = one_call(hedging(attempts=2), policy=policy)
    await rig.begin(1, 2)
    await at(rig, milliseconds)
    slow, quick = waiting(rig)
    return rig, slow, quick


# ---- who hears of an attempt that was cancelled ----------------------------------------------------------------------


async def test_a_cancelled_attempt_is_no_failure_of_its_backend() -> None:
    rig, slow, quick = await two_attempts("done_weight", 50)
    before = peer(rig, slow).override
    outliers = OutlierDetection(OutlierOptions(), rig.balancer, Random(1))
    rig.balancer.guard(outliers)
    await answer(rig, quick)
    assert {record_of: (record.successes, record.failures) for record_of, record in outliers._records.items()} == {
        peer(rig, quick): (1, 0)
    }
    assert peer(rig, slow).override == before
    assert [peer(rig, number).in_flight for number in (1, 2)] == [0, 0]
    await ended(rig)


async def test_policies_that_go_by_latency_learn_how_long_a_cancelled_attempt_has_taken() -> None:
    rig, slow, quick = await two_attempts("p2c_ewma", 500)
    await rig.pass_(0.25)
    await answer(rig, quick)
    assert peer(rig, slow).memory.lag_ns > peer(rig, quick).memory.lag_ns > 0
    await ended(rig)


async def test_a_probe_that_is_cancelled_is_made_again() -> None:
    rig = one_call(hedging(attempts=2))
    await rig.apply(instance(1), instance(2))
    circuits = CircuitBreakers(CircuitOptions(failures=1, open_time=1.0), rig.balancer, Random(1))
    rig.balancer.guard(circuits)
    bad = peer(rig, 1)
    circuits.ended(bad, 0, Reply(Code.UNAVAILABLE), rig.clock.now_ns())
    rig.clock.advance(1.0)
    rig.balancer.tick(rig.clock.now_ns())
    assert list(rig.balancer.trials) == [bad]
    rig.loop.begin()
    assert waiting(rig) == [1]  # the call is the probe
    await rig.pass_(0.05)
    await answer(rig, 2)
    assert rig.end(1).cancelled
    assert list(rig.balancer.trials) == [bad]
    await rig.aclose()


# ---- breakers --------------------------------------------------------------------------------------------------------


async def test_a_hedge_is_a_request_to_the_breaker_that_bounds_them() -> None:
    rig = Rig(plan(2, 4, timeout_s=20.0), repeating=hedging(attempts=3), most_requests=3)
    await rig.begin(*HOSTS)
    await at(rig, 200)
    assert (seen(rig), len(waiting(rig))) == (3, 3)  # two calls and one hedge; another was dropped, and then none made
    assert rig.gate is not None
    assert rig.gate.turned_away == {"max-requests": 2}
    assert rig.engine.in_flight == 2
    for place in waiting(rig):
        await answer(rig, place)
    assert rig.tally.errors == 0
    await rig.do(rig.cancel)
    await rig.aclose()


async def test_a_hedge_that_finds_all_backends_out_does_not_end_its_call() -> None:
    rig = Rig(plan(1, 1, timeout_s=20.0), repeating=hedging(attempts=2), most_requests=10)
    rig.balancer.select(Selection(when_all_out=Mode.FAIL))
    await rig.begin(1)
    rig.balancer.bar(peer(rig, 1), EJECTED, barred=True)
    await at(rig, 60)
    assert rig.gate is not None
    assert (rig.gate.turned_away, rig.engine.in_flight) == ({"all-out": 1}, 1)
    await answer(rig, 1)
    assert outcome(rig) == (1, 0, 1, 0)
    await ended(rig)
