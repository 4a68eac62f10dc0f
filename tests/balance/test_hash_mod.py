from __future__ import annotations

from collections import Counter
from zlib import crc32

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call
from tests.balance.fleet import VECTORS
from tests.balance.keyed import KEYS, at, hosts, owner, owners, picker


def test_crc32_is_the_one_of_ieee() -> None:
    vector = VECTORS["crc32_check"]
    assert crc32(vector["given"]["input"].encode()) == int(vector["expect"]["crc32"], 16)


def test_crc32_of_the_key_modulo_the_backends_in_key_order() -> None:
    vector = VECTORS["hash_mod_crc32"]
    nodes = vector["given"]["nodes"]
    made = picker("hash_mod", at(nodes))
    assert [nodes.index(owner(made, key)) for key in vector["given"]["keys"]] == vector["expect"]["index"]


def test_nginx_sends_keys_where_its_binary_does() -> None:
    vector = VECTORS["nginx_hash_weighted"]
    addresses = hosts(3)
    made = picker("hash_mod", at(dict(zip(addresses, vector["given"]["weights"], strict=True))), dialect="nginx")
    assert [addresses.index(owner(made, key)) for key in vector["given"]["keys"]] == vector["expect"]["index"]


def test_weights_do_not_count_with_crc32() -> None:
    addresses = hosts(3)
    plain = picker("hash_mod", at(addresses))
    assert owners(picker("hash_mod", at(dict.fromkeys(addresses, 7)))) == owners(plain)
    assert owners(picker("hash_mod", at(dict(zip(addresses, (5, 1, 1), strict=True))))) == owners(plain)


@pytest.mark.parametrize("size", [2, 3, 10])
def test_a_backend_less_moves_nearly_all_keys(size: int) -> None:
    keys = [b"%d" % number for number in range(20_000)]
    before, after = (picker("hash_mod", at(hosts(count))) for count in (size, size - 1))
    moved = sum(old != new for old, new in zip(owners(before, keys), owners(after, keys), strict=True))
    assert moved / len(keys) == pytest.approx(1 - 1 / size, abs=0.02)


def test_a_retry_goes_round_in_key_order() -> None:
    peers = at(hosts(4))
    made = picker("hash_mod", peers)
    for key in KEYS[:50]:
        first = crc32(key) % 4
        tried: list[Peer] = []
        for step in range(4):
            peer = made.pick(Call(1, key, tuple(tried)))
            assert peer is peers[(first + step) % 4]
            tried.append(peer)
        assert made.pick(Call(1, key, tuple(tried))) is peers[first]


def nginx(key: bytes, weights: list[int], rejected: set[int]) -> int | None:
    """Follow nginx's loop as it is written: numbers add up over tries, and a rejected server costs a try."""
    total, tries, number = sum(weights), 0, 0
    while tries <= 20:
        prefix = str(tries).encode() if tries else b""
        number += (crc32(prefix + key) >> 16) & 0x7FFF
        place = number % total
        for server, weight in enumerate(weights):
            if place < weight:
                if server not in rejected:
                    return server
                break
            place -= weight
        tries += 1
    return None


def test_nginx_agrees_with_its_loop_on_10_000_cases_with_and_without_rejected_servers() -> None:
    cases = 0
    for number in range(500):
        weights = [1 + crc32(b"%d %d" % (number, place)) % 9 for place in range(2 + number % 5)]
        peers = at(dict(zip(hosts(len(weights)), weights, strict=True)))
        made = picker("hash_mod", peers, dialect="nginx")
        for index in range(20):
            key = b"key-%d-%d" % (number, index)
            rejected = {place for place in range(len(weights) - 1) if crc32(key) >> place & 1} if index % 2 else set()
            expected = nginx(key, weights, rejected)
            found = made.pick(Call(1, key, tuple(peers[place] for place in rejected)))
            untried = [place for place in range(len(weights)) if place not in rejected]
            assert peers.index(found) == (untried[0] if expected is None else expected)
            cases += 1
    assert cases == 10_000


@pytest.mark.parametrize("weights", [[1], [1, 1], [5, 1, 2], [7, 9, 1, 1, 3], [100, 1, 33]])
def test_nginx_says_exactly_which_part_of_its_numbers_each_backend_has(weights: list[int]) -> None:
    made = picker("hash_mod", at(dict(zip(hosts(len(weights)), weights, strict=True))), dialect="nginx")
    counted: Counter[int] = Counter()
    places = [node for node, weight in enumerate(weights) for _ in range(weight)]
    for number in range(1 << 15):
        counted[places[number % len(places)]] += 1
    assert made.arcs() == [counted[node] / (1 << 15) for node in range(len(weights))]


@pytest.mark.parametrize("key", ["10.1.2.3", "10.1.2.255", "192.168.7.9"])
def test_ip_hash_counts_three_octets_of_an_address(key: str) -> None:
    weights = [2, 1, 3]
    addresses = hosts(3)
    made = picker("hash_mod", at(dict(zip(addresses, weights, strict=True))), dialect="ip_hash")
    number = 89
    for octet in key.split(".")[:3]:
        number = (113 * number + int(octet)) % 6271
    assert owner(made, key) == addresses[[0, 0, 1, 2, 2, 2][number % 6]]


def test_ip_hash_has_one_backend_for_a_whole_network() -> None:
    made = picker("hash_mod", at(hosts(5)), dialect="ip_hash")
    assert len({owner(made, f"10.1.2.{host}") for host in range(256)}) == 1
    assert len({owner(made, f"10.1.{net}.1") for net in range(256)}) == 5


def test_ip_hash_counts_all_of_an_ipv6_address() -> None:
    made = picker("hash_mod", at(hosts(5)), dialect="ip_hash")
    assert owner(made, "2001:db8::1") == owner(made, "2001:0db8:0:0::0001")
    assert len({owner(made, f"2001:db8::{host:x}") for host in range(64)}) == 5


def test_ip_hash_takes_any_key() -> None:
    made = picker("hash_mod", at(hosts(3)), dialect="ip_hash")
    assert len(set(owners(made, [*KEYS, b"", b"\xff\xfe"]))) == 3
