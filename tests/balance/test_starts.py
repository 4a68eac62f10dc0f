"""Where turns begin when a picker is rebuilt: the options that policies of turns have for it."""

from __future__ import annotations

from collections import Counter, deque
from fractions import Fraction
from random import Random

import pytest

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import drawn, fleet, letters


def rebuilt(name: str, lives: list[tuple[list[Peer], int]], **options: str) -> list[str]:
    """The picks of one picker after the other, each over its set and for so many picks."""
    policy = POLICIES[name].with_options(options)
    setup = Setup(Random(1), policy.options)
    picked = []
    for peers, picks in lives:
        picker = policy.build(peers, setup)
        picked.append(letters(drawn(picker, picks)))
        picker.retire()
    return picked


def counted(name: str, weights: list[int], every: int, total: int, **options: str) -> Counter[str]:
    peers = fleet(weights)
    return Counter("".join(rebuilt(name, [(peers, every)] * (total // every), **options)))


def evenly(counts: Counter[str], letters_: str) -> bool:
    expected = counts.total() / len(letters_)
    return p_value(sum((counts[each] - expected) ** 2 / expected for each in letters_), len(letters_) - 1) > 1e-6


def test_a_kept_round_robin_goes_on_where_the_last_picker_was() -> None:
    peers = fleet([1, 1, 1, 1])
    order = "".join(rebuilt("round_robin", [(peers, picks) for picks in (1, 2, 5, 0, 3, 700, 6)], start="kept"))
    first = "ABCD".index(order[0])
    assert order == ("ABCD" * 200)[first : first + 717]


def test_the_kept_number_of_picks_modulo_the_size_of_the_set_says_whose_turn_it_is() -> None:
    peers = fleet([1] * 5)
    number = Random(1).randrange(1 << 31)
    before, after = rebuilt("round_robin", [(peers, 4), (peers[:3], 4)], start="kept")
    assert before == "".join("ABCDE"[(number + turn) % 5] for turn in range(4))
    assert after == "".join("ABC"[(number + 4 + turn) % 3] for turn in range(4))


def test_a_first_start_favours_the_first_when_pickers_are_rebuilt() -> None:
    assert counted("round_robin", [1, 1, 1], 1, 300, start="first") == {"A": 300}
    assert counted("round_robin", [1, 1, 1], 4, 400, start="first") == {"A": 200, "B": 100, "C": 100}
    assert evenly(counted("round_robin", [1, 1, 1], 1, 3000, start="random"), "ABC")


def test_a_shuffled_order_is_another_one_in_every_picker_and_stays_while_it_lives() -> None:
    peers = fleet([1, 1, 1])
    found = rebuilt("round_robin", [(peers, 6)] * 600, order="shuffled")
    assert all(order[:3] == order[3:] and set(order) == set("ABC") for order in found)
    orders = Counter(order[:3] for order in found)
    assert len(orders) == 6
    assert p_value(sum((count - 100) ** 2 / 100 for count in orders.values()), 5) > 1e-6


def test_wrr_plain_goes_on_by_a_count_or_begins_anew() -> None:
    peers = fleet([1, 2, 3])
    lives = [(peers, 4), (peers, 4), (peers[1:], 3), (peers, 2)]  # from 0, 4, 8 modulo 5, and 11 modulo 6
    assert rebuilt("wrr_plain", lives, start="counter") == ["ABBC", "CCAB", "CCB", "CA"]
    assert rebuilt("wrr_plain", [(peers, 2)] * 3, start="first") == ["AB"] * 3
    assert rebuilt("wrr_plain", [(fleet([1, 2, 3]), 4)]) == ["ABBC"]


def test_iwrr_turns_its_list_by_chance_or_begins_with_the_first() -> None:
    peers = fleet([5, 1, 1])
    assert rebuilt("iwrr", [(peers, 7)] * 2, start="first") == ["ABCAAAA"] * 2
    found = Counter(rebuilt("iwrr", [(peers, 14)] * 300, start="random"))
    assert set(found) == {_queued(turned) for turned in ("ABC", "BCA", "CAB")}
    assert p_value(sum((count - 100) ** 2 / 100 for count in found.values()), 2) > 1e-6
    assert evenly(counted("iwrr", [5, 1, 1], 2, 3000, start="random"), "ABC")


def _queued(turned: str) -> str:
    """Two rounds of two queues that begin in this order, for a:5 b:1 c:1."""
    left = {"A": 5, "B": 1, "C": 1}
    now, later, order = deque(turned), deque[str](), ""
    for _ in range(14):
        if not now:
            now, later = later, now
        key = now.popleft()
        order += key
        left[key] -= 1
        (now if left[key] else later).append(key)
        left[key] = left[key] or {"A": 5, "B": 1, "C": 1}[key]
    return order


def test_shares_of_a_turned_list_are_those_of_its_own_peers() -> None:
    policy = POLICIES["iwrr"].with_options({"start": "random"})
    for seed in range(6):
        picker = policy.build(fleet([5, 3, 2]), Setup(Random(seed), policy.options))
        assert picker.law().shares == [0.5, 0.3, 0.2]


@pytest.mark.parametrize("ties", ["keep", "fifo"])
def test_edf_leaves_out_its_first_picks_by_chance_or_begins_anew(ties: str) -> None:
    weights = [5, 3, 2]
    whole = rebuilt("edf", [(fleet(weights), 14)], ties=ties)[0]
    peers = fleet(weights)
    assert rebuilt("edf", [(peers, 4)] * 3, ties=ties, start="first") == [whole[:4]] * 3
    found = Counter(rebuilt("edf", [(peers, 12)] * 600, ties=ties, start="random"))
    assert set(found) == {whole[skipped : skipped + 12] for skipped in range(3)}
    assert p_value(sum((count - 200) ** 2 / 200 for count in found.values()), 2) > 1e-6


@pytest.mark.parametrize(
    ("name", "start"),
    [
        *(("round_robin", start) for start in ("random", "kept", "first")),
        *(("wrr_plain", start) for start in ("kept", "counter", "first")),
        *(("iwrr", start) for start in ("kept", "random", "first")),
        *(("edf", start) for start in ("kept", "random", "first")),
    ],
)
def test_no_count_strays_further_than_the_law_says_wherever_a_picker_began(name: str, start: str) -> None:
    rng = Random(4)
    policy = POLICIES[name].with_options({"start": start})
    for _ in range(30):
        peers = fleet([rng.randint(1, 9) for _ in range(rng.randint(1, 6))])
        setup = Setup(rng, policy.options)
        for _ in range(4):
            picker = policy.build(peers, setup)
            law, counts = picker.law(), dict.fromkeys(peers, 0)
            for number, peer in enumerate(drawn(picker, rng.randint(0, 60)), start=1):
                counts[peer] += 1
                for each, share in zip(peers, law.shares, strict=True):
                    assert abs(Fraction(counts[each]) - number * share) <= law.bound + 1e-9
            picker.retire()


@pytest.mark.parametrize("name", ["wrr_plain", "iwrr", "edf", "round_robin"])
def test_what_another_start_has_left_behind_does_no_harm(name: str) -> None:
    peers = fleet([5, 1, 1])
    for start in ("kept", "first", "kept"):
        policy = POLICIES[name].with_options({"start": start})
        picker = policy.build(peers, Setup(Random(1), policy.options))
        assert set(drawn(picker, 20)) == set(peers)
        picker.retire()
