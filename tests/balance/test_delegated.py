"""Picks that are made elsewhere: counted where they are seen, judged by the picker in whose name they were made."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer, Target
from lbctl.balance.policies.base import Call, Expectation
from lbctl.balance.policies.delegated import Delegated
from lbctl.balance.policies.table import ALL_POLICIES, GRPC_POLICIES, POLICIES
from lbctl.model import Endpoint, Instance
from lbctl.stats.fairness import judge

ANY = Call()


def instance(number: int) -> Instance:
    return Instance(f"/s/{number}", "s", "seed", Endpoint("127.0.0.1", number))


class Elsewhere:
    """The target of every peer: somebody who picks, and tells later."""

    def __init__(self) -> None:
        self.outer = Peer(instance(0))
        self.tickets: list[Delegated] = []

    def send(self, call: object) -> None:
        """Calls go nowhere here."""

    def begin(self, ticket: Delegated, targets: Sequence[Target]) -> Peer:
        assert all(target is self for target in targets)
        self.tickets.append(ticket)
        return self.outer

    def hand_over(self, balancer: Balancer, count: int) -> Delegated:
        """Pick so often, as an engine does; the picker in whose name that was."""
        for _ in range(count):
            picker = balancer.picker
            assert picker is not None
            peer = picker.pick(ANY)
            assert peer is self.outer
            peer.picks += 1
        return self.tickets[-1]


def fleet(policy: str, count: int) -> tuple[Balancer, Elsewhere, list[Peer]]:
    """A balancer over peers that somebody else picks, all ready."""
    elsewhere = Elsewhere()
    balancer = Balancer(GRPC_POLICIES[policy], Random(1))
    change = balancer.update(instance(number) for number in range(1, count + 1))
    for peer in change.added:
        peer.target = elsewhere
        balancer.mark(peer, True)
    return balancer, elsewhere, list(change.added)


def see(ticket: Delegated, *peers: Peer) -> None:
    for peer in peers:
        ticket.credit(peer, again=False, late=False)


def test_the_policies_of_grpc_are_told_apart_by_their_name_and_no_others_are_called_so() -> None:
    assert all(name.startswith("grpc:") for name in GRPC_POLICIES)
    assert not any(name.startswith("grpc:") for name in POLICIES)
    assert ALL_POLICIES == POLICIES | GRPC_POLICIES


def test_a_pick_moves_to_the_peer_where_it_is_seen() -> None:
    balancer, elsewhere, (a, b) = fleet("grpc:round_robin", 2)
    ticket = elsewhere.hand_over(balancer, 5)
    see(ticket, a, b, a)
    assert (elsewhere.outer.picks, a.picks, b.picks) == (2, 2, 1)
    assert balancer.expectations() == {a: 1.5, b: 1.5}


def test_turns_are_judged_to_the_call_and_calls_under_way_are_no_fault() -> None:
    balancer, elsewhere, (a, b) = fleet("grpc:round_robin", 2)
    ticket = elsewhere.hand_over(balancer, 40)
    see(ticket, *[a] * 20, *[b] * 17)
    assert judge(balancer.evidence()).verdict == "balanced"  # three of b's are still under way
    see(ticket, b, b, b)
    assert judge(balancer.evidence()).verdict == "balanced"
    ticket = elsewhere.hand_over(balancer, 4)
    see(ticket, a, a, a, a)
    assert judge(balancer.evidence()).verdict == "skewed"


def test_calls_that_were_handed_over_while_the_set_changed_are_held_against_nobody() -> None:
    balancer, elsewhere, (a, b) = fleet("grpc:round_robin", 2)
    ticket = elsewhere.hand_over(balancer, 100)
    see(ticket, *[a] * 50, *[b] * 40)
    ticket.loosen()  # ten are under way
    see(ticket, *[a] * 10)
    assert judge(balancer.evidence()).verdict == "balanced"


def test_a_call_seen_after_its_picker_has_gone_counts_and_is_not_judged() -> None:
    balancer, elsewhere, (a, b, c) = fleet("grpc:round_robin", 3)
    old = elsewhere.hand_over(balancer, 9)
    see(old, a, b, c, a, b, c)
    balancer.update([instance(2), instance(3)])
    new = elsewhere.hand_over(balancer, 20)
    see(old, a, b, c)
    see(new, *[b, c] * 10)
    assert (a.picks, b.picks, c.picks) == (3, 13, 13)
    assert (a.belated, b.belated, c.belated) == (1, 1, 1)
    assert sum(balancer.expectations().values()) == pytest.approx(29)
    assert judge(balancer.evidence()).verdict == "balanced"


def test_a_call_seen_at_a_backend_its_picker_did_not_have_is_not_judged() -> None:
    balancer, elsewhere, (a, b) = fleet("grpc:pick_first", 2)
    balancer.mark(b, False)
    ticket = elsewhere.hand_over(balancer, 3)
    see(ticket, a, a, b)
    assert (a.judged, b.judged, b.picks) == (2, 0, 1)
    assert judge(balancer.evidence()).verdict == "balanced"


def test_a_call_that_was_sent_on_counts_at_both_and_one_that_was_late_is_over() -> None:
    balancer, elsewhere, (a, b) = fleet("grpc:round_robin", 2)
    ticket = elsewhere.hand_over(balancer, 2)
    ticket.credit(a, again=False, late=False)
    ticket.credit(b, again=True, late=False)
    elsewhere.outer.finished += 1  # the second one ended before it was seen
    ticket.credit(b, again=False, late=True)
    assert (elsewhere.outer.picks, elsewhere.outer.in_flight) == (0, 0)
    assert (a.picks, b.picks, b.in_flight) == (1, 2, 1)


@pytest.mark.parametrize(
    ("policy", "expectation", "verdict"),
    [
        ("grpc:round_robin", Expectation.COUNTS, "balanced"),
        ("grpc:pick_first", Expectation.SINGLE, "skewed"),
        ("grpc:weighted_round_robin", Expectation.FEEDBACK, "not_applicable"),
        ("grpc:ring_hash", Expectation.HASH, "not_applicable"),
    ],
)
def test_each_policy_is_judged_by_what_it_promises(policy: str, expectation: Expectation, verdict: str) -> None:
    balancer, elsewhere, (a, b) = fleet(policy, 2)
    see(elsewhere.hand_over(balancer, 100), *[a, b] * 50)
    assert GRPC_POLICIES[policy].expectation is expectation
    assert judge(balancer.evidence()).verdict == verdict
