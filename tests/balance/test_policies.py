"""What every policy promises, over the whole table; what each one promises alone is in its own file."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Learning, Policy, Setup
from lbctl.balance.policies.table import BY_NAME, POLICIES
from lbctl.model import Code, Reply
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import OK, built, drawn, fleet, letters, one

ALL = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
SIZES = pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
WEIGHTS = [5, 1, 1, 3, 10]
LOST = Reply(Code.UNAVAILABLE)


def test_every_name_and_alias_is_one_policy_and_every_summary_says_something() -> None:
    names = [name for policy in POLICIES.values() for name in (policy.name, *policy.aliases)]
    assert len(set(names)) == len(names)
    assert {name: policy.name for name, policy in BY_NAME.items() if ":" not in name} == {
        name: policy.name for policy in POLICIES.values() for name in (policy.name, *policy.aliases)
    }
    assert all(name == policy.name and policy.summary and policy.cost for name, policy in POLICIES.items())


@ALL
@SIZES
def test_a_picker_never_picks_outside_its_set(policy: Policy, size: int) -> None:
    peers = fleet(range(1, size + 1))
    assert set(drawn(built(policy.name, peers), 50 * size)) <= set(peers)


@ALL
@SIZES
def test_a_picker_reaches_every_peer_that_it_gives_a_share(policy: Policy, size: int) -> None:
    peers = fleet([3] * size)
    picker = built(policy.name, peers)
    owed = {peer for peer, share in zip(peers, picker.law().shares, strict=True) if share}
    reached = set(drawn(picker, 40 * size))
    assert reached <= owed
    if policy.expectation is not Expectation.FEEDBACK:
        assert reached == owed


@ALL
def test_one_peer_gets_everything(policy: Policy) -> None:
    (only,) = fleet([7])
    assert set(drawn(built(policy.name, [only]), 20)) == {only}


@ALL
@pytest.mark.parametrize("weights", [[1], [5, 1, 1], [0, 0], [100, 7, 7, 2, 1]])
def test_shares_are_a_distribution_over_the_peers(policy: Policy, weights: list[int]) -> None:
    shares = built(policy.name, fleet(weights)).law().shares
    assert len(shares) == len(weights)
    assert math.isclose(sum(shares), 1.0, abs_tol=1e-9)
    assert min(shares) >= 0.0


@ALL
def test_the_same_seed_and_the_same_ends_give_the_same_picks(policy: Policy) -> None:
    first, second = fleet(WEIGHTS), fleet(WEIGHTS)
    picks = [letters(_eventful(built(policy.name, peers, seed=7), peers, 600)) for peers in (first, second)]
    assert picks[0] == picks[1]


@ALL
def test_why_makes_the_pick_that_would_have_been_made_and_tells_of_peers_in_the_set(policy: Policy) -> None:
    silent, telling = fleet(WEIGHTS), fleet(WEIGHTS)
    one_way, other_way = built(policy.name, silent, seed=3), built(policy.name, telling, seed=3)
    for number in range(200):
        call = Call((number + 1) * 2_000_000, b"key-%d" % number)
        peer = one_way.pick(call)
        told, why = other_way.why(call)
        assert told.instance.key == peer.instance.key
        assert why.text
        assert all(candidate in telling and len(figures) == len(why.columns) for candidate, figures in why.rows)
        assert not why.rows or told in [candidate for candidate, _ in why.rows]
        for picker, picked in ((one_way, peer), (other_way, told)):
            picked.picks += 1
            picked.finished += 1
            if isinstance(picker, Learning):
                picker.ended(picked, call.now_ns, call.now_ns + 1_000_000, OK)


@ALL
def test_ends_of_calls_that_an_earlier_picker_made_or_whose_backend_left_do_no_harm(policy: Policy) -> None:
    peers = fleet(WEIGHTS)
    picker = built(policy.name, peers)
    flying = [(number, picker.pick(Call(number, b"%d" % number))) for number in range(1, 200)]
    for _, peer in flying:
        peer.picks += 1
    picker.retire()
    successor = built(policy.name, peers[1:])
    learn = successor.ended if isinstance(successor, Learning) else None
    for number, peer in flying:
        peer.finished += 1
        if learn:
            learn(peer, number, 1_000_000 + number, OK if number % 3 else LOST)
    assert all(peer.in_flight == 0 for peer in peers)
    assert set(drawn(successor, 500, first=1000)) <= set(peers[1:])


@ALL
def test_peers_that_are_all_of_weight_zero_count_as_one_each(policy: Policy) -> None:
    peers, ones = fleet([0, 0, 0]), fleet([1, 1, 1])
    assert built(policy.name, peers).law().shares == built(policy.name, ones).law().shares
    assert letters(drawn(built(policy.name, peers), 300)) == letters(drawn(built(policy.name, ones), 300))


@ALL
@pytest.mark.parametrize("every", [1, 2, 3, 50, 5000])
def test_shares_survive_a_rebuild_every_few_picks(policy: Policy, every: int) -> None:
    if policy.expectation is Expectation.FEEDBACK:
        return  # nobody can say what they should be
    peers, setup = fleet(WEIGHTS), Setup(Random(11), policy.options)
    counts: Counter[Peer] = Counter()
    total = 10_000 if every > 3 else 1_000
    for life in range(total // every):
        picker = policy.build(peers, setup)
        counts.update(drawn(picker, every, first=life * every))
        picker.retire()
    law = policy.build(peers, setup).law()
    if policy.expectation in (Expectation.SINGLE, Expectation.SEQUENCE):
        assert all(abs(counts[peer] - total * share) <= 4 for peer, share in zip(peers, law.shares, strict=True))
    elif policy.expectation is Expectation.HASH:  # the owners of keys are what they were
        whole = Counter(drawn(policy.build(peers, setup), total // every * every))
        assert counts == whole
    else:  # random starts lean neither way: a chi-square of them is no larger than that of independent draws
        assert p_value(_chi2(counts, peers, list(law.shares), total), len(peers) - 1) > 1e-6


@ALL
@SIZES
def test_counts_are_as_close_to_the_shares_as_the_policy_says(policy: Policy, size: int) -> None:
    peers = fleet(Random(size).choices(range(1, 12), k=size))
    picker = built(policy.name, peers, seed=5)
    law = picker.law()
    total = 20_000
    if law.drawn:
        counts = Counter(drawn(picker, total))
        assert law.bound == math.inf
        assert size == 1 or p_value(_chi2(counts, peers, list(law.shares), total), size - 1) > 1e-6
        return
    running: Counter[Peer] = Counter()
    for picks in range(1, 1000):
        running[one(picker, picks)] += 1
        worst = max(abs(running[peer] - picks * share) for peer, share in zip(peers, law.shares, strict=True))
        assert worst <= law.bound + 1e-9


def _eventful(picker: object, peers: list[Peer], count: int) -> list[Peer]:
    """Picks among calls that take their time, fail now and then, and end in another order than they began."""
    rng, flying, picked = Random(5), [], []
    learn = picker.ended if isinstance(picker, Learning) else None
    for number in range(count):
        now_ns = (number + 1) * 500_000
        peer = picker.pick(Call(now_ns, b"key-%d" % (number % 50)))  # type: ignore[attr-defined]
        peer.picks += 1
        picked.append(peer)
        flying.append((now_ns, peer))
        while len(flying) > 8 or (flying and rng.random() < 0.4):
            begun_ns, ended = flying.pop(rng.randrange(len(flying)))
            ended.finished += 1
            if learn:
                learn(ended, begun_ns, now_ns + 1, LOST if ended is peers[2] and rng.random() < 0.5 else OK)
    return picked


def _chi2(counts: Counter[Peer], peers: list[Peer], shares: list[float], total: int) -> float:
    return sum((counts[p] - total * s) ** 2 / (total * s) for p, s in zip(peers, shares, strict=True))
