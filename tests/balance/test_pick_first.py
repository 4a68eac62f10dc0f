from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.eyeballs import Attempt, Race, family, interleaved, race
from lbctl.balance.guards.base import BARS, EJECTED, HEALTH
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Setup
from lbctl.balance.policies.pick_first import shuffled
from lbctl.balance.policies.table import POLICIES
from lbctl.model import Endpoint, Instance
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import ANY, VECTORS, Service, built, drawn, fleet, letters


def test_pick_first_gives_everything_to_the_first_peer_in_key_order() -> None:
    assert letters(drawn(built("pick_first", fleet([1, 9, 9])), 5)) == "AAAAA"


def test_pick_first_stays_where_it_is_when_peers_join_before_the_chosen_one() -> None:
    service = Service("pick_first", B=1, C=1)
    assert service.run(2) == "BB"
    service.set(A=9, B=1, C=1, D=1)
    assert service.run(2) == "BB"


def test_pick_first_moves_on_when_the_chosen_one_breaks_and_does_not_go_back() -> None:
    service = Service("pick_first", A=1, B=1, C=1)
    first = service.run(1)
    service.balancer.mark(service.peer("A"), ready=False)
    second = service.run(2)
    service.balancer.mark(service.peer("A"), ready=True)
    assert (first, second, service.run(2)) == ("A", "BB", "BB")


@pytest.mark.parametrize("away", ["drained", "deregistered", "disconnected"])
def test_pick_first_forgets_a_chosen_peer_however_it_went_away(away: str) -> None:
    service = Service("pick_first", A=1, B=1)
    service.run(1)
    gone = service.peer("A")
    match away:
        case "drained":
            service.balancer.drain(gone, drained=True)
            service.run(1)
            service.balancer.drain(gone, drained=False)
        case "deregistered":
            service.set(B=1)
            service.run(1)
            service.set(A=1, B=1)
        case _:
            service.balancer.mark(gone, ready=False)
            service.run(1)
            service.balancer.mark(gone, ready=True)
    assert service.run(1) == "B"


@pytest.mark.parametrize("why", sorted(HEALTH))
def test_pick_first_stays_with_a_backend_of_bad_health_whatever_else_changes(why: str) -> None:
    service = Service("pick_first", B=1, C=1)
    service.run(1)
    service.balancer.bar(service.peer("B"), why, barred=True)
    picked = service.run(2)
    service.set(A=1, B=1, C=1)
    picked += service.run(2)
    service.balancer.bar(service.peer("B"), why, barred=False)
    service.set(A=1, B=5)
    assert picked + service.run(2) == "BBBBBB"


@pytest.mark.parametrize("why", sorted({*BARS} - HEALTH))
def test_pick_first_leaves_a_backend_that_guards_keep_out_and_stays_away(why: str) -> None:
    service = Service("pick_first", A=1, B=1, C=1)
    picked = service.run(1)
    for barred in (True, False):
        service.balancer.bar(service.peer("A"), why, barred=barred)
        picked += service.run(2)
    service.set(A=2, B=1, C=1)
    assert picked + service.run(1) == "ABBBBB"


def test_pick_first_keeps_its_backend_where_all_are_out_and_all_are_used() -> None:
    service = Service("pick_first", A=1, B=1, C=1)
    service.run(1)
    picked = ""
    for key in "ABC":
        service.balancer.bar(service.peer(key), EJECTED, barred=True)
        picked += service.run(1)
    service.set(A=7, B=7, C=7)
    assert picked + service.run(1) == "BCCC"


def endpoint(text: str) -> Endpoint:
    host, _, port = text.rpartition(":")
    return Endpoint(host.strip("[]"), int(port))


def test_address_families_take_turns_as_published() -> None:
    vector = VECTORS["pf_interleave"]
    assert interleaved(vector["given"]["addresses"], endpoint) == vector["expect"]["order"]


@given(st.lists(st.sampled_from(["[::1]:1", "[::2]:1", "1.1.1.1:1", "1.1.1.2:1", "1.1.1.3:1", "a:1", "b:1"])))
def test_interleaving_keeps_each_address_once_and_the_order_within_a_family(addresses: list[str]) -> None:
    order = interleaved(addresses, endpoint)
    assert sorted(order) == sorted(set(addresses))
    for kind in ("ipv4", "ipv6", "name"):
        of_kind = [address for address in dict.fromkeys(addresses) if family(endpoint(address).host) == kind]
        assert [address for address in order if family(endpoint(address).host) == kind] == of_kind


def test_attempts_begin_as_published() -> None:
    vector = VECTORS["pf_happy_eyeballs"]
    found = race([Attempt(None), Attempt(0.0), Attempt(20.0, succeeds=True)])
    assert vector["expect"]["attempt_start_ms"] == {"A": 0, "B": 250, "C": "250 (B failed before its timer)"}
    assert found == Race((0.0, 250.0, 250.0), "ABC".index(vector["expect"]["chosen"]), vector["expect"]["ready_ms"])


@pytest.mark.parametrize(
    ("attempts", "delay_ms", "expected"),
    [
        ([Attempt(20, succeeds=True), Attempt(1, succeeds=True)], 250, Race((0, None), 0, 20)),
        ([Attempt(400, succeeds=True), Attempt(100, succeeds=True)], 250, Race((0, 250), 1, 350)),
        ([Attempt(300, succeeds=True), Attempt(100, succeeds=True)], 250, Race((0, 250), 0, 300)),
        ([Attempt(120), Attempt(300), Attempt(None)], 250, Race((0, 120, 370), None, None)),
        ([Attempt(None), Attempt(10, succeeds=True)], 1, Race((0, 100), 1, 110)),
        ([Attempt(None), Attempt(10, succeeds=True)], 60_000, Race((0, 2000), 1, 2010)),
        ([], 250, Race((), None, None)),
    ],
)
def test_the_first_connection_that_is_ready_wins(attempts: list[Attempt], delay_ms: float, expected: Race) -> None:
    assert race(attempts, delay_ms) == expected


def dual_stack() -> list[Peer]:
    """Key order: two of IPv4, one of IPv6; a third of IPv4 has the address of the first."""
    hosts = {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.1", "d": "fd00::1"}
    return [Peer(Instance(key, "echo", "seed", Endpoint(host, 1)), ready=True) for key, host in hosts.items()]


def first_of(peers: list[Peer], seed: int = 1, **options: str) -> str:
    policy = POLICIES["pick_first"].with_options(options)
    return policy.build(peers, Setup(Random(seed), policy.options)).pick(ANY).instance.key


def test_the_first_of_the_order_is_preferred_and_then_the_other_family() -> None:
    a, b, c, d = dual_stack()
    assert [peer.instance.key for peer in interleaved([a, b, c, d], lambda peer: peer.instance.endpoint)] == [
        "a",
        "d",
        "b",
    ]
    assert first_of([a, b, c, d]) == "a"
    assert first_of([d, a, b], interleave="false") == "d"


def test_a_uniform_shuffle_makes_everyone_first_with_the_same_chance() -> None:
    peers = fleet([9, 1, 1, 1])
    firsts = Counter(first_of(peers, seed, shuffle="uniform") for seed in range(4000))
    assert p_value(sum((firsts[key] - 1000) ** 2 / 1000 for key in "ABCD"), 3) > 1e-6


def test_a_weighted_shuffle_makes_each_the_first_of_those_left_by_weight() -> None:
    peers, rng, total = fleet([5, 1, 1]), Random(2), 7000
    orders = Counter(letters(shuffled(peers, [5, 1, 1], rng)) for _ in range(total))
    chance = {"ABC": 5 / 14, "ACB": 5 / 14, "BAC": 5 / 42, "BCA": 1 / 42, "CAB": 5 / 42, "CBA": 1 / 42}
    assert abs(sum(chance.values()) - 1) < 1e-12
    assert p_value(sum((orders[o] - total * p) ** 2 / (total * p) for o, p in chance.items()), 5) > 1e-6


def test_weights_that_are_all_zero_count_as_one_in_a_weighted_shuffle() -> None:
    peers = fleet([0, 0])
    firsts = Counter(first_of(peers, seed, shuffle="weighted") for seed in range(2000))
    assert p_value(sum((firsts[key] - 1000) ** 2 / 1000 for key in "AB"), 1) > 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_a_shuffled_pick_first_stays_with_its_choice_when_others_join_and_leave(seed: int) -> None:
    peers = fleet([1] * 6)
    policy = POLICIES["pick_first"].with_options({"shuffle": "uniform"})
    setup = Setup(Random(seed), policy.options)
    chosen = set()
    for those in (peers[2:4], peers, peers[1:], peers[2:4], peers[:4]):
        picker = policy.build(those, setup)
        chosen.add(picker.pick(ANY))
        picker.retire()
    assert len(chosen) == 1
