from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections import Counter
from functools import reduce
from random import Random
from zlib import crc32

import mmh3
import pytest

from lbctl.balance.hashing.dialects import DIALECTS, MOST_POINTS, cut, ring_of
from lbctl.balance.hashing.functions import fnv1a, md5_first, md5_words, murmur3, xxh64
from lbctl.balance.hashing.ring import Ring
from lbctl.balance.policies.base import Call
from tests.balance.fleet import VECTORS
from tests.balance.keyed import KEYS, at, hosts, owner, owners, picker

# Those whose points depend on nobody else.
KETAMAS = ("ketama", "twemproxy")  # whose points depend on how many nodes there are
MONOTONE = pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in KETAMAS])
ALL = pytest.mark.parametrize("dialect", DIALECTS)


def md5_word(data: str, word: int = 0) -> int:
    return int.from_bytes(hashlib.md5(data.encode()).digest()[4 * word : 4 * word + 4], "little")


def test_groupcache_places_its_own_test_nodes_where_its_test_says() -> None:
    vector = VECTORS["groupcache_fake_hash"]
    replicas, expect = vector["given"]["replicas"], vector["expect"]

    def ring(nodes: list[str]) -> Ring:
        return Ring([[int(f"{number}{node}") for number in range(replicas)] for node in nodes], 32, last=True)

    nodes = vector["given"]["nodes"]
    made = ring(nodes)
    assert [*made.points] == expect["ring"]
    assert {key: nodes[made.owners[made.at(int(key))]] for key in expect["get"]} == expect["get"]
    more = ring([*nodes, "8"])
    assert [*nodes, "8"][more.owners[more.at(27)]] == expect["after_adding_8"]["27"]


@pytest.mark.parametrize("name", ["nginx_chash_plain", "nginx_chash_weighted"])
def test_nginx_sends_keys_where_its_binary_does(name: str) -> None:
    given, expect = VECTORS[name]["given"], VECTORS[name]["expect"]
    servers = given["servers"]
    made = picker("consistent_hash", at(dict(zip(servers, given["weights"], strict=True))), dialect="nginx")
    assert [servers.index(owner(made, key)) for key in given["keys"]] == expect["index"]
    ring = ring_of("nginx", tuple(servers), tuple(given["weights"]))
    assert len(ring.points) == expect["points"]
    first = [[point, node] for point, node in zip(ring.points, ring.owners, strict=False)][:3]
    assert first == expect["first_points"]


def ketama() -> tuple[Ring, list[str]]:
    servers = VECTORS["ketama_reference"]["given"]["servers"]
    return ring_of("ketama", tuple(servers), tuple(servers.values())), list(servers)


def test_ketama_has_the_points_of_libketama() -> None:
    expect = VECTORS["ketama_reference"]["expect"]
    ring, servers = ketama()
    assert len(ring.points) == expect["points_total"]
    counts = Counter(ring.owners[:-1])
    assert {server: counts[node] for node, server in enumerate(servers)} == expect["points_per_server"]


def test_ketama_sends_keys_where_libketama_does() -> None:
    ring, servers = ketama()
    for key, (hash_, point, server) in zip(
        VECTORS["ketama_samples"]["given"]["keys"],
        VECTORS["ketama_samples"]["expect"]["keyhash_point_server"],
        strict=True,
    ):
        assert md5_first(key.encode()) == hash_
        found = ring.at(hash_)
        assert (ring.points[found], servers[ring.owners[found]]) == (point, server)


@pytest.mark.slow
def test_ketama_writes_the_million_lines_of_libketama() -> None:
    expect = VECTORS["ketama_reference"]["expect"]
    ring, servers = ketama()
    counts: Counter[str] = Counter()
    digest = hashlib.md5(b"\n")
    for number in range(1_000_000):
        hash_ = md5_first(b"%d" % number)
        found = ring.at(hash_)
        server = servers[ring.owners[found]]
        counts[server] += 1
        digest.update(b"%d %d %b\n" % (hash_, ring.points[found], server.encode()))
    assert digest.hexdigest() == expect["md5_of_output"]
    assert counts == expect["counts_of_1e6_keys"]


def brute_points(dialect: str, addresses: list[str]) -> list[list[int]]:
    """The points of equal nodes, by other words than the product has."""
    if dialect in ("crc32", "groupcache"):
        count = 100 if dialect == "crc32" else 50
        return [[crc32(f"{number}{address}".encode()) for number in range(count)] for address in addresses]
    if dialect == "gozero":
        return [[mmh3.hash64(f"{address}{number}", signed=False)[0] for number in range(100)] for address in addresses]
    if dialect == "dubbo":
        return [
            [md5_word(f"{address}{part}", word) for part in range(40) for word in range(4)] for address in addresses
        ]
    if dialect in KETAMAS:
        return [
            [md5_word(f"{address}-{part}", word) for part in range(40) for word in range(4)] for address in addresses
        ]
    nodes = []
    for address in addresses:
        host, port = address.split(":")
        point, points = 0, []
        for _ in range(160):
            point = crc32(host.encode() + b"\0" + port.encode() + point.to_bytes(4, "little"))
            points.append(point)
        nodes.append(points)
    return nodes


def brute_hash(dialect: str, key: bytes) -> int:
    if dialect == "gozero":
        return mmh3.hash64(key, signed=False)[0]
    if dialect == "twemproxy":
        return reduce(lambda hash_, byte: (hash_ ^ byte) * 0x100000001B3 % 2**32, key, 0xCBF29CE484222325 % 2**32)
    return md5_word(key.decode()) if dialect in ("dubbo", "ketama") else crc32(key)


@ALL
def test_owners_are_the_linear_successors_of_10_000_keys(dialect: str) -> None:
    addresses = hosts(7)
    made = picker("consistent_hash", at(addresses), dialect=dialect)
    points = sorted((point, node) for node, each in enumerate(brute_points(dialect, addresses)) for point in each)
    assert len({point for point, _ in points}) == len(points)
    for number in range(10_000):
        key = b"%d" % number
        hash_ = brute_hash(dialect, key)
        # A linear search would take its time: the one before must be below, and the one found not.
        found = bisect_left(points, (hash_, -1))
        assert found == len(points) or points[found][0] >= hash_
        assert found == 0 or points[found - 1][0] < hash_
        node = points[found % len(points)][1]
        assert made.pick(Call(1, key)) is made.peers[node]


def test_small_rings_agree_with_a_linear_search_on_10_000_cases() -> None:
    rng, cases = Random(5), 0
    while cases < 10_000:
        nodes = [[rng.randrange(64) for _ in range(rng.randrange(1, 4))] for _ in range(rng.randrange(1, 5))]
        last = rng.random() < 0.5
        ring = Ring(nodes, 6, last=last)
        for hash_ in range(64):
            order = range(len(nodes) - 1, -1, -1) if last else range(len(nodes))
            steps = ((hash_ + step) % 64 for step in range(64))
            expected = next(node for point in steps for node in order if point in nodes[node])
            assert ring.owners[bisect_left(ring.points, hash_)] == expected
            assert ring.owners[ring.at(hash_)] == expected
            cases += 1


def test_arcs_are_the_hashes_that_each_node_owns() -> None:
    rng = Random(6)
    for _ in range(200):
        nodes = [[rng.randrange(64) for _ in range(rng.randrange(1, 4))] for _ in range(rng.randrange(1, 5))]
        ring = Ring(nodes, 6)
        owned = Counter(ring.owners[ring.at(hash_)] for hash_ in range(64))
        assert ring.arcs == [owned[node] / 64 for node in range(len(nodes))]


@MONOTONE
@pytest.mark.parametrize("weighted", ["false", "true"])
def test_who_leaves_or_joins_moves_only_keys_of_its_own(dialect: str, weighted: str) -> None:
    weights = {address: 1 + place % 3 for place, address in enumerate(hosts(6))}
    many = owners(picker("consistent_hash", at(weights), dialect=dialect, weighted=weighted))
    for gone in weights:
        left = {address: weight for address, weight in weights.items() if address != gone}
        few = owners(picker("consistent_hash", at(left), dialect=dialect, weighted=weighted))
        assert all(new == old for old, new in zip(many, few, strict=True) if old != gone)
        assert gone not in few


@MONOTONE
def test_a_weight_change_moves_keys_only_to_or_from_that_backend(dialect: str) -> None:
    weights = dict.fromkeys(hosts(5), 20)
    chosen = hosts(5)[2]
    before = owners(picker("consistent_hash", at(weights), dialect=dialect, weighted="true"))
    after = owners(picker("consistent_hash", at(weights | {chosen: 60}), dialect=dialect, weighted="true"))
    assert before != after
    assert {new for old, new in zip(before, after, strict=True) if old != new} == {chosen}


def test_ketama_may_move_keys_of_others() -> None:
    addresses = hosts(7)
    many, few = (owners(picker("consistent_hash", at(each), dialect="ketama")) for each in (addresses, addresses[1:]))
    assert [old for old, new in zip(many, few, strict=True) if old != new and old != addresses[0]] == []
    weights = dict(zip(addresses, (3, 3, 3, 3, 3, 3, 1), strict=True))
    heavier = weights | {addresses[0]: 9}
    many, few = (owners(picker("consistent_hash", at(each), dialect="ketama")) for each in (weights, heavier))
    assert any(old != new and addresses[0] not in (old, new) for old, new in zip(many, few, strict=True))


@ALL
def test_owners_do_not_depend_on_the_order_of_backends(dialect: str) -> None:
    addresses = hosts(9)
    shuffled = Random(3).sample(addresses, k=9)
    assert owners(picker("consistent_hash", at(addresses), dialect=dialect)) == owners(
        picker("consistent_hash", at(shuffled), dialect=dialect)
    )


@ALL
def test_a_retry_goes_where_the_key_would_go_without_those_that_were_tried(dialect: str) -> None:
    addresses = hosts(5)
    made = picker("consistent_hash", at(addresses), dialect=dialect)
    for key in KEYS[:100]:
        tried: list[str] = []
        for _ in addresses:
            peers = tuple(peer for peer in made.peers if peer.instance.address in tried)
            found = owner(made, key, *peers)
            left = [address for address in addresses if address not in tried]
            assert found == owner(picker("consistent_hash", at(left), dialect=dialect), key)
            tried.append(found)


def test_no_verdict_is_made_of_a_retry() -> None:
    made = picker("consistent_hash", at(hosts(3)))
    first = made.pick(Call(1, b"key"))
    second = made.pick(Call(1, b"key", (first,)))
    assert (first.belated, first.expected) == (0, 0.0)
    assert (second.belated, second.expected) == (1, 1.0)


@ALL
def test_shares_are_as_uneven_as_points_at_random_are_but_with_crc32_of_similar_addresses(dialect: str) -> None:
    """Relative deviation sqrt((1 - 1/n) / V): 9.5 % with 10 backends of 100 points."""
    squares = []
    for number in range(40):
        arcs = ring_of(dialect, tuple(f"10.{number}.0.{host}:80" for host in range(10)), (1.0,) * 10).arcs
        squares += [(10 * arc - 1) ** 2 for arc in arcs]
    found, law = math.sqrt(sum(squares) / len(squares)), math.sqrt(0.9 / DIALECTS[dialect].replicas)
    if dialect in ("crc32", "groupcache"):
        assert 1.3 * law < found < 3 * law
    else:
        assert found == pytest.approx(law, rel=0.15)


def test_weights_count_where_the_original_has_them_or_one_asks_for_them() -> None:
    weights = dict(zip(hosts(3), (1, 2, 3), strict=True))
    for dialect in DIALECTS:
        plain, asked = (
            ring_of(dialect, tuple(weights), tuple(weights.values()), 400, weighted=weighted)
            for weighted in (False, True)
        )
        counts = [[Counter(ring.owners[:-1])[node] for node in range(3)] for ring in (plain, asked)]
        assert (counts[0] == [400] * 3) == (dialect not in (*KETAMAS, "nginx")), dialect
        assert counts[1][2] == pytest.approx(3 * counts[1][0], rel=0.01), dialect


def test_a_ring_has_a_limit_that_everybody_gets_a_part_of() -> None:
    assert cut([160, 320]) == [160, 320]
    assert cut([1_000_000, 2_000_000, 3]) == [174_762, 349_524, 1]
    assert sum(cut([160] * 20_000)) <= MOST_POINTS


def test_a_backend_that_warms_up_has_a_part_of_its_points_and_the_others_theirs() -> None:
    peers = at(hosts(3))
    cold = owners(picker("consistent_hash", peers, dialect="nginx"))
    peers[1].warmth = 0.5
    warm = owners(picker("consistent_hash", peers, dialect="nginx"))
    left = {old for old, new in zip(cold, warm, strict=True) if old != new}
    assert left == {peers[1].instance.address}
    assert len([address for address in warm if address in left]) == pytest.approx(cold.count(*left) / 2, rel=0.25)


def test_two_registrations_of_one_address_have_one_set_of_points() -> None:
    peers = [*at(hosts(2)), *at(hosts(1))]
    shares = picker("consistent_hash", peers).law().shares
    assert sum(shares) == pytest.approx(1)
    assert shares[0] == 0.0  # the last one has them
    assert shares[2] > 0.0


def test_hashes_are_known_ones_and_never_negative() -> None:
    assert murmur3(b"hello") == 0xCBD8A7B341BD9B02
    assert murmur3(b"") == 0
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert md5_words(b"") == (0xD98C1DD4, 0x04B2008F, 0x980980E9, 0x7E42F8EC)
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert all(hashed(key) >= 0 for hashed in (murmur3, fnv1a, md5_first, crc32, xxh64) for key in KEYS)


def test_ketama_divides_in_single_precision() -> None:
    """42 of 80 of 120 digests are 63 exactly; 42/80 as a float of 32 bits is a little less, and 62 is what is left."""
    assert 120 * 42 % 80 == 0
    ring = ring_of("ketama", tuple(hosts(3)), (42, 19, 19))
    counts = Counter(ring.owners[:-1])
    assert [counts[node] for node in range(3)] == [4 * 62, 4 * 28, 4 * 28]


@pytest.mark.parametrize("bits", [32, 64])  # sorted as floats, and as whole numbers
@pytest.mark.parametrize("last", [False, True])
def test_a_ring_is_the_sorted_points_each_once_and_a_walk_meets_every_node(bits: int, last: bool) -> None:
    rng = Random(bits + last)
    for _ in range(50):
        highest = 2 ** rng.choice([4, bits])  # few enough that many are equal, and all there are
        nodes = [[rng.randrange(highest) for _ in range(rng.randrange(1, 40))] for _ in range(rng.randrange(1, 6))]
        ring = Ring(nodes, bits, last=last)
        points = sorted({point for points in nodes for point in points})
        having = [[node for node, its_points in enumerate(nodes) if point in its_points] for point in points]
        assert [*ring.points] == points
        assert ring.owners[:-1] == [each[-1 if last else 0] for each in having]
        for hash_ in (0, rng.choice(points), highest - 1):
            start = ring.at(hash_)
            around = [*ring.owners[start : len(points)], *ring.owners[:start]]
            assert [*ring.walk(hash_)] == list(dict.fromkeys(around))
            assert [*ring.near(hash_)] == (2 * around)[: len(ring.near(hash_))]
