"""Subsets: the backends that one of many clients keeps to."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from uuid import UUID

import pytest

from lbctl.balance.selection import standing
from lbctl.balance.subset import (
    SubsetOptions,
    aperture,
    aperture_width,
    deterministic_subset,
    random_subset,
    ring_subset,
    shuffle,
    shuffled_subset,
)
from tests.balance.fleet import VECTORS, instance
from tests.balance.selecting import bar, counts, ward

TEN = "ABCDEFGHIJ"
Subset = Callable[[Sequence[str], int, int], list[int]]


def test_a_random_subset_is_the_one_of_a68() -> None:
    vector = VECTORS["random_subset_a68"]
    given = vector["given"]
    found = random_subset(given["endpoints"], given["subset_size"], given["seed"])
    assert [given["endpoints"][place] for place in found] == vector["expect"]["subset"]


def test_a_random_subset_changes_by_one_member_at_most_when_one_backend_comes() -> None:
    rng = Random(1)
    for _ in range(300):
        addresses = [f"10.0.0.{n}:50051" for n in rng.sample(range(250), rng.randint(1, 40))]
        size, seed = rng.randint(1, 45), rng.randrange(1 << 31)
        before = {addresses[place] for place in random_subset(addresses, size, seed)}
        more = [*addresses, "10.0.1.1:50051"]
        rng.shuffle(more)
        after = {more[place] for place in random_subset(more, size, seed)}
        assert len(before) == min(size, len(addresses))
        assert len(before - after) <= 1
        assert len(after - before) <= 1


def test_grpc_go_hashes_addresses_as_it_prints_them() -> None:
    given = VECTORS["random_subset_a68"]["given"]
    printed = [f'{{Addr: "{address}", ServerName: "", }}' for address in given["endpoints"]]
    found = random_subset(given["endpoints"], given["subset_size"], given["seed"], "grpc-go")
    assert found == random_subset(printed, given["subset_size"], given["seed"])
    assert found != random_subset(given["endpoints"], given["subset_size"], given["seed"])


def test_a_ring_is_walked_from_the_clients_own_point() -> None:
    """The rule written out: 160 points of number and address, sorted; members in the order of meeting them."""

    def fnv1a(text: str) -> int:
        found = 2166136261
        for byte in text.encode():
            found = (found ^ byte) * 16777619 % 2**32
        return found

    assert fnv1a("foobar") == 0xBF9CF968  # as published with the function
    addresses = [f"10.0.0.{n}:50051" for n in range(30)]
    for seed in range(5):
        client = str(UUID(int=Random(seed).getrandbits(128), version=4))
        points = sorted((fnv1a(f"{i}{address}"), place) for place, address in enumerate(addresses) for i in range(160))
        first = bisect_right(points, (fnv1a(client), 30))
        members = dict.fromkeys(place for _, place in points[first:] + points[:first])
        assert ring_subset(addresses, 7, seed) == [*members][:7]


@pytest.mark.parametrize("subset", [ring_subset, shuffled_subset])
def test_one_more_backend_moves_a_client_on_a_ring_by_one_and_one_that_shuffles_anywhere(subset: Subset) -> None:
    moved = Counter[int]()
    for seed in range(60):
        addresses = [f"10.0.0.{n}:50051" for n in range(40)]
        before = {addresses[place] for place in subset(addresses, 8, seed)}
        addresses.append("10.0.1.1:50051")
        after = {addresses[place] for place in subset(addresses, 8, seed)}
        assert len(before) == len(after) == 8
        moved[len(before - after)] += 1
    if subset is ring_subset:
        assert set(moved) <= {0, 1}
    else:  # eight of 41 again: 6.4 of the eight are others on average
        assert 6 < sum(count * times for count, times in moved.items()) / 60 < 7


@pytest.mark.parametrize("kind", ["shuffled", "ring"])
def test_every_kind_by_chance_gives_all_backends_clients(kind: str) -> None:
    clients: Counter[str] = Counter()
    for seed in range(100):
        clients.update(ward(TEN, subset=SubsetOptions(size=3, kind=kind, seed=seed)).inside)
    assert clients.total() == 300
    assert set(clients) == set(TEN)


def test_clients_with_other_seeds_share_the_backends_as_chance_has_it() -> None:
    addresses = [f"10.0.0.{n}:50051" for n in range(100)]
    clients: Counter[int] = Counter(place for seed in range(100) for place in random_subset(addresses, 10, seed))
    assert sum(clients.values()) == 1000
    assert min(clients.values()) >= 2  # mean 10, sd 3
    assert max(clients.values()) <= 20


def test_the_subsets_of_the_sre_book() -> None:
    vector = VECTORS["sre_subset"]
    given = vector["given"]
    for client, subset in vector["expect"]["client_to_subset"].items():
        found = deterministic_subset(
            given["backends"], given["subset_size"], int(client), lambda turn: given["shuffled"][turn]
        )
        assert found == subset


@pytest.mark.parametrize(("count", "size"), [(12, 3), (10, 5), (100, 10)])
def test_every_round_of_clients_covers_every_backend_once(count: int, size: int) -> None:
    def shuffled(turn: int) -> list[int]:
        return shuffle(count, turn)

    slices = count // size
    for turn in range(3):
        clients = range(turn * slices, (turn + 1) * slices)
        dealt = [place for client in clients for place in deterministic_subset(count, size, client, shuffled)]
        assert sorted(dealt) == list(range(count))


def test_a_subset_of_more_backends_than_there_are_is_all_of_them() -> None:
    assert deterministic_subset(3, 5, 17, lambda turn: shuffle(3, turn)) == [0, 1, 2]
    assert sorted(random_subset(["a", "b"], 9, 1)) == [0, 1]


def test_finagles_deterministic_aperture() -> None:
    vector = VECTORS["finagle_daperture"]
    given, expected = vector["given"], vector["expect"]
    weights = [round(weight * 10**17) for weight in given["weights"]]
    assert float(aperture_width(len(weights), given["min_aperture"], given["clients"])) == expected["width"]
    for client in given["client_ids"]:
        covered = aperture(weights, given["min_aperture"], client, given["clients"])
        assert list(covered) == expected[f"indices_client{client}"]


def test_all_clients_together_cover_every_backend_to_the_same_extent() -> None:
    rng = Random(2)
    for _ in range(200):
        count, size, clients = rng.randint(1, 20), rng.randint(1, 15), rng.randint(1, 12)
        sums = [Fraction(0)] * count
        for client in range(clients):
            covered = aperture([1] * count, size, client, clients)
            assert len(covered) >= min(size, count)
            assert all(0 < part <= 1 for part in covered.values())
            for place, part in covered.items():
                sums[place] += part
        assert len(set(sums)) == 1


def test_only_members_of_the_subset_are_picked_and_the_others_say_why() -> None:
    one = ward(TEN, subset=SubsetOptions(size=3, seed=5))
    members = one.inside
    assert len(members) == 3
    outside = set(TEN) - set(members)
    assert {standing(one.peer(key)) for key in outside} == {"not_in_subset"}
    assert {standing(one.peer(key)) for key in members} == {""}
    assert ward(TEN, subset=SubsetOptions(size=3), seed=5).inside == members  # the run's seed, without one of its own


def test_a_member_that_leaves_is_replaced_and_one_that_is_ejected_is_not() -> None:
    one = ward(TEN, subset=SubsetOptions(size=3, seed=5))
    members = one.inside
    bar(one, members[0])
    assert one.inside == members[1:]
    one.set(*(peer.instance for peer in one.balancer.peers.values() if peer.instance.key != members[0]))
    assert len(one.inside) == 3
    assert set(members[1:]) < set(one.inside)


def test_backends_of_no_weight_are_no_members() -> None:
    one = ward("AB", subset=SubsetOptions(size=2))
    one.set(instance("A", 0), instance("B", 1), instance("C", 1), instance("D", 0))
    assert one.inside == "BC"


def test_backends_at_the_ends_of_an_aperture_get_the_part_that_is_covered() -> None:
    # 3 clients of 4 backends, at least 2 each: arcs of 2/3 of the ring, so client 0 covers A, B and 2/3 of C
    chosen = SubsetOptions(size=2, kind="aperture", client=0, clients=3)
    one = ward(policy="weighted_random", subset=chosen)
    found = counts(one)
    assert set(found) == {"A", "B", "C"}
    assert found["C"] / found["A"] == pytest.approx(2 / 3, rel=0.08)
    assert one.balancer.expected(one.peer("C")) == pytest.approx(10_000 * (2 / 3) / (8 / 3), rel=0.001)


def test_clients_of_an_aperture_are_counted_from_zero() -> None:
    with pytest.raises(ValueError, match="counted from 0"):
        SubsetOptions(kind="aperture", client=2, clients=2)
