from __future__ import annotations

import gc
import math
import tracemalloc
from random import Random

import pytest

from lbctl.balance.epochs import Ledger
from lbctl.balance.policies.table import POLICIES
from lbctl.stats.fairness import judge
from lbctl.stats.report import Balance
from tests.balance.fleet import Service, built, fleet


def _promises(name: str) -> bool:
    """Whether a test can be made of what the policy says beforehand, of calls that have no keys."""
    if POLICIES[name].keyed:
        return False
    law = built(name, fleet([5, 1, 1])).law()
    return law.drawn or law.bound < math.inf


PROMISING = [name for name in POLICIES if _promises(name)]


def verdict(service: Service) -> Balance:
    return judge(service.balancer.evidence())


def test_expected_picks_follow_membership_and_weights() -> None:
    service = Service("weighted_random", A=5, B=1, C=1)
    a = service.peer("A")
    service.run(70)
    service.set(B=1, C=1)
    service.run(20)
    service.set(A=1, B=1, C=1)
    service.run(30)
    expected = service.balancer.expectations()
    assert [round(expected[service.peer(key)], 9) for key in "ABC"] == [60, 30, 30]
    assert math.isclose(service.balancer.expected(a), 60)


def test_expected_picks_of_all_backends_sum_up_to_all_picks() -> None:
    service = Service("smooth_wrr", A=3, B=2)
    rng = Random(4)
    for _ in range(50):
        service.set(**{key: rng.randint(0, 9) for key in rng.sample("ABCDEF", 4)})
        if service.balancer.picker is not None:
            service.run(rng.randint(0, 30))
    everyone = [*service.balancer.peers.values(), *service.balancer.departed.values()]
    assert math.isclose(sum(service.balancer.expectations().values()), sum(peer.picks for peer in everyone))


def test_nothing_is_expected_before_the_first_pick() -> None:
    service = Service("random", A=1, B=1)
    assert set(service.balancer.expectations().values()) == {0.0}
    assert verdict(service).verdict == "too_few"
    assert judge(Service("random").balancer.evidence()).verdict == "too_few"


@pytest.mark.parametrize("name", PROMISING)
def test_a_run_that_loses_and_gains_backends_is_balanced(name: str) -> None:
    service = Service(name, seed=3, A=5, B=1, C=1)
    service.run(3000)
    service.set(A=5, C=1)  # B died
    service.run(3000)
    service.set(A=5, C=1, D=4)
    service.run(3000)
    found = verdict(service)
    assert found.verdict == "balanced", found
    assert found.expectation == POLICIES[name].expectation
    assert found.max_delta is not None
    assert found.max_delta < 0.03
    assert (found.p_value is not None) == (POLICIES[name].expectation == "multinomial")


@pytest.mark.parametrize("name", PROMISING)
def test_a_switch_of_policy_is_judged_by_what_held_at_the_time(name: str) -> None:
    service = Service(name, A=5, B=1, C=1)
    service.run(2000)
    service.balancer.switch(POLICIES["smooth_wrr"])
    service.run(2000)
    assert verdict(service).verdict == "balanced"
    assert verdict(service).expectation == "sequence"


@pytest.mark.parametrize("name", PROMISING)
def test_picks_that_do_not_follow_the_policy_are_skewed(name: str) -> None:
    service = Service(name, A=5, B=1, C=1)
    service.run(500)
    service.peer("C").picks += 200
    found = verdict(service)
    assert found.verdict == "skewed"
    assert found.worst == service.peer("C").instance.address
    assert found.worst in found.note


@pytest.mark.parametrize("name", PROMISING)
def test_a_single_pick_of_a_peer_that_must_not_be_picked_is_skewed(name: str) -> None:
    service = Service(name, A=5, B=1, C=1)
    service.balancer.drain(service.peer("B"), drained=True)
    service.run(500)
    assert verdict(service).verdict == "balanced"
    service.peer("B").picks += 1
    assert verdict(service).verdict == "skewed"
    service.balancer.drain(service.peer("B"), drained=False)
    service.run(500)
    assert verdict(service).verdict == "skewed"  # also when that epoch is over


def test_a_smooth_wrr_that_forgets_its_credit_at_every_rebuild_is_skewed() -> None:
    service = Service("smooth_wrr", A=5, B=1, C=1, D=1)
    for turn in range(300):
        service.balancer.mark(service.peer("D"), ready=turn % 2 == 0)
        service.run(2)
        if turn == 150:
            assert verdict(service).verdict == "balanced"
    assert verdict(service).verdict == "balanced"
    forgetful = Service("smooth_wrr", A=5, B=1, C=1, D=1)
    for turn in range(300):
        forgetful.balancer.mark(forgetful.peer("D"), ready=turn % 2 == 0)
        assert forgetful.balancer.picker is not None  # the old picker is gone, the new one not used yet
        for _ in range(2):
            forgetful.peer("A").picks += 1  # from zero credit the first two picks are the heaviest's
    assert verdict(forgetful).verdict == "skewed"


def test_short_epochs_of_chance_are_judged_together() -> None:
    service = Service("random", A=1, B=1, C=1)
    for turn in range(400):
        service.balancer.mark(service.peer("C"), ready=turn % 2 == 0)
        service.run(4)
    found = verdict(service)
    assert (found.verdict, found.dof) == ("balanced", 2)
    for turn in range(400):
        service.balancer.mark(service.peer("C"), ready=turn % 2 == 0)
        assert service.balancer.picker is not None
        service.peer("A").picks += 1
    assert verdict(service).verdict == "skewed"


def test_a_lean_that_is_small_in_every_epoch_of_chance_shows_in_their_sum() -> None:
    fair, leaning = (Service("random", seed=5, A=1, B=1, C=1, D=1, E=1) for _ in range(2))
    for turn in range(40):
        for service in (fair, leaning):
            service.balancer.mark(service.peer("E"), ready=turn % 2 == 0)
            service.run(27 if service is leaning else 30)
        leaning.peer("A").picks += 3  # a tenth
    assert verdict(fair).verdict == "balanced"
    found = verdict(leaning)
    assert (found.verdict, found.worst) == ("skewed", leaning.peer("A").instance.address)
    assert "over 40 epochs together" in found.note
    so_far = judge(leaning.balancer.evidence(), over=False)
    assert so_far.verdict == "skewed"
    assert judge(fair.balancer.evidence(), over=False).verdict == "balanced"


@pytest.mark.parametrize("name", ["smooth_wrr", "edf"])
@pytest.mark.parametrize("leaves", [True, False])
def test_a_backend_that_comes_and_goes_gets_its_share_of_the_time_it_is_there(name: str, *, leaves: bool) -> None:
    weights = {"A": 5, "B": 3, "C": 2, "D": 1, "E": 1}
    service = Service(name, seed=5, **weights, F=1)
    flapping = service.peer("F")
    for turn in range(200):
        if leaves:
            service.set(**weights, **({"F": 1} if turn % 2 else {}))
        else:
            service.balancer.mark(flapping, ready=turn % 2 == 1)
        service.run(5)
    assert abs(service.peer("F").picks - 100 * 5 / 13) <= 2
    assert verdict(service).verdict == "balanced"


def test_a_starved_backend_that_comes_and_goes_is_not_balanced() -> None:
    weights = {"A": 5, "B": 3, "C": 2, "D": 1, "E": 1}
    service = Service("smooth_wrr", seed=5, **weights, F=1)
    service.balancer.switch(POLICIES["smooth_wrr"].with_options({"state": "reset"}))
    for turn in range(200):
        service.balancer.mark(service.peer("F"), ready=turn % 2 == 1)
        service.run(5)
    found = verdict(service)
    assert service.peer("F").picks == 0
    assert found.verdict == "skewed", found


def test_a_count_of_an_epoch_is_bounded_by_what_could_be_picked_in_it() -> None:
    service = Service("round_robin", A=1, B=1, C=1, D=1)
    service.run(1)  # of 0.25 expected: 0.25 may be missing, 0.75 be too much, though the bound is 1
    service.balancer.mark(service.peer("D"), ready=False)
    service.run(30)  # of 10 expected each: the bound counts
    rows = {row.address: row for row in service.balancer.evidence().backends}
    a, d = (rows[service.peer(key).instance.address] for key in "AD")
    assert (a.below, a.below_squares) == (0.25 + 1.0, 0.0625 + 1.0)
    assert (a.above, a.above_squares) == (0.75 + 1.0, 0.5625 + 1.0)
    assert (d.below, d.below_squares, d.above, d.above_squares) == (0.25, 0.0625, 0.75, 0.5625)


def test_the_open_epoch_is_judged_without_being_closed() -> None:
    service = Service("weighted_random", A=5, B=1, C=1)
    service.run(1000)
    first, second = verdict(service), verdict(service)
    assert first == second
    assert service.balancer.epochs == 0
    service.run(1000)
    assert verdict(service) != first


def test_memory_does_not_grow_with_the_number_of_epochs() -> None:
    service = Service("round_robin", A=1, B=1, C=1)
    flapping = service.peer("C")

    def flap(times: int) -> None:
        for _ in range(times):
            service.balancer.mark(flapping, ready=not flapping.ready)
            service.run(1)

    def held() -> int:
        gc.collect()  # also empties Python's stores of freed tuples, which count as memory and fill by chance
        return tracemalloc.get_traced_memory()[0]

    flap(200)
    tracemalloc.start()
    try:
        flap(1000)
        before = held()
        flap(3000)
        grown = held() - before
    finally:
        tracemalloc.stop()
    assert service.balancer.epochs >= 4000
    assert grown < 2000  # nothing per epoch: 3,000 more would be 24 kB in pointers alone
    assert verdict(service).verdict == "balanced"


def test_a_ledger_without_an_epoch_counts_picks_as_astray() -> None:
    service = Service("random", A=1)
    ledger = Ledger()
    service.peer("A").picks += 2
    ledger.close([service.peer("A")])
    evidence = ledger.evidence(POLICIES["random"].expectation, [service.peer("A")])
    assert (evidence.strays, evidence.drawn) == (2, 0)
