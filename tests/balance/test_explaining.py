"""The first pick of a run, explained: it is the pick that would have been made, and nobody explains afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lbctl.balance.explaining import Explaining
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Why
from lbctl.balance.policies.table import POLICIES
from tests.balance.fleet import Service, built, fleet, letters

PAIRS = ["AB", "AC", "AD", "BC", "BD", "CD"]  # what two choices compare
TOLD = list[tuple[Peer, Call, Why]]


def asked(service: Service) -> TOLD:
    told: TOLD = []
    service.balancer.explain(lambda peer, call, why: told.append((peer, call, why)))
    return told


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.keyed])
def test_the_explained_pick_is_the_one_that_would_have_been_made_and_those_after_it_too(name: str) -> None:
    plain, service = (Service(name, seed=6, A=5, B=1, C=1) for _ in range(2))
    told = asked(service)
    assert service.run(50) == plain.run(50)
    ((peer, _, why),) = told
    assert peer is service.peer(letters([peer]))
    assert why.text
    assert all(len(figures) == len(why.columns) for _, figures in why.rows)


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if policy.keyed])
def test_a_pick_by_key_is_explained_with_its_key(name: str) -> None:
    picker = built(name, fleet([5, 1, 1]))
    for key in _keys():
        peer, why = picker.why(Call(key=key))
        assert peer is picker.pick(Call(key=key))
        assert why.text


def _keys() -> Iterator[bytes]:
    return (b"key-%d" % number for number in range(20))


def test_the_picker_that_explains_is_gone_after_its_first_pick() -> None:
    service = Service("smooth_wrr", A=5, B=1)
    told = asked(service)
    first = service.balancer.picker
    assert isinstance(first, Explaining)
    peer = first.pick(Call(7))
    assert [(who, call) for who, call, _ in told] == [(peer, Call(7))]
    assert not isinstance(service.balancer.picker, Explaining)
    first.pick(Call(8))  # by somebody who still holds it
    assert len(told) == 1


@pytest.mark.parametrize("name", ["least_conn", "peak_ewma", "p2c", "smooth_wrr"])
def test_a_later_pick_is_explained_by_what_is_known_then(name: str) -> None:
    plain, service = (Service(name, seed=6, A=5, B=1, C=1) for _ in range(2))
    told: TOLD = []
    service.balancer.explain(lambda peer, call, why: told.append((peer, call, why)), 21)
    before = service.run(20)
    assert not told
    service.set(A=5, B=1, C=1, D=1)  # the count goes on with the next picker
    plain.run(20)
    plain.set(A=5, B=1, C=1, D=1)
    after = service.run(30)
    assert after == plain.run(30)
    ((peer, _, why),) = told
    assert (len(before), letters([peer])) == (20, after[0])
    assert letters(sorted((each for each, _ in why.rows), key=lambda each: each.instance.key)) in ("ABCD", *PAIRS)


def test_a_run_that_ends_before_the_pick_explains_nothing() -> None:
    service = Service("random", A=1, B=1)
    told: TOLD = []
    service.balancer.explain(lambda peer, call, why: told.append((peer, call, why)), 11)
    service.run(10)
    assert not told
    service.run(1)
    assert len(told) == 1


def test_who_asks_before_anybody_is_ready_is_answered_when_somebody_is() -> None:
    service = Service("random")
    told = asked(service)
    assert service.balancer.picker is None
    service.set(A=1)
    service.run(3)
    assert [peer.instance.key for peer, _, _ in told] == ["A"]


def test_backends_that_come_before_the_first_pick_are_among_the_candidates() -> None:
    service = Service("smooth_wrr", A=1)
    told = asked(service)
    assert service.balancer.picker is not None
    service.set(A=1, B=2)
    service.run(1)
    assert [letters([peer]) for peer, _ in told[0][2].rows] == ["A", "B"]


def test_a_run_that_is_explained_is_judged_like_any_other() -> None:
    service = Service("weighted_random", seed=2, A=5, B=1)
    asked(service)
    service.run(600)
    evidence = service.balancer.evidence()
    assert (evidence.drawn, evidence.strays, service.balancer.epochs) == (600, 0, 0)
