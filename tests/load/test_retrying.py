"""When a call is tried again: the delay, what the server says of it, and where the next attempt goes."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Law, Policy, Setup, Why
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.service_methods import RetryPolicy
from lbctl.load.attempt import NO_MORE, pushback_ns
from lbctl.load.repicking import pick_again
from lbctl.load.retrying import backoff_ns
from lbctl.model import Code
from tests.balance.fleet import VECTORS, fleet, instance

MS = 1_000_000
CODES = frozenset({Code.UNAVAILABLE})


class Fixed(Random):
    """A source that always draws the same."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self._value = value

    def random(self) -> float:
        return self._value


def policy(initial_ms: float = 100, most_ms: float = 1000, multiplier: float = 2.0, attempts: int = 5) -> RetryPolicy:
    return RetryPolicy(attempts, round(initial_ms * MS), round(most_ms * MS), multiplier, CODES)


# ---- delays ----------------------------------------------------------------------------------------------------------


def test_delays_have_the_published_bounds() -> None:
    vector = VECTORS["retry_backoff_bounds"]
    given_ = vector["given"]
    wanted = policy(given_["initialBackoff_s"] * 1000, given_["maxBackoff_s"] * 1000, given_["multiplier"])
    for backoffs, (least, most) in enumerate(vector["expect"]["attempt_delay_ranges_s"]):
        assert backoff_ns(wanted, backoffs, Fixed(0.0)) == pytest.approx(least * 1e9, abs=2)
        assert backoff_ns(wanted, backoffs, Fixed(0.5)) == pytest.approx((least + most) / 2 * 1e9, abs=2)
        drawn = [backoff_ns(wanted, backoffs, Random(seed)) / 1e9 for seed in range(200)]
        assert least <= min(drawn) < least + (most - least) / 10
        assert most - (most - least) / 10 < max(drawn) <= most


@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6), st.floats(0.01, 1e6), st.integers(0, 2000), st.floats(0, 1))
def test_no_delay_leaves_its_bounds(initial_ms: float, most_ms: float, grows: float, backoffs: int, at: float) -> None:
    wanted = policy(initial_ms, most_ms, grows)
    try:
        base = min(wanted.initial_backoff_ns * grows**backoffs, wanted.max_backoff_ns)
    except OverflowError:
        base = wanted.max_backoff_ns
    assert 0.8 * base - 2 <= backoff_ns(wanted, backoffs, Fixed(at)) <= 1.2 * base + 2


def test_a_multiplier_below_one_shrinks_the_delay() -> None:
    delays = [backoff_ns(policy(800, 10_000, 0.5), backoffs, Fixed(0.5)) for backoffs in range(4)]
    assert delays == pytest.approx([800 * MS, 400 * MS, 200 * MS, 100 * MS])


# ---- pushback --------------------------------------------------------------------------------------------------------


def test_a_pushback_is_read_as_published() -> None:
    vector = VECTORS["retry_pushback"]
    meanings = {"retry now": 0, "retry after exactly 100 ms": 100 * MS}
    for text, action in zip(vector["given"]["grpc-retry-pushback-ms"], vector["expect"]["action"], strict=True):
        values = [b"5", b"6"] if text == "(two values)" else [text.encode()]
        metadata = [(b"grpc-retry-pushback-ms", value) for value in values]
        assert pushback_ns(metadata) == meanings.get(action, NO_MORE), text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"007", 7 * MS),
        (b"+5", 5 * MS),
        (b"-0", 0),
        (b"", NO_MORE),
        (b" 5", NO_MORE),
        (b"5.0", NO_MORE),
        (b"1_0", NO_MORE),
        (b"1e3", NO_MORE),
        ("٣".encode(), NO_MORE),
        (b"9" * 40, NO_MORE),
    ],
)
def test_a_pushback_is_a_plain_whole_number_of_milliseconds(value: bytes, expected: int) -> None:
    assert pushback_ns([(b"x", b"1"), (b"grpc-retry-pushback-ms", value)]) == expected


def test_without_a_pushback_nothing_is_said() -> None:
    assert pushback_ns([(b"grpc-retry-pushback", b"1")]) is None


# ---- where further attempts go ---------------------------------------------------------------------------------------


def all_on_the_dead_one(name: str, count: int, attempts: int, calls: int) -> float:
    """The part of calls all of whose attempts are picked to one of the backends, nobody knowing where they were."""
    peers = fleet([1] * count)
    picker = POLICIES[name].build(peers, Setup(Random(5), POLICIES[name].options))
    hits = 0
    for number in range(calls):
        picks = {picker.pick(Call(0, b"key-%d" % number)) for _ in range(attempts)}
        hits += picks == {peers[3]}
    return hits / calls


def test_how_often_every_attempt_goes_to_the_dead_one_is_a_matter_of_the_policy() -> None:
    vector = VECTORS["retry_all_attempts_on_dead_node"]
    count, attempts, expected = vector["given"]["n"], vector["given"]["m"], vector["expect"]
    calls = 60_000
    spread = (expected["random"] * (1 - expected["random"]) / calls) ** 0.5
    for name, chance in (("random", expected["random"]), ("p2c", expected["p2c_distinct_blind"])):  # all are idle
        assert chance == pytest.approx(count**-attempts)
        assert abs(all_on_the_dead_one(name, count, attempts, calls) - chance) < 4 * spread
    assert all_on_the_dead_one("round_robin", count, attempts, 1000) == expected["round_robin_single_client"]
    assert expected["hash_same_key_no_exclusion"].startswith("1 for keys owned by the dead node (share 0.1")
    for name in ("hash_mod", "jump"):
        assert all_on_the_dead_one(name, count, attempts, 20_000) == pytest.approx(1 / count, abs=0.01)


class Written:
    """Picks as they are written down."""

    def __init__(self, peers: list[Peer], order: str) -> None:
        self._peers = {peer.instance.key: peer for peer in peers}
        self._order = iter(order)

    def pick(self, call: Call) -> Peer:
        return self._peers[next(self._order)]

    def why(self, call: Call) -> tuple[Peer, Why]:
        raise NotImplementedError

    def law(self) -> Law:
        return Law([1 / len(self._peers)] * len(self._peers))

    def retire(self) -> None: ...


def picked(order: str, tried: str, among: str = "ABC", name: str = "round_robin") -> tuple[str, int]:
    """Who is picked, and how many picks were given back, where the policy's picks are these."""
    balancer = Balancer(
        Policy(name, "", POLICIES[name].expectation, lambda peers, _: Written(list(peers), order)), Random(1)
    )
    change = balancer.update(instance(key) for key in among)
    for peer in change.added:
        balancer.mark(peer, ready=True)
    peers = {peer.instance.key: peer for peer in change.added}
    assert balancer.picker is not None
    found = pick_again(balancer.picker, Call(0, b"", tuple(peers[key] for key in tried)), balancer)
    given_back = sum(peer.returned for peer in change.added)
    assert sum(peer.picks for peer in change.added) == given_back + 1
    assert [peer for peer in change.added if peer.sent] == [found]
    assert (found.sent, found.in_flight) == (1, 1)
    return found.instance.key, given_back


@pytest.mark.parametrize(
    ("order", "tried", "expected"),
    [
        ("A", "", ("A", 0)),
        ("B", "A", ("B", 0)),
        ("ABC", "A", ("B", 1)),
        ("ABAC", "AB", ("C", 3)),
        ("CA", "ABC", ("A", 1)),  # all were tried: not where the last one was
        ("A" * 20, "A", ("A", 8)),  # a policy that comes to no other soon has its way
    ],
)
def test_another_attempt_goes_where_none_was_if_the_policy_comes_to_it_soon(
    order: str, tried: str, expected: tuple[str, int]
) -> None:
    assert picked(order, tried) == expected


def test_nobody_is_asked_again_who_has_one_answer_only() -> None:
    assert picked("AB", "A", name="pick_first") == ("A", 0)
    assert picked("AB", "A", among="A") == ("A", 0)


def test_in_a_round_robin_no_attempt_meets_an_earlier_one_before_all_were_tried() -> None:
    balancer = Balancer(POLICIES["round_robin"], Random(1))
    for peer in balancer.update(instance(key) for key in "ABCDE").added:
        balancer.mark(peer, ready=True)
    picker = balancer.picker
    assert picker is not None
    tried: tuple[Peer, ...] = ()
    for _ in range(12):
        tried += (pick_again(picker, Call(0, b"", tried), balancer),)
    assert len(set(tried[:5])) == 5
    assert all(one is not other for one, other in pairwise(tried))
