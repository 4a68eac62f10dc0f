"""go-zero's p2c_ewma, against its vectors and against its rule written down plainly."""

from __future__ import annotations

from math import exp, sqrt
from random import Random

import pytest

from lbctl.balance.ewma import moved
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Setup
from lbctl.balance.policies.p2c_ewma import Node
from lbctl.balance.policies.table import POLICIES
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, VECTORS, built, fleet
from tests.balance.traffic import LOST, MS, REPLIES, Chosen, Traffic, busy

SECOND = 1000 * MS
UNACCEPTABLE = {4, 8, 12, 13, 14, 15}  # DeadlineExceeded ResourceExhausted Unimplemented Internal Unavailable DataLoss


def known(peer: Peer, **fields: int) -> Node:
    """Give the peer this memory."""
    node = peer.memory = Node(**fields)
    return node


class GoZero:
    """One connection as go-zero keeps it."""

    def __init__(self) -> None:
        self.lag, self.success, self.last = 0, 1000, 0
        self.inflight, self.pick = 0, -(10**18)

    def load(self) -> int:
        return int(sqrt(self.lag + 1)) * (self.inflight + 1)

    def done(self, start: int, now: int, code: int) -> None:
        self.inflight -= 1
        w = exp(-max(now - self.last, 0) / 10e9) if self.lag else 0.0
        self.last = now
        self.lag = int(self.lag * w + (now - start) * (1 - w))
        self.success = int(self.success * w + (0 if code in UNACCEPTABLE else 1000) * (1 - w))


def go_zero_choice(conns: list[GoZero], rng: Random, now: int) -> int:
    def choose(a: int, b: int) -> int:
        low, high = (b, a) if conns[a].load() > conns[b].load() else (a, b)
        chosen = high if now - conns[high].pick > 10**9 else low
        conns[chosen].pick = now
        return chosen

    if len(conns) == 2:
        return choose(0, 1)
    a = b = 0
    for _ in range(3):
        a, b = int(rng.random() * len(conns)), int(rng.random() * (len(conns) - 1))
        b += b >= a
        if conns[a].success > 500 and conns[b].success > 500:
            break
    return choose(a, b)


@pytest.mark.parametrize("case", range(25))
def test_p2c_ewma_agrees_with_go_zero_over_10_000_picks_with_failures(case: int) -> None:
    rng = Random(case)
    peers = fleet([1] * rng.choice([2, 3, 4, 9]))
    policy = POLICIES["p2c_ewma"].with_options({"failure-penalty": "0s"})
    traffic = Traffic(policy.build(peers, Setup(Random(case), policy.options)), peers, rng)
    conns = {peer: GoZero() for peer in peers}
    traffic.heard = lambda peer, begun_ns, now_ns, reply: conns[peer].done(begun_ns, now_ns, reply.code)
    draws = Random(case)
    for _ in range(400):
        expected = go_zero_choice([*conns.values()], draws, traffic.now_ns)
        assert traffic.pick() is peers[expected]
        conns[peers[expected]].inflight += 1
        traffic.wait()
        traffic.thin_out(12, REPLIES)


def test_latency_moves_as_published() -> None:
    given, expect = VECTORS["gozero_ewma"]["given"], VECTORS["gozero_ewma"]["expect"]
    lag, old = moved(given["old_lag_ns"], given["sample_ns"], round(given["gap_s"] * 1e9), round(given["tau_s"] * 1e9))
    assert lag == expect["new_lag_ns"]
    assert old == pytest.approx(expect["w"], abs=1e-12)
    assert moved(0, given["sample_ns"], 1, 10**10) == (given["sample_ns"], 0.0)  # the first replaces


def test_a_backend_whose_calls_all_fail_is_unhealthy_when_it_was_computed_to_be() -> None:
    given, expect = VECTORS["gozero_unhealthy_after"]["given"], VECTORS["gozero_unhealthy_after"]["expect"]
    (peer,) = fleet([1])
    picker = built("p2c_ewma", [peer], failure_penalty="0s")
    assert isinstance(picker, Learning)
    now_ns, gap_ns = 10 * SECOND, round(given["gap_between_completions_s"] * 1e9)
    picker.ended(peer, now_ns - 5 * MS, now_ns, OK)
    failures = 0
    while peer.memory.success > 500:
        now_ns, failures = now_ns + gap_ns, failures + 1
        picker.ended(peer, now_ns - 5 * MS, now_ns, LOST)
    assert (failures, failures * gap_ns / 1e9) == (expect["failures_until_unhealthy"], expect["time_s"])


def test_a_loser_is_forced_when_it_was_not_picked_for_strictly_more_than_a_second() -> None:
    given, expect = VECTORS["gozero_forcepick"]["given"], VECTORS["gozero_forcepick"]["expect"]
    for age_s, picked in zip(given["last_pick_age_s_of_loser"], expect["picked"], strict=True):
        winner, loser = fleet([1, 1])
        now_ns = 100 * SECOND
        known(winner, lag_ns=given["loads"][0] ** 2, picked_ns=now_ns)
        known(loser, lag_ns=given["loads"][1] ** 2, picked_ns=now_ns - round(age_s * 1e9))
        assert built("p2c_ewma", [winner, loser]).pick(Call(now_ns)) is (loser if picked == "loser" else winner)


def test_load_is_the_root_of_latency_times_calls_in_flight_and_one() -> None:
    """#gozero_load, worked out by hand: int(sqrt(lag + 1)) * (inflight + 1)."""
    for lag_ns, in_flight, load in [(0, 0, 1), (10 * MS, 4, 15810), (40 * MS, 1, 12648), (3, 2, 6)]:
        (peer,) = busy(fleet([1]), [in_flight])
        assert known(peer, lag_ns=lag_ns).cost(peer, 0) == load


def test_a_pair_with_an_unhealthy_one_is_drawn_again_twice_at_most() -> None:
    def chosen(*draws: tuple[int, int]) -> Peer:
        peers = fleet([1, 1, 1])
        for peer, success in zip(peers, [100, 1000, 1000], strict=True):
            known(peer, success=success, picked_ns=SECOND)
        peers[2].memory.root = 9
        policy = POLICIES["p2c_ewma"]
        return policy.build(peers, Setup(Chosen(*draws), policy.options)).pick(Call(SECOND))

    sick, both, other = ((0, 3), (1, 2)), ((1, 3), (1, 2)), ((0, 3), (0, 2))
    assert chosen(*sick, *both).instance.key == "B"
    assert chosen(*sick, *sick, *both).instance.key == "B"
    assert chosen(*other, *other, *other).instance.key == "A"  # the third pair is used whatever


def test_averages_stay_between_the_smallest_and_the_largest_sample() -> None:
    for case in range(200):
        rng = Random(case)
        (peer,) = fleet([1])
        picker = built("p2c_ewma", [peer])
        assert isinstance(picker, Learning)
        now_ns, samples = SECOND, []
        for _ in range(50):
            now_ns += rng.randrange(3 * SECOND)
            samples.append(rng.randrange(1, SECOND))
            picker.ended(peer, now_ns - samples[-1], now_ns, OK)
            assert min(samples) - len(samples) <= peer.memory.lag_ns <= max(samples)  # rounded down each time


@pytest.mark.parametrize(("forget", "lag_ns"), [("true", 0), ("false", 5 * MS)])
def test_averages_outlive_a_change_of_the_set_unless_they_are_to_be_forgotten(forget: str, lag_ns: int) -> None:
    peers = fleet([1, 1])
    picker = built("p2c_ewma", peers, forget=forget)
    assert isinstance(picker, Learning)
    picker.ended(peers[0], SECOND, SECOND + 5 * MS, Reply(Code.OK))
    picker.retire()
    built("p2c_ewma", peers, forget=forget)
    assert peers[0].memory.lag_ns == lag_ns
