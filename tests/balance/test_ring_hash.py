from __future__ import annotations

import math
from bisect import bisect_left
from random import Random

import pytest
from xxhash import xxh64_intdigest

from lbctl.balance.hashing.dialects import MOST_POINTS
from lbctl.balance.policies.base import Call
from lbctl.balance.policies.ring_hash import LIMIT, counts_of, ring_of, scale_of
from lbctl.errors import UsageError
from tests.balance.fleet import VECTORS
from tests.balance.keyed import KEYS, at, hosts, owner, owners, picker


def points(addresses: list[str], weights: list[int], least: int, most: int = LIMIT) -> list[list[object]]:
    ring = ring_of(tuple(addresses), tuple(weights), least, most)
    return [[str(point), addresses[node]] for point, node in zip(ring.points, ring.owners, strict=False)]


def test_rings_are_as_envoy_and_grpc_have_them() -> None:
    even = VECTORS["ringhash_2x3_is_4"]
    assert points(even["given"]["hosts"], [1, 1], even["given"]["min_ring_size"]) == even["expect"]["ring"]
    tiny = VECTORS["ringhash_weighted_1_2_3"]
    given = tiny["given"]
    made = points([*given["hosts"]], [*given["hosts"].values()], given["min_ring_size"], given["max_ring_size"])
    assert made == tiny["expect"]["ring"]
    abc = VECTORS["ringhash_grpcgo_abc"]
    given = abc["given"]
    made = points([*given["hosts"]], [*given["hosts"].values()], given["min_ring_size"], given["max_ring_size"])
    assert made == abc["expect"]["ring"]


def test_a_large_ring_has_points_by_weight_and_sends_hashes_where_envoy_does() -> None:
    vector = VECTORS["ringhash_weighted_large"]
    weights = vector["given"]["hosts"]
    ring = ring_of(tuple(weights), tuple(weights.values()), vector["given"]["min_ring_size"], LIMIT)
    assert [ring.owners[:-1].count(node) for node in range(3)] == vector["expect"]["entries"]
    step = (2**64 - 1) // 6000
    hit = [ring.owners[ring.at(number * step)] for number in range(6000)]
    assert [hit.count(node) for node in range(3)] == vector["expect"]["counts"]


@pytest.mark.parametrize("case", VECTORS["ringhash_sizes"]["expect"]["cases"])
def test_the_size_of_a_ring_follows_from_the_weights(case: dict[str, object]) -> None:
    weights, least, most = case["weights"], case["min"], case["max"]
    assert isinstance(weights, list)
    assert isinstance(least, int)
    assert isinstance(most, int)
    assert math.ceil(scale_of(weights, least, most)) == case["size"]
    assert sum(counts_of(weights, least, most)) == case["size"]


def test_the_largest_ring_is_that_of_the_dialect_and_never_larger_than_what_is_quick_to_make() -> None:
    weights = dict(zip(hosts(3), (4999, 1, 1), strict=True))
    sizes = {
        dialect: len(picker("ring_hash", at(weights), dialect=dialect).ring.points)  # type: ignore[attr-defined]
        for dialect in ("grpc", "java", "envoy")
    }
    assert sizes == {"grpc": 4096, "java": 4096, "envoy": 5001}  # ceil(1024 / 5001) for each of the lightest


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ring_hash", "bounded_load"])
def test_a_ring_that_weights_would_make_huge_is_cut_to_half_a_million_points(policy: str) -> None:
    weights = dict(zip(hosts(3), (999_999_999, 1, 3), strict=True))
    options = {"ring_hash": {"dialect": "envoy", "min_ring_size": str(LIMIT)}, "bounded_load": {"probe": "envoy"}}
    ring = picker(policy, at(weights), **options[policy]).ring  # type: ignore[attr-defined]
    assert len(ring.points) == MOST_POINTS == 524_288
    assert sum(ring.arcs[1:]) < 1e-4


def test_a_backend_less_moves_more_keys_than_it_had() -> None:
    vector = VECTORS["ringhash_not_minimal_10_to_9"]
    addresses = [f"10.0.0.{number}:80" for number in range(10)]
    keys = [b"%d" % number for number in range(20_000)]
    before, after = (picker("ring_hash", at(each)) for each in (addresses, addresses[:-1]))
    assert [len(ring_of(tuple(each), (1,) * len(each), 1024, 4096).points) for each in (addresses, addresses[:-1])] == (
        vector["expect"]["ring_sizes"]
    )
    was, now = owners(before, keys), owners(after, keys)
    assert sum(old != new for old, new in zip(was, now, strict=True)) == vector["expect"]["keys_moved"]
    assert was.count(addresses[-1]) == vector["expect"]["keys_owned_by_removed"]


def test_grpc_java_does_not_begin_anew_beyond_the_largest_signed_point() -> None:
    vector = VECTORS["ringhash_java_no_wrap"]
    addresses = tuple(f"127.0.0.1:{port}" for port in range(90, 96))
    plain, signed = (ring_of(addresses, (1,) * 6, 12, LIMIT, signed=java) for java in (False, True))
    hash_ = int(vector["given"]["request_hash"])
    assert addresses[plain.owners[bisect_left(plain.points, hash_)]] == vector["expect"]["envoy_core_go"]
    turned = hash_ ^ (1 << 63)
    assert addresses[signed.owners[bisect_left(signed.points, turned)]] == vector["expect"]["java"]


def test_java_differs_in_about_one_key_in_the_size_of_the_ring() -> None:
    peers = at(hosts(6))
    options = {"min_ring_size": "24", "max_ring_size": "24"}
    keys = [b"%d" % number for number in range(24_000)]
    grpc, java = (owners(picker("ring_hash", peers, dialect=each, **options), keys) for each in ("grpc", "java"))
    ring = ring_of(tuple(hosts(6)), (1,) * 6, 24, 24)
    beyond = max(point for point in ring.points if point < 1 << 63)
    first = min(point for point in ring.points if point > 1 << 63)
    for key, one, other in zip(keys, grpc, java, strict=True):
        hash_ = xxh64_intdigest(key)
        if not beyond < hash_ < 1 << 63:
            assert one == other
        else:
            assert one == hosts(6)[ring.owners[ring.points.index(first)]]
            assert other == hosts(6)[ring.owners[ring.points.index(beyond)]]


def linear(addresses: list[str], counts: list[int], key: bytes) -> str:
    """The owner by looking at every point."""
    hash_ = xxh64_intdigest(key)
    ring = [
        (xxh64_intdigest(f"{address}_{number}".encode()), address)
        for address, count in zip(addresses, counts, strict=True)
        for number in range(count)
    ]
    above = [entry for entry in ring if entry[0] >= hash_]
    return min(above or ring)[1]


def test_owners_agree_with_a_linear_search_on_10_000_cases() -> None:
    rng, cases = Random(9), 0
    while cases < 10_000:
        weights = [rng.randrange(1, 6) for _ in range(rng.randrange(1, 6))]
        addresses = hosts(len(weights))
        least = rng.randrange(1, 16)
        most = least + rng.randrange(20)
        options = {"min_ring_size": str(least), "max_ring_size": str(most)}
        made = picker("ring_hash", at(dict(zip(addresses, weights, strict=True))), **options)
        counts: list[int] = []
        target = 0.0
        for weight in weights:
            target += scale_of(weights, least, most) * (weight / sum(weights))
            points = sum(counts)
            while points < target:
                points += 1
            counts.append(points - sum(counts))
        for number in range(50):
            key = b"%d-%d" % (cases, number)
            assert owner(made, key) == linear(addresses, counts, key)
            cases += 1


def test_owners_do_not_depend_on_the_order_of_backends() -> None:
    weights = {address: place % 3 + 1 for place, address in enumerate(hosts(12))}
    shuffled = {address: weights[address] for address in Random(2).sample([*weights], k=12)}
    assert owners(picker("ring_hash", at(weights))) == owners(picker("ring_hash", at(shuffled)))


@pytest.mark.parametrize("dialect", ["grpc", "java"])
def test_grpc_sends_a_retry_to_the_same_backend(dialect: str) -> None:
    made = picker("ring_hash", at(hosts(5)), dialect=dialect)
    for key in KEYS[:50]:
        first = made.pick(Call(1, key))
        assert made.pick(Call(1, key, (first,))) is first


def test_envoy_sends_a_retry_to_the_next_point_of_somebody_else() -> None:
    made = picker("ring_hash", at(hosts(5)), dialect="envoy")
    ring = ring_of(tuple(hosts(5)), (1,) * 5, 1024, 4096)
    for key in KEYS[:50]:
        first = made.pick(Call(1, key))
        at_ = ring.at(xxh64_intdigest(key))
        expected = next(
            node
            for step in range(len(ring.points))
            if (node := ring.owners[(at_ + step) % len(ring.points)]) != made.peers.index(first)
        )
        assert made.pick(Call(1, key, (first,))) is made.peers[expected]


def test_a_ring_that_is_at_least_larger_than_at_most_is_refused() -> None:
    with pytest.raises(UsageError, match="min-ring-size=5000 is above max-ring-size=4096"):
        picker("ring_hash", at(hosts(1)), min_ring_size="5000")
