from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from xxhash import xxh64_intdigest

from lbctl.balance.hashing.maglev import filled, is_prime, permutation, table_of
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call
from lbctl.balance.policies.maglev import rehashed
from lbctl.errors import UsageError
from tests.balance.fleet import VECTORS
from tests.balance.keyed import KEYS, at, hosts, owner, owners, picker


@pytest.mark.parametrize("name", ["maglev_6x7_addr", "maglev_6x7_hostname"])
def test_tables_are_as_envoy_fills_them(name: str) -> None:
    given, expect = VECTORS[name]["given"], VECTORS[name]["expect"]
    table = table_of(tuple(given["hosts"]), (1.0,) * 6, given["table_size"])
    assert [given["hosts"][host] for host in table] == expect["table"]
    counts = Counter(table).values()
    assert [min(counts), max(counts)] == VECTORS["maglev_6x7_addr"]["expect"]["min_max_entries"]


def test_a_weighted_table_is_as_envoy_fills_it() -> None:
    vector = VECTORS["maglev_weighted_17"]
    weights = vector["given"]["hosts"]
    hosts_ = list(weights)
    table = table_of(tuple(hosts_), tuple(weights.values()), vector["given"]["table_size"])
    assert [hosts_[host] for host in table] == vector["expect"]["table"]
    assert Counter(hosts_[host] for host in table) == vector["expect"]["entries"]


def test_a_table_of_the_usual_size_has_slots_by_weight() -> None:
    vector = VECTORS["maglev_65537_1_2"]
    table = table_of(("a", "b"), tuple(vector["given"]["weights"]), vector["given"]["table_size"])
    assert [Counter(table)[host] for host in range(2)] == vector["expect"]["entries"]


def steps(order: list[int], size: int) -> tuple[int, int]:
    return order[0], (order[1] - order[0]) % size


def test_turns_fill_the_table_of_the_paper() -> None:
    vector = VECTORS["maglev_permutations"]
    size = vector["given"]["M"]
    orders = [steps(order, size) for order in vector["given"]["permutations"]]

    def table(hosts_: list[int]) -> list[int]:
        chosen = [orders[host] for host in hosts_]
        turns = filled([offset for offset, _ in chosen], [skip for _, skip in chosen], [1.0] * len(hosts_), size)
        return [hosts_[turn] for turn in turns]

    assert table([0, 1, 2]) == vector["expect"]["table"]
    assert table([0, 2]) == vector["expect"]["table_without_backend1"]


def test_attempts_hash_anew_as_in_envoy() -> None:
    vector = VECTORS["maglev_retry_hash"]
    given = VECTORS["maglev_6x7_addr"]["given"]
    table = table_of(tuple(given["hosts"]), (1.0,) * 6, given["table_size"])
    hashes = [rehashed(vector["given"]["hash"], attempt) for attempt in vector["given"]["attempts"]]
    assert [given["hosts"][table[hash_ % 7]] for hash_ in hashes] == vector["expect"]["hosts"]
    assert vector["expect"]["rule"] == "for attempt a>0 hash ^= (2^64-1) - a + 1"
    assert hashes == [vector["given"]["hash"] ^ (2**64 - attempt if attempt else 0) for attempt in range(3)]


def test_a_retry_goes_to_the_first_attempt_at_a_backend_that_was_not_tried() -> None:
    addresses = hosts(6)
    made = picker("maglev", at(addresses))
    table = table_of(tuple(sorted(addresses)), (1.0,) * 6, 65537)
    for key in KEYS[:100]:
        first = made.pick(Call(1, key))
        hash_ = xxh64_intdigest(key)
        attempts = (sorted(addresses)[table[(hash_ ^ (2**64 - attempt)) % 65537]] for attempt in range(1, 100))
        expected = next(address for address in attempts if address != first.instance.address)
        assert owner(made, key, first) == expected


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_a_retry_finds_the_last_backend_that_was_not_tried(size: int) -> None:
    peers = at(hosts(size))
    made = picker("maglev", peers, table_size="251")
    for key in KEYS[:20]:
        tried: list[Peer] = []
        for _ in peers:
            tried.append(made.pick(Call(1, key, tuple(tried))))
        assert set(tried) == set(peers)


def naive(hosts_: list[str], weights: list[float], size: int) -> list[int]:
    """Fill a table with whole permutations, turn by turn."""
    orders = []
    for name in hosts_:
        key = name.encode()
        offset, skip = xxh64_intdigest(key, 0) % size, xxh64_intdigest(key, 1) % (size - 1) + 1
        orders.append([(offset + step * skip) % size for step in range(size)])
    table: list[int | None] = [None] * size
    targets = [0.0] * len(hosts_)
    turn = 0
    while None in table:
        turn += 1
        for host, weight in enumerate(weights):
            if turn * weight < targets[host] or None not in table:
                continue
            targets[host] += max(weights)
            table[next(slot for slot in orders[host] if table[slot] is None)] = host
    return [host for host in table if host is not None]


@pytest.mark.parametrize("cases", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_tables_agree_with_a_naive_fill(cases: int) -> None:
    rng = Random(4)
    primes = [size for size in range(5, 150) if is_prime(size)]
    for _ in range(cases):
        size = rng.choice(primes)
        weights = [float(rng.randrange(1, 8)) for _ in range(rng.randrange(1, 9))]
        names = [f"10.1.{rng.randrange(250)}.{place}:80" for place in range(len(weights))]
        assert list(table_of(tuple(names), tuple(weights), size)) == naive(names, weights, size)


def test_permutations_meet_every_slot() -> None:
    for size in (2, 3, 251):
        for host in hosts(20):
            offset, skip = permutation(host, size)
            assert {(offset + step * skip) % size for step in range(size)} == set(range(size))


@pytest.mark.parametrize("size", [1, 3, 10, 100])
def test_slots_of_equal_backends_differ_by_at_most_one(size: int) -> None:
    counts = Counter(table_of(tuple(hosts(size)), (1.0,) * size, 65537))
    assert sum(counts.values()) == 65537
    assert max(counts.values()) - min(counts.values()) <= 1


def test_weighted_slots_are_within_three_of_their_part() -> None:
    rng = Random(8)
    for _ in range(20):
        weights = [rng.randrange(1, 50) for _ in range(rng.randrange(2, 12))]
        counts = Counter(table_of(tuple(hosts(len(weights))), tuple(weights), 1021))
        total = sum(weights)
        assert all(abs(counts[host] - 1021 * weight / total) <= 3 for host, weight in enumerate(weights))


def test_owners_do_not_depend_on_the_order_of_backends() -> None:
    weights = {address: place % 3 + 1 for place, address in enumerate(hosts(12))}
    shuffled = {address: weights[address] for address in Random(2).sample([*weights], k=12)}
    assert owners(picker("maglev", at(weights))) == owners(picker("maglev", at(shuffled)))


def test_a_backend_less_moves_few_keys_more_than_it_had() -> None:
    keys = [b"%d" % number for number in range(20_000)]
    was, now = (owners(picker("maglev", at(hosts(count))), keys) for count in (10, 9))
    had = was.count(hosts(10)[-1])
    moved = sum(old != new for old, new in zip(was, now, strict=True))
    assert 1.0 <= moved / had < 1.1


def test_a_table_that_is_no_prime_is_refused_with_the_next_prime() -> None:
    with pytest.raises(UsageError, match="table-size=65536 is not a prime; the next one is 65537"):
        picker("maglev", at(hosts(1)), table_size="65536")


def test_primes_are_told_from_other_numbers() -> None:
    sieve = [number for number in range(2, 2000) if all(number % other for other in range(2, number))]
    assert [number for number in range(2000) if is_prime(number)] == sieve
    assert is_prime(5_000_011)
