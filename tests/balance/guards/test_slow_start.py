"""Slow start: the curves of three dialects, who gets it, and what the picks are meanwhile."""

from __future__ import annotations

import pytest

from lbctl.balance.guards.base import UNHEALTHY
from lbctl.balance.guards.slow_start import SlowStart, SlowStartOptions, warmth
from tests.balance.fleet import ANY, VECTORS, instance, letters
from tests.balance.guards.ward import SECOND, Ward


def options(**values: object) -> SlowStartOptions:
    return SlowStartOptions(**values)  # type: ignore[arg-type]


def ward(keys: str = "AB", policy: str = "smooth_wrr", **values: object) -> Ward:
    return Ward(keys, lambda balancer: [SlowStart(options(**values), balancer)], policy=policy)


def test_haproxys_sixteenths() -> None:
    vector = VECTORS["slow_start_haproxy"]
    given = vector["given"]
    chosen = options(dialect="haproxy", window=float(given["slowstart_s"]))
    found = [warmth(chosen, round(passed * SECOND), given["weight"]) * 16 for passed in given["elapsed_s"]]
    assert found == vector["expect"]["eweight_of_16"]


@pytest.mark.parametrize(("aggression", "passed_s", "part"), [
    (1, 0, 0.1), (1, 3, 0.1), (1, 6, 0.2), (1, 15, 0.5), (1, 30, 1.0), (1, 99, 1.0),
    (2, 7.5, 0.5), (2, 0.3, 0.1), (0.5, 15, 0.25),
])  # fmt: skip
def test_envoys_curve(aggression: float, passed_s: float, part: float) -> None:
    assert warmth(options(aggression=aggression), round(passed_s * SECOND), 1) == pytest.approx(part)


@pytest.mark.parametrize(("weight", "passed_s", "used"), [(100, 0, 1), (100, 150, 25), (100, 599, 99), (3, 300, 1)])
def test_dubbos_whole_weights(weight: int, passed_s: int, used: int) -> None:
    chosen = options(dialect="dubbo", window=600.0)
    assert warmth(chosen, passed_s * SECOND, weight) * weight == pytest.approx(used)


def test_no_warmth_is_ever_zero_or_above_one() -> None:
    for dialect in ("envoy", "haproxy", "dubbo"):
        chosen, before = options(dialect=dialect, min_weight=0.1), 0.0
        for step in range(400):
            part = warmth(chosen, step * SECOND // 10, 7)
            assert 0 < part <= 1
            assert part >= before
            before = part


def test_who_is_there_at_the_beginning_has_its_whole_weight() -> None:
    one = ward()
    assert [peer.warmth for peer in one.balancer.peers.values()] == [1.0, 1.0]


def test_who_comes_during_the_run_warms_up() -> None:
    one = ward(window=10)
    one.set(instance("A"), instance("B"), instance("C"))
    warmths = [one.peer("C").warmth]
    one.pass_(0)
    for _ in range(10):
        one.pass_(1)
        warmths.append(one.peer("C").warmth)
    assert warmths == pytest.approx([0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert one.peer("A").warmth == 1.0


def test_picks_and_their_expectation_follow_the_warmth() -> None:
    one = ward(window=10)
    one.set(instance("A"), instance("B"), instance("C"))
    one.pass_(0)
    one.pass_(5)
    for _ in range(500):
        picker = one.balancer.picker
        assert picker is not None
        picker.pick(ANY).picks += 1
    assert one.peer("C").picks == pytest.approx(100, abs=1)  # half a weight of two and a half
    assert one.balancer.expected(one.peer("C")) == pytest.approx(100)


def test_an_even_ramp_gives_what_its_integral_says() -> None:
    one = ward(window=10)
    one.set(instance("A"), instance("B"), instance("C"))
    one.pass_(0)
    for _ in range(1000):
        one.pass_(0.01)
        for _ in range(5):
            picker = one.balancer.picker
            assert picker is not None
            picker.pick(ANY).picks += 1
    integral = sum(5 * part / (2 + part) for part in (max(0.1, step * 0.01 / 10) for step in range(1000)))
    assert one.peer("C").picks == pytest.approx(integral, rel=0.02)
    assert one.balancer.expected(one.peer("C")) == pytest.approx(one.peer("C").picks, abs=30)


def test_a_backend_that_was_out_starts_slowly_again() -> None:
    one = ward(window=10)
    one.balancer.bar(one.peer("A"), UNHEALTHY, barred=True)
    one.pass_(60)
    assert one.peer("A").warmth == 1.0  # nobody sees it
    one.balancer.bar(one.peer("A"), UNHEALTHY, barred=False)
    assert one.peer("A").warmth == 0.1
    one.pass_(0)
    one.pass_(20)
    assert one.peer("A").warmth == 1.0


def test_one_that_goes_while_it_warms_up_is_forgotten() -> None:
    one = ward(window=10)
    one.set(instance("A"), instance("B"), instance("C"))
    one.pass_(0)
    one.balancer.mark(one.peer("C"), ready=False)
    one.set(instance("A"), instance("B"))
    one.pass_(5)
    one.set(instance("A"), instance("B"), instance("C"))
    assert one.peer("C").warmth == 0.1


def test_a_window_makes_few_pickers() -> None:
    one = ward(window=10)
    one.set(instance("A"), instance("B"), instance("C"))
    one.pass_(0)
    before, pickers = one.balancer.picker, 0
    for _ in range(2000):
        one.pass_(0.01)
        pickers += one.balancer.picker is not before
        before = one.balancer.picker
    assert pickers <= 51


def test_policies_without_weights_see_nothing_of_it() -> None:
    one = ward(policy="round_robin", window=10)
    one.set(instance("A"), instance("B"), instance("C"))
    picker = one.balancer.picker
    assert picker is not None
    assert sorted(letters(picker.pick(ANY) for _ in range(6))) == list("AABBCC")
