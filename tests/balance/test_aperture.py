"""The aperture that follows the load: how wide it is, who is in it, and that it outlives pickers."""

from __future__ import annotations

from collections import Counter
from math import exp
from random import Random

import pytest

from lbctl.balance.load_band import Limits, LoadBand
from lbctl.balance.peer import Peer
from lbctl.balance.policies.aperture import Aperture
from lbctl.balance.policies.base import Call, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.virtual import Modelled, Pace, Virtual
from lbctl.errors import UsageError
from lbctl.model import Code, Endpoint, Instance, Reply
from lbctl.stats.chi_square import p_value
from tests.balance.fleet import OK, fleet, letters

SECOND = 1_000_000_000
FINAGLE = Limits(0.875, 1.125, 15 * SECOND, 1)


def aperture(peers: list[Peer], **options: str) -> Aperture:
    policy = POLICIES["aperture"].with_options(options)
    picker = policy.build(peers, Setup(Random(1), policy.options))
    assert isinstance(picker, Aperture)
    return picker


def begin(picker: Aperture, now_ns: int, count: int = 1) -> list[Peer]:
    """Pick so many times at this moment, and count the picks as the engine does."""
    picked = []
    for _ in range(count):
        peer = picker.pick(Call(now_ns))
        peer.picks += 1
        picked.append(peer)
    return picked


def end(picker: Aperture, peer: Peer, now_ns: int) -> None:
    peer.finished += 1
    picker.ended(peer, 0, now_ns, OK)


def used(picker: Aperture, peers: list[Peer], now_ns: int) -> set[str]:
    """Who is picked, when nothing changes meanwhile."""
    found = set()
    for _ in range(40 * len(peers)):
        (peer,) = begin(picker, now_ns)
        found.add(peer.instance.key)
        end(picker, peer, now_ns)
    return found


def band(limits: Limits = FINAGLE, most: int = 50) -> LoadBand:
    found = LoadBand()
    found.fit(limits, most)
    return found


def test_what_is_in_flight_now_counts_for_the_time_since_the_last_change() -> None:
    one = band()
    for _ in range(10):  # all at once: the first is the average, and no time has passed since
        one.moved(1, 0)
    assert (one.in_flight, one.average, one.width) == (10, 1.0, 1)
    one.moved(-1, 15 * SECOND)
    assert one.average == pytest.approx(9 * (1 - exp(-1)) + exp(-1))


def test_every_change_moves_the_width_by_one_until_each_backend_has_its_band_of_calls() -> None:
    one = band()
    one.moved(10, 0)
    widths = [one.width]
    for _ in range(6):
        one.moved(1, 0)
        one.moved(-1, 0)
        widths.append(one.width)
    assert widths == [2, 4, 6, 8, 9, 9, 9]  # 10 / 8 = 1.25 is above, 10 / 9 = 1.11 is not


def test_the_width_stays_between_the_least_and_all() -> None:
    assert band(Limits(0.875, 1.125, 0, 4), 3).width == 3
    one = band(Limits(0.875, 1.125, 0, 2), 3)
    for now_ns in range(20):
        one.moved(1, now_ns)
    assert one.width == 3
    for now_ns in range(20, 40):
        one.moved(-1, now_ns)
    assert (one.in_flight, one.average, one.width) == (0, 0.0, 2)


def test_bounds_of_the_band_count_as_outside_of_it() -> None:
    widths = []
    for in_flight in (9, 7):  # 9 / 8 = 1.125 and 7 / 8 = 0.875
        one = band()
        one.width = 8
        one.fit(FINAGLE, 50)
        one.moved(in_flight, 0)
        widths.append(one.width)
    assert widths == [9, 7]


@pytest.mark.parametrize("case", range(20))
def test_the_band_does_what_its_rule_says(case: int) -> None:
    rng = Random(case)
    limits = Limits(0.5, 2.0, rng.choice([0, SECOND, 15 * SECOND]), rng.randint(1, 3))
    most = rng.randint(1, 12)
    one, now_ns, total, average, width = band(limits, most), 0, 0, None, min(limits.least, most)
    for _ in range(500):
        change = rng.choice([1, 1, -1] if total else [1])
        passed_ns = rng.choice([0, rng.randrange(SECOND)])
        now_ns, total = now_ns + passed_ns, total + change
        if average is None:
            average = float(total)
        elif passed_ns:
            kept = exp(-passed_ns / limits.window_ns) if limits.window_ns else 0.0
            average = average * kept + total * (1 - kept)
        if average / width >= limits.high and width < most:
            width += 1
        elif average / width <= limits.low and width > limits.least:
            width -= 1
        one.moved(change, now_ns)
        assert one.width == width
        assert one.average == pytest.approx(average)


def test_it_begins_with_one_backend_or_as_many_as_were_asked_for() -> None:
    peers = fleet([1] * 10)
    assert len({peer.instance.key for peer in begin(aperture(peers), 1, 1)}) == 1
    others = fleet([1] * 10)
    picker = aperture(others, min_aperture="4")
    assert len(used(picker, others, 1)) == 4


def test_clients_of_one_seed_use_the_same_backends_and_those_of_another_use_others() -> None:
    def of_seed(seed: int) -> frozenset[str]:
        peers = fleet([1] * 12)
        return frozenset(used(aperture(peers, min_aperture="4", seed=str(seed)), peers, 1))

    assert of_seed(1) == of_seed(1)
    assert len({of_seed(seed) for seed in range(20)}) > 10


def test_a_backend_more_takes_the_place_of_one_at_most() -> None:
    for size in range(4, 24):
        before = fleet([1] * size)
        after = fleet([1] * (size + 1))
        few = used(aperture(before, min_aperture="4"), before, 1)
        assert len(few - used(aperture(after, min_aperture="4"), after, 1)) <= 1


def test_the_width_and_the_average_outlive_the_picker_and_backends_that_join_learn_of_them() -> None:
    peers = fleet([1] * 12)
    picker = aperture(peers, window="0s")
    for now_ns in range(1, 8):
        begin(picker, now_ns)
    picker.retire()
    joined = fleet([1] * 13)[12:]
    successor = aperture(peers[3:] + joined, window="0s")
    _, why = successor.why(Call(9))
    assert why.text.startswith("the first 7 of 10, for 7 calls in flight on average; two drawn")


def test_calls_that_others_send_are_counted_anew_from_time_to_time() -> None:
    peers = fleet([1] * 3)
    picker = aperture(peers, window="0s")
    for number in range(1, 40):  # ends of calls that this picker has not sent
        end(picker, peers[0], number)
        peers[0].picks += 1
        begin(picker, 100 + number, 1)
    _, why = picker.why(Call(1000))
    assert "the first 3 of 3" in why.text


def test_a_backend_that_fails_keeps_its_slots_among_those_that_are_used() -> None:
    peers = fleet([1] * 6)
    picker = aperture(peers, min_aperture="2")
    (failing,) = begin(picker, 1)
    failing.finished += 1
    picker.ended(failing, 1, 2, Reply(Code.UNAVAILABLE))
    assert failing not in begin(picker, 3, 1)
    assert failing.instance.key in used(picker, peers, 3 * SECOND)


def test_a_band_without_room_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="aperture: low is not below high"):
        POLICIES["aperture"].with_options({"low": "2"})


def simulated(in_flight: int, count: int, seconds: float) -> Counter[str]:
    """Who gets calls of 10 ms in the last second of a closed loop."""
    backends = [
        Modelled(Instance(f"{n:02}", "echo", "seed", Endpoint("10.0.0.1", n + 1), 1), [10_000_000, 11_000_000], [1, 1])
        for n in range(count)
    ]
    virtual = Virtual(POLICIES["aperture"], backends, Pace(in_flight), Random(2))
    calls = round(seconds * in_flight * 1000 / 10.5)
    virtual.run(calls - in_flight * 95)
    return Counter(peer.instance.key for peer in virtual.run(in_flight * 95))


def test_as_many_backends_are_used_as_calls_are_in_flight_and_evenly() -> None:
    counts = simulated(4, 30, 90)
    assert 3 <= len(counts) <= 5
    total = counts.total()
    assert p_value(sum((n - total / len(counts)) ** 2 / (total / len(counts)) for n in counts.values()), 3) > 1e-6


def test_why_names_the_first_of_all() -> None:
    peers = fleet([1, 1, 1])
    peer, why = aperture(peers).why(Call(1))
    assert why.text == "the first 1 of 3, for 0 calls in flight on average; two drawn, equally busy: the first"
    assert letters([peer]) in "ABC"
    assert POLICIES["aperture"].build(peers, Setup(Random(1), POLICIES["aperture"].options)).law().shares == [1 / 3] * 3
