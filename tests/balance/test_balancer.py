from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.change import Change, Restated, Reweighted
from lbctl.balance.peer import Peer
from lbctl.balance.policies.table import POLICIES
from lbctl.model import Identity
from tests.balance.fleet import ANY, Service, instance


def balancer(policy: str = "round_robin") -> Balancer:
    return Balancer(POLICIES[policy], Random(1))


def keys(peers: tuple[Peer, ...]) -> str:
    return "".join(peer.instance.key for peer in peers)


def test_the_first_snapshot_adds_everything_in_key_order_and_nothing_is_ready() -> None:
    balance = balancer()
    change = balance.update([instance("C"), instance("A"), instance("B")])
    assert keys(change.added) == "ABC"
    assert not change.removed
    assert not change.reweighted
    assert "".join(identity.key for identity in balance.peers) == "ABC"
    assert balance.picker is None


def test_a_snapshot_that_says_the_same_is_no_change() -> None:
    balance = balancer()
    first = [instance("A", 5), instance("B")]
    balance.update(first)
    version = balance.version
    renewed = [replace(one, lease=7, mod_revision=99, metadata={"zone": "b"}) for one in first]
    change = balance.update(renewed)
    assert change == Change()
    assert not change
    assert balance.version == version
    assert next(iter(balance.peers.values())).instance.lease == 7


def test_what_left_and_what_came_are_told_apart() -> None:
    balance = balancer()
    balance.update([instance("A"), instance("B")])
    change = balance.update([instance("B"), instance("C")])
    assert (keys(change.added), keys(change.removed)) == ("C", "A")


def test_another_address_under_the_same_key_is_another_peer() -> None:
    balance = balancer()
    (old,) = balance.update([instance("A", port=1)]).added
    balance.mark(old, ready=True)
    change = balance.update([instance("A", port=2)])
    assert change.removed == (old,)
    assert [peer.instance.endpoint.port for peer in change.added] == [2]
    assert balance.picker is None


def test_equal_identities_collapse_and_the_first_counts() -> None:
    balance = balancer()
    change = balance.update([instance("A", 3, port=1), instance("A", 9, port=1), instance("B", port=1)])
    assert [(peer.instance.key, peer.weight) for peer in change.added] == [("A", 3), ("B", 1)]


def test_new_weights_and_states_are_told_with_what_they_were() -> None:
    balance = balancer()
    a, b = balance.update([instance("A", None), instance("B", 2)]).added
    change = balance.update([instance("A", 4), instance("B", 2, status="disabled")])
    assert change.reweighted == (Reweighted(a, 1, 4),)
    assert change.restated == (Restated(b, None, "disabled"),)
    assert (a.weight, b.instance.status) == (4, "disabled")


def test_only_ready_peers_are_picked_and_with_none_there_is_no_picker() -> None:
    balance = balancer()
    a, b = balance.update([instance("A"), instance("B")]).added
    balance.mark(b, ready=True)
    assert balance.picker is not None
    assert {balance.picker.pick(ANY) for _ in range(5)} == {b}
    balance.mark(b, ready=False)
    balance.mark(a, ready=True)
    assert balance.picker is not None
    assert {balance.picker.pick(ANY) for _ in range(5)} == {a}
    balance.mark(a, ready=False)
    assert balance.picker is None


@pytest.mark.parametrize("why", ["drained", "disabled", "weightless"])
def test_peers_that_must_not_be_picked_stay_listed(why: str) -> None:
    service = Service("smooth_wrr", A=1, B=1)
    a = service.peer("A")
    match why:
        case "drained":
            service.balancer.drain(a, drained=True)
        case "disabled":
            service.balancer.update([instance("A", status="disabled"), instance("B")])
        case _:
            service.set(A=0, B=1)
    assert service.run(10) == "B" * 10
    assert a in service.balancer.peers.values()
    service.balancer.drain(a, drained=False)
    service.set(A=1, B=1)
    assert service.run(10).count("A") == 5


def test_when_every_weight_is_zero_all_count_the_same() -> None:
    assert Service("smooth_wrr", A=0, B=0).run(6).count("A") == 3


def test_a_weight_of_zero_is_not_picked_while_the_others_are_connecting() -> None:
    service = Service("smooth_wrr", A=0, B=5)
    service.balancer.mark(service.peer("B"), ready=False)
    assert service.balancer.picker is None


def test_a_late_word_about_a_peer_that_left_is_ignored() -> None:
    balance = balancer()
    (gone,) = balance.update([instance("A")]).added
    balance.update([])
    balance.mark(gone, ready=True)
    assert (gone.ready, balance.picker) == (False, None)


def test_a_peer_that_comes_back_is_the_same_with_its_counts_and_has_to_connect_again() -> None:
    service = Service("round_robin", A=1, B=1)
    service.run(10)
    before = service.peer("A")
    service.set(B=1)
    assert service.balancer.departed == {before.instance.identity: before}
    service.run(4)
    change = service.balancer.update([instance("A", 3), instance("B")])
    assert change.added == (before,)
    assert (before.picks, before.weight, before.ready, before.drained) == (5, 3, False, False)
    assert not service.balancer.departed


def test_a_drain_by_hand_outlives_a_registration() -> None:
    service = Service("round_robin", A=1, B=1)
    service.run(2)
    service.balancer.drain(service.peer("A"), drained=True)
    service.set(B=1)
    service.set(A=1, B=1)
    assert service.run(4) == "BBBB"


def test_peers_that_never_could_be_picked_leave_nothing_behind() -> None:
    balance = balancer()
    for port in range(1, 50):
        balance.update([instance("A", port=port)])
    assert not balance.departed
    assert list(balance.peers) == [Identity("A", instance("A", port=49).endpoint)]


def test_whoever_caches_the_picker_is_told_when_it_may_be_another() -> None:
    balance = balancer()
    told: list[int] = []
    balance.on_change = lambda: told.append(balance.version)
    (a,) = balance.update([instance("A")]).added
    balance.mark(a, ready=True)
    balance.mark(a, ready=True)
    balance.drain(a, drained=True)
    balance.switch(POLICIES["random"])
    balance.switch(POLICIES["random"])
    balance.update([instance("A", 2)])
    assert told == [1, 2, 3, 4, 5]


def test_a_burst_of_changes_builds_one_picker() -> None:
    balance = balancer("smooth_wrr")
    added = balance.update([instance(f"{n:03}", port=n + 1) for n in range(200)]).added
    for peer in added:
        balance.mark(peer, ready=True)
    first = balance.picker
    assert first is not None
    balance.mark(added[0], ready=False)
    balance.mark(added[0], ready=True)
    assert balance.picker is first


def test_a_switch_takes_the_other_policy_and_forgets_what_the_first_one_remembered() -> None:
    service = Service("smooth_wrr", A=1, B=1, C=1)
    service.run(1)  # B and C are owed a third of a call each
    service.balancer.switch(POLICIES["pick_first"])
    assert service.balancer.policy.name == "pick_first"
    assert service.run(3) == "AAA"
    service.balancer.switch(POLICIES["smooth_wrr"])
    assert service.run(3) == "ABC"
