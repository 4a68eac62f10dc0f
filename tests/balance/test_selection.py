"""Whom a picker may choose from: subsets, zones, panic, and what happens when everybody is out."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from uuid import UUID

import pytest

from lbctl.balance.guards.base import CONNECTING, EJECTED, OPEN, UNHEALTHY
from lbctl.balance.peer import Peer
from lbctl.balance.priorities import Level, parts
from lbctl.balance.selection import Mode, Selection, ZoneOptions, standing
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
from lbctl.model import Endpoint, Instance
from tests.balance.fleet import ANY, VECTORS, instance
from tests.balance.guards.ward import Ward

TEN = "ABCDEFGHIJ"
Subset = Callable[[Sequence[str], int, int], list[int]]


def ward(keys: str = "ABCD", policy: str = "round_robin", **rules: object) -> Ward:
    return Ward(keys, selection=Selection(**rules), policy=policy)  # type: ignore[arg-type]


def bar(one: Ward, keys: str, why: str = EJECTED) -> None:
    for key in keys:
        one.balancer.bar(one.peer(key), why, barred=True)


def placed(key: str, zone: object, weight: int = 1) -> Instance:
    return Instance(key, "echo", "seed", Endpoint("10.0.0.1", ord(key)), weight, metadata={"zone": zone})


def counts(one: Ward, picks: int = 10_000) -> dict[str, int]:
    picked: Counter[str] = Counter()
    for _ in range(picks):
        picker = one.balancer.picker
        assert picker is not None
        peer = picker.pick(ANY)
        peer.picks += 1
        picked[peer.instance.key] += 1
    return dict(picked)


# ---- subsets ---------------------------------------------------------------------------------------------------------


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


# ---- levels and panic ------------------------------------------------------------------------------------------------


def test_the_first_level_can_do_with_somewhat_fewer() -> None:
    vector = VECTORS["panic_envoy"]
    given = vector["given"]
    found = [
        parts([Level(100, healthy), Level(100, given["p1_healthy_pct"])], 50)[0].percent
        for healthy in given["p0_healthy_pct"]
    ]
    assert found == vector["expect"]["p0_traffic_pct"]


@pytest.mark.parametrize("row", [0, 1, 4, 5])  # what the source says of the others contradicts its own rule
def test_two_levels_of_which_each_may_panic(row: int) -> None:
    vector = VECTORS["panic_envoy_both"]
    healthy, expected = vector["given"]["rows_p0_p1"][row], vector["expect"]
    found = parts([Level(100, part) for part in healthy], 50)
    assert [part.percent for part in found] == expected["p0_p1_traffic"][row]
    assert [int(part.panics) for part in found] == expected["panic_p0_p1"][row]
    assert min(100, sum(min(100, 140 * part // 100) for part in healthy)) == expected["normalized_total"][row]


@pytest.mark.parametrize("row", [2, 3])
def test_no_level_panics_where_all_together_are_enough(row: int) -> None:
    vector = VECTORS["panic_envoy_both"]
    found = parts([Level(100, part) for part in vector["given"]["rows_p0_p1"][row]], 50)
    assert [int(part.panics) for part in found] == vector["expect"]["panic_p0_p1"][row]


def test_parts_are_always_a_hundred_percent_or_nothing() -> None:
    rng = Random(3)
    for _ in range(3000):
        hosts = [rng.randint(0, 9) for _ in range(rng.randint(1, 4))]
        levels = [Level(count, rng.randint(0, count)) for count in hosts]
        threshold = rng.choice((0, 50, 100))
        found = parts(levels, threshold)
        total = sum(part.percent for part in found)
        assert total == 100 or (total == 0 and not any(level.healthy for level in levels))
        for part, level in zip(found, levels, strict=True):
            assert not part.panics or 100 * level.healthy < threshold * level.hosts
            assert not part.percent or level.healthy or part.panics


@pytest.mark.parametrize(("out", "inside", "mode"), [
    ("", "ABCD", Mode.NORMAL),
    ("A", "BCD", Mode.NORMAL),
    ("AB", "CD", Mode.NORMAL),  # 50 % is not below 50 %
    ("ABC", "ABCD", Mode.PANIC),
    ("ABCD", "ABCD", Mode.PANIC),
])  # fmt: skip
def test_below_the_threshold_all_are_used(out: str, inside: str, mode: Mode) -> None:
    one = ward(panic=50.0, when_all_out=Mode.FAIL)
    bar(one, out)
    assert (one.inside, one.balancer.mode) == (inside, mode)


def test_without_a_threshold_one_healthy_backend_gets_everything() -> None:
    one = ward()
    bar(one, "ABC")
    assert (one.inside, one.balancer.mode) == ("D", Mode.NORMAL)


def test_panic_uses_nobody_who_cannot_be_reached_is_drained_or_has_not_told_its_health() -> None:
    one = ward(panic=50.0)
    one.balancer.mark(one.peer("A"), ready=False)
    bar(one, "B", CONNECTING)
    one.balancer.drain(one.peer("C"), True)
    bar(one, "D")
    assert (one.inside, one.balancer.mode) == ("D", Mode.PANIC)


def test_a_panic_is_an_epoch_like_any_other() -> None:
    one = ward()
    counts(one, 100)
    bar(one, "ABC")
    counts(one, 100)
    bar(one, "D")
    counts(one, 100)
    assert [round(one.balancer.expected(one.peer(key))) for key in "ABCD"] == [50, 50, 50, 150]


# ---- everybody is out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "inside"), [(Mode.PANIC, "ABCD"), (Mode.WAIT, ""), (Mode.FAIL, "")])
def test_when_all_are_out(what: Mode, inside: str) -> None:
    one = ward(when_all_out=what)
    bar(one, "ABCD", OPEN)
    assert (one.inside, one.balancer.mode) == (inside, what)
    one.balancer.bar(one.peer("C"), OPEN, barred=False)
    assert (one.inside, one.balancer.mode) == ("C", Mode.NORMAL)


@pytest.mark.parametrize("what", [Mode.PANIC, Mode.WAIT, Mode.FAIL])
def test_calls_wait_where_nobody_can_be_reached_whatever_was_asked_for(what: Mode) -> None:
    one = ward(when_all_out=what)
    for key in "ABCD":
        one.balancer.mark(one.peer(key), ready=False)
    assert (one.balancer.picker, one.balancer.mode) == (None, Mode.NORMAL)


def test_pick_first_ignores_health_and_nothing_else() -> None:
    one = ward("A", policy="pick_first", when_all_out=Mode.FAIL)
    bar(one, "A", UNHEALTHY)
    assert one.inside == "A"
    bar(one, "A", EJECTED)
    assert one.balancer.mode is Mode.FAIL


# ---- zones -----------------------------------------------------------------------------------------------------------


def zones(near: str, far: str, **rules: object) -> Ward:
    one = Ward("A", selection=Selection(zone=ZoneOptions("here"), **rules), policy="random")  # type: ignore[arg-type]
    one.set(*(placed(key, "here") for key in near), *(placed(key, "there") for key in far))
    one.balancer.tick(one.now_ns)
    return one


def test_the_own_zone_gets_everything_while_it_is_strong_enough() -> None:
    one = zones("ABCD", "EF")
    assert one.inside == "ABCD"
    assert standing(one.peer("E")) == "other_zone"
    one.balancer.bar(one.peer("A"), EJECTED, barred=True)
    assert one.inside == "BCD"  # 1.4 x 75 %


def test_what_the_own_zone_is_too_weak_for_goes_to_the_others() -> None:
    one = zones("ABCD", "EF")
    bar(one, "AB")  # 1.4 x 50 % is 70 %
    found = counts(one)
    assert {key: round(count / 1000, 1) for key, count in found.items()} == {
        "C": pytest.approx(3.5, abs=0.2), "D": pytest.approx(3.5, abs=0.2),
        "E": pytest.approx(1.5, abs=0.2), "F": pytest.approx(1.5, abs=0.2),
    }  # fmt: skip
    assert standing(one.peer("E")) == ""
    expected = one.balancer.expectations()
    assert [round(expected[one.peer(key)]) for key in "ABCDEF"] == [0, 0, 3500, 3500, 1500, 1500]


def test_the_others_get_everything_where_the_own_zone_has_nobody() -> None:
    one = zones("AB", "CD")
    bar(one, "AB")
    assert one.inside == "CD"
    one.set(placed("C", "there"), placed("D", None))
    assert one.inside == "CD"
    doubts = one.balancer._selection.doubts(one.balancer.peers.values())
    assert doubts == ["no backend is in zone here (metadata zone): the other zones got everything"]


def test_all_zones_out_is_everybody_out() -> None:
    one = zones("AB", "CD")
    bar(one, "ABCD")
    assert (one.inside, one.balancer.mode) == ("ABCD", Mode.PANIC)
    one = zones("AB", "CD", when_all_out=Mode.FAIL)
    bar(one, "ABCD")
    assert (one.inside, one.balancer.mode) == ("", Mode.FAIL)


def test_zones_panic_together_and_by_the_number_of_their_backends() -> None:
    one = zones("AB", "CDEFGH", panic=50.0)
    bar(one, "ACDEFGH")  # 50 % and 0 %
    bar(one, "B")
    found = counts(one, 8000)
    assert (found["A"] + found["B"]) / 8000 == pytest.approx(0.25, abs=0.02)
    assert one.balancer.mode is Mode.PANIC


def test_a_pick_over_two_zones_tells_which_was_drawn() -> None:
    one = zones("ABCD", "EF")
    bar(one, "AB")
    picker = one.balancer.picker
    assert picker is not None
    for _ in range(50):
        peer, why = picker.why(ANY)
        level = 1 if peer.instance.key in "CD" else 2
        assert why.text.startswith(f"level {level} has {70 if level == 1 else 30} % of the picks, drawn ")


def test_a_zone_may_stand_under_another_key_and_be_a_number() -> None:
    one = Ward("A", selection=Selection(zone=ZoneOptions("7", key="rack")), policy="random")
    found = [Instance(k, "echo", "seed", Endpoint("h", n), 1, metadata={"rack": n}) for k, n in (("B", 7), ("C", 8))]
    one.set(*found)
    assert one.inside == "B"


# ---- standing --------------------------------------------------------------------------------------------------------


def test_of_several_reasons_the_gravest_is_told() -> None:
    peer = Peer(instance("A"))
    assert standing(peer) == ""
    peer.warmth = 0.4
    assert standing(peer) == "warming"
    peer.aside = "other_zone"
    assert standing(peer) == "other_zone"
    peer.bars.update((OPEN, EJECTED))
    assert standing(peer) == "ejected"
    peer.bars.add(UNHEALTHY)
    assert standing(peer) == "unhealthy"
