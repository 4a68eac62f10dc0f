"""Prequal: the pool of answers, hot and cold, and who answers probes."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from random import Random

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Reported, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.probes import Answer, Limits, Pool, ProbeReply, reuse
from lbctl.balance.several import several
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import OK, built, fleet
from tests.balance.traffic import LOST, MS, REPLIES, Traffic

SECOND = 1000 * MS


def strangers(count: int) -> list[Answer]:
    """What a client knows of A, B, C ... who have not answered yet."""
    found = []
    for peer in fleet([1] * count):
        answer = Answer()
        answer.peer = peer
        found.append(answer)
    return found


def tell(pool: Pool, answer: Answer, rif: int, latency_ns: int = MS, now_ns: int = SECOND) -> None:
    """A backend answers."""
    answer.told_rif, answer.told_ns = rif, latency_ns
    pool.add((answer,), now_ns, told=True)


def keys(pool: Pool) -> str:
    return "".join(answer.peer.instance.key for answer in pool.answers)


def pool_of(figures: list[tuple[int, int]], q_rif: float) -> Pool:
    """Answers of A, B, C ... with these requests in flight and latencies in ms, after many of six in flight.

    The oldest of all is one more, neither good nor bad.
    """
    pool = Pool(Limits(q_rif=q_rif), Random(1))
    *others, last = strangers(len(figures) + 1)
    for _ in range(128):
        tell(pool, last, 6, 20 * MS)
    for answer, (rif, ms) in zip(others, figures, strict=True):
        tell(pool, answer, rif, ms * MS)
    return pool


@pytest.mark.parametrize(
    ("figures", "q_rif", "best", "worst"),
    [
        ([(9, 8), (4, 30), (6, 12)], 0.84, "C", "A"),  # a hot one is not taken, however fast
        ([(9, 8), (8, 30), (7, 12)], 0.84, "C", "A"),  # all are hot: the fewest in flight
        ([(3, 8), (4, 30), (6, 12)], 0.84, "A", "B"),  # all are cold: the fastest, and the slowest is the worst
        ([(3, 8), (2, 8)], 0.84, "A", "A"),  # of equals the oldest
        ([(0, 5), (0, 1)], 0.0, "A", "A"),  # q-rif 0: requests in flight alone
        ([(99, 1), (0, 5)], 1.0, "A", "B"),  # q-rif 1: latency alone
    ],
)
def test_hot_and_cold_come_before_latency(figures: list[tuple[int, int]], q_rif: float, best: str, worst: str) -> None:
    """#prequal_hcl, by hand: more than 6 in flight is hot."""
    pool, everybody = pool_of(figures, q_rif), "ABC"[: len(figures)]
    pool.thin_out()
    assert keys(pool) == everybody
    pool.thin_out()
    assert keys(pool) == everybody.replace(worst, "")
    pool = pool_of(figures, q_rif)
    pool.thin_out()
    assert pool.use().instance.key == best


def test_parameters_are_as_in_the_paper() -> None:
    """#prequal_parameters: pool 16, 1 s, 3 probes, 1 removal, delta 1; n = 100 uses an answer 1.316 times."""
    options = POLICIES["prequal"].options
    assert (options.pool, options.age, options.probes, options.removals, options.delta) == (16, 1.0, 3.0, 1.0, 1.0)
    assert options.q_rif == round(2**-0.25, 2)
    assert reuse(16, 100, 3, 1, 1) == pytest.approx(1.3158, abs=1e-4)
    assert reuse(16, 1_000_000, 3, 1, 1) == pytest.approx(1.0, abs=1e-4)
    assert reuse(16, 10, 3, 1, 1) == math.inf


@pytest.mark.parametrize(
    ("q_rif", "expected"), [(0.0, -1), (0.01, 1), (0.84, 84), (0.845, 85), (0.999, 100), (1.0, math.inf)]
)
def test_the_threshold_is_a_quantile_of_requests_in_flight_by_nearest_rank(q_rif: float, expected: float) -> None:
    pool = Pool(Limits(q_rif=q_rif), Random(1))
    assert pool.threshold == (-1 if q_rif == 0 else math.inf)
    (answer,) = strangers(1)
    for rif in range(1, 101):
        tell(pool, answer, rif)
    assert pool.threshold == expected
    for _ in range(128):
        tell(pool, answer, 7)
    assert pool.threshold == (7 if 0 < q_rif < 1 else expected)


@pytest.mark.parametrize("case", range(10))
def test_the_threshold_follows_the_latest_128_answers_one_by_one(case: int) -> None:
    rng = Random(case)
    q_rif, crowds = rng.uniform(0.01, 0.99), [rng.choice([2, 20, 3000]) for _ in range(5)]
    pool, (answer,) = Pool(Limits(q_rif=q_rif), Random(1)), strangers(1)
    seen: list[int] = []
    for crowd in crowds:
        for _ in range(150):
            seen.append(rng.randrange(crowd))
            tell(pool, answer, seen[-1])
            latest = sorted(seen[-128:])
            assert pool.threshold == latest[math.ceil(q_rif * len(latest)) - 1]


def test_the_pool_keeps_one_answer_of_a_backend_and_so_many_in_all() -> None:
    one, two, three, four = strangers(4)
    pool = Pool(Limits(size=3, age_ns=SECOND), Random(1))
    for number, answer in enumerate([one, two, three, two, four]):
        tell(pool, answer, number, now_ns=number)
    assert [(answer.peer.instance.key, answer.rif) for answer in pool.answers] == [("C", 2), ("B", 3), ("D", 4)]
    pool.sweep(SECOND + 2)
    assert keys(pool) == "CBD"
    pool.sweep(SECOND + 3)
    assert keys(pool) == "BD"


def test_an_answer_is_used_as_often_as_it_may_and_counts_one_more_request_each_time() -> None:
    (answer,) = strangers(1)
    uses = Counter[int]()
    pool = Pool(Limits(size=4, uses=1.25, removals=0.0), Random(6))
    for _ in range(4000):
        tell(pool, answer, 5)
        times = 0
        while pool.answers:
            assert answer.rif == 5 + times
            pool.use()
            times += 1
        uses[times] += 1
    assert set(uses) == {1, 2}
    assert abs(uses[2] / 4000 - 0.25) < 0.04  # six standard deviations


def test_an_answer_that_may_be_used_once_more_by_chance_is_still_the_only_one_of_its_backend() -> None:
    answer, other = strangers(2)
    pool = Pool(Limits(size=4, uses=1.999, removals=0.0), Random(6))
    tell(pool, answer, 5)
    tell(pool, other, 5, 2 * MS)
    assert pool.use() is answer.peer
    pool.sweep(SECOND)
    assert keys(pool) == "AB"
    tell(pool, answer, 7)
    assert [(each.peer.instance.key, each.rif) for each in pool.answers] == [("B", 5), ("A", 7)]


def test_answers_are_thrown_away_in_turn_the_oldest_and_the_worst() -> None:
    peers = fleet([1] * 4)
    picker = built("prequal", peers, probes="0", removals="1")
    assert isinstance(picker, Reported)
    for peer, ms in zip(peers, [3, 1, 9, 2], strict=True):
        picker.reported(peer, ProbeReply(1, ms * MS), SECOND)
    picker.pick(Call(SECOND))
    _, why = picker.why(Call(SECOND))
    assert [peer.instance.key for peer, _ in why.rows] == ["B", "C", "D"]  # A was the oldest
    _, why = picker.why(Call(SECOND))
    assert [peer.instance.key for peer, _ in why.rows] == ["C", "D"]  # B was used, so it was hot: the worst


def test_backends_that_answer_are_believed_and_others_are_answered_for() -> None:
    peers = fleet([1, 1, 1])
    asked: list[Peer] = []
    policy = POLICIES["prequal"]
    picker = policy.build(peers, Setup(Random(1), policy.options, probe=asked.append))
    assert isinstance(picker, Reported)
    picker.pick(Call(10 * SECOND))
    assert set(asked) == set(peers)
    _, why = picker.why(Call(10 * SECOND))
    assert {figures[0] for _, figures in why.rows} <= {"0", "1"}  # this client's own calls
    for peer, rif in zip(peers, [50, 60, 70], strict=True):
        picker.reported(peer, ProbeReply(rif, 10 * MS), 11 * SECOND)
    _, why = picker.why(Call(11 * SECOND))
    assert {int(figures[0]) for _, figures in why.rows} == {50, 60, 70}
    _, why = picker.why(Call(15 * SECOND))  # they fell silent
    assert all(int(figures[0]) < 10 for _, figures in why.rows)


def test_reports_that_are_no_answers_to_probes_are_left_alone() -> None:
    peers = fleet([1, 1])
    picker = built("prequal", peers, probes="0")
    assert isinstance(picker, Reported)
    picker.reported(peers[0], {"rif": 1}, SECOND)
    picker.reported(fleet([1])[0], ProbeReply(1, 1), SECOND)
    _, why = picker.why(Call(SECOND))
    assert not why.rows


def test_probes_go_to_different_backends_as_many_as_asked_for_on_average() -> None:
    peers = fleet([1] * 10)
    asked: list[Peer] = []
    policy = POLICIES["prequal"].with_options({"probes": "2.5"})
    picker = policy.build(peers, Setup(Random(3), policy.options, probe=asked.append))
    numbers = []
    for number in range(100):
        before = len(asked)
        picker.pick(Call(SECOND + number))
        fresh = asked[before:]
        if number > 1:
            assert len(set(fresh)) == len(fresh)
            numbers.append(len(fresh))
    assert Counter(numbers) == {2: 49, 3: 49}
    assert set(asked) == set(peers)


@pytest.mark.parametrize(("size", "count"), [(4, 3), (5, 3), (40, 3), (5, 2), (5, 1)])
def test_probes_are_drawn_without_replacement_and_each_order_with_the_same_chance(size: int, count: int) -> None:
    draws = several(range(1, size + 1), float(count), Random(2))
    found = Counter(next(draws) if count == 3 else tuple(next(draws)) for _ in range(6000))
    assert all(len({*each}) == count for each in found)
    if size == 40:
        firsts = Counter(number for each in found.elements() for number in each[:1])
        assert p_value(sum((firsts[n] - 150) ** 2 / 150 for n in range(1, 41)), 39) > 1e-6
        return
    expected = 6000 / math.perm(size, count)
    orders = permutations(range(1, size + 1), count)
    assert p_value(sum((found[each] - expected) ** 2 / expected for each in orders), math.perm(size, count) - 1) > 1e-6


def test_a_backend_is_not_asked_again_while_it_would_say_the_same_and_its_answer_counts_anew() -> None:
    peers = fleet([1, 1, 1])
    asked: list[Peer] = []
    policy = POLICIES["prequal"]
    picker = policy.build(peers, Setup(Random(1), policy.options, probe=asked.append))
    assert isinstance(picker, Reported)
    for peer in peers:
        picker.reported(peer, ProbeReply(7, 5 * MS, until_ns=SECOND + 10 * MS), SECOND)
    for now_ns in (SECOND, SECOND + 10 * MS - 1):
        picker.pick(Call(now_ns))
        assert not asked
    _, why = picker.why(Call(SECOND + 10 * MS))
    assert [figures[0] for _, figures in why.rows] == ["7", "7", "7"]
    assert asked == peers


def test_a_failure_makes_the_answer_of_its_backend_worse_at_once() -> None:
    peers = fleet([1, 1])
    picker = built("prequal", peers, probes="0", removals="0")
    assert isinstance(picker, Reported)
    assert isinstance(picker, Learning)
    for peer in peers:
        picker.reported(peer, ProbeReply(2, 5 * MS), SECOND)
    picker.ended(peers[0], SECOND, SECOND + MS, LOST)
    _, why = picker.why(Call(SECOND))
    assert dict(why.rows)[peers[0]][:2] == ("3", "1000.0ms")
    assert dict(why.rows)[peers[1]][:2] == ("2", "5.0ms")


def test_later_answers_of_a_backend_are_worse_too_for_as_long_as_the_penalty() -> None:
    peers = fleet([1, 1])
    picker = built("prequal", peers, probes="0", removals="0", failure_penalty="500ms")
    assert isinstance(picker, Reported)
    assert isinstance(picker, Learning)
    picker.ended(peers[0], SECOND, SECOND, LOST)
    for at_ms, expected in [(1499, ("3", "500.0ms")), (1500, ("2", "5.0ms"))]:
        for peer in peers:
            picker.reported(peer, ProbeReply(2, 5 * MS), at_ms * MS)
        _, why = picker.why(Call(at_ms * MS))
        assert dict(why.rows)[peers[0]][:2] == expected


def test_own_answers_are_the_calls_in_flight_and_the_median_of_the_last_nine_latencies() -> None:
    peers = fleet([1, 1])
    picker = built("prequal", peers)
    assert isinstance(picker, Learning)
    for ms in [900, 900, 900, 1, 2, 3, 4, 5, 6, 7, 8, 9]:
        picker.ended(peers[0], SECOND - ms * MS, SECOND, OK)
    peers[0].picks = 4
    _, why = picker.why(Call(SECOND))
    assert dict(why.rows)[peers[0]][:2] == ("4", "5.0ms")


@pytest.mark.parametrize("case", range(10))
def test_the_choice_is_the_rule_over_the_answers_at_every_pick(case: int) -> None:
    rng = Random(case)
    peers = fleet([1] * rng.choice([2, 3, 10, 40]))
    traffic = Traffic(built("prequal", peers, seed=case), peers, rng)
    for _ in range(200):
        told, why = traffic.picker.why(Call(traffic.now_ns))
        rows = [(int(rif), float(latency.removesuffix("ms")), heat) for _, (rif, latency, heat) in why.rows]
        if rows:
            cold = [row for row in rows if row[2] == "cold"]
            expected = min(row[1] for row in cold) if cold else min(row[0] for row in rows)
            chosen = next(row for (peer, _), row in zip(why.rows, rows, strict=True) if peer is told)
            assert chosen[1 if cold else 0] == expected
            assert not cold or chosen[2] == "cold"
        told.picks += 1
        traffic.flying.append((traffic.now_ns, told))
        traffic.wait()
        traffic.thin_out(20, REPLIES)
