"""Whom a picker may choose from: levels, zones, panic, and what happens when everybody is out."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from lbctl.balance.guards.base import CONNECTING, EJECTED, OPEN, UNHEALTHY
from lbctl.balance.peer import Peer
from lbctl.balance.priorities import Level, parts
from lbctl.balance.selection import Mode, Selection, ZoneOptions, standing
from lbctl.model import Endpoint, Instance
from tests.balance.fleet import ANY, VECTORS, instance
from tests.balance.guards.ward import Ward
from tests.balance.selecting import bar, counts, ward


def placed(key: str, zone: object, weight: int = 1) -> Instance:
    return Instance(key, "echo", "seed", Endpoint("10.0.0.1", ord(key)), weight, metadata={"zone": zone})


# ---- levels and panic ------------------------------------------------------------------------------------------------


def test_the_first_level_can_do_with_somewhat_fewer() -> None:
    vector = VECTORS["panic_envoy"]
    given = vector["given"]
    found = [
        parts([Level(100, healthy), Level(100, given["p1_healthy_pct"])], 50)[0].percent
        for healthy in given["p0_healthy_pct"]
    ]
    assert found == vector["expect"]["p0_traffic_pct"]


@pytest.mark.parametrize("row", [0, 1, 4, 5])  # what the source says of the others contradicts its own rule
def test_two_levels_of_which_each_may_panic(row: int) -> None:
    vector = VECTORS["panic_envoy_both"]
    healthy, expected = vector["given"]["rows_p0_p1"][row], vector["expect"]
    found = parts([Level(100, part) for part in healthy], 50)
    assert [part.percent for part in found] == expected["p0_p1_traffic"][row]
    assert [int(part.panics) for part in found] == expected["panic_p0_p1"][row]
    assert min(100, sum(min(100, 140 * part // 100) for part in healthy)) == expected["normalized_total"][row]


@pytest.mark.parametrize("row", [2, 3])
def test_no_level_panics_where_all_together_are_enough(row: int) -> None:
    vector = VECTORS["panic_envoy_both"]
    found = parts([Level(100, part) for part in vector["given"]["rows_p0_p1"][row]], 50)
    assert [int(part.panics) for part in found] == vector["expect"]["panic_p0_p1"][row]


def test_parts_are_always_a_hundred_percent_or_nothing() -> None:
    rng = Random(3)
    for _ in range(3000):
        hosts = [rng.randint(0, 9) for _ in range(rng.randint(1, 4))]
        levels = [Level(count, rng.randint(0, count)) for count in hosts]
        threshold = rng.choice((0, 50, 100))
        found = parts(levels, threshold)
        total = sum(part.percent for part in found)
        assert total == 100 or (total == 0 and not any(level.healthy for level in levels))
        for part, level in zip(found, levels, strict=True):
            assert not part.panics or 100 * level.healthy < threshold * level.hosts
            assert not part.percent or level.healthy or part.panics


@pytest.mark.parametrize(("out", "inside", "mode"), [
    ("", "ABCD", Mode.NORMAL),
    ("A", "BCD", Mode.NORMAL),
    ("AB", "CD", Mode.NORMAL),  # 50 % is not below 50 %
    ("ABC", "ABCD", Mode.PANIC),
    ("ABCD", "ABCD", Mode.PANIC),
])  # fmt: skip
def test_below_the_threshold_all_are_used(out: str, inside: str, mode: Mode) -> None:
    one = ward(panic=50.0, when_all_out=Mode.FAIL)
    bar(one, out)
    assert (one.inside, one.balancer.mode) == (inside, mode)


def test_without_a_threshold_one_healthy_backend_gets_everything() -> None:
    one = ward()
    bar(one, "ABC")
    assert (one.inside, one.balancer.mode) == ("D", Mode.NORMAL)


def test_panic_uses_nobody_who_cannot_be_reached_is_drained_or_has_not_told_its_health() -> None:
    one = ward(panic=50.0)
    one.balancer.mark(one.peer("A"), ready=False)
    bar(one, "B", CONNECTING)
    one.balancer.drain(one.peer("C"), True)
    bar(one, "D")
    assert (one.inside, one.balancer.mode) == ("D", Mode.PANIC)


def test_a_panic_is_an_epoch_like_any_other() -> None:
    one = ward()
    counts(one, 100)
    bar(one, "ABC")
    counts(one, 100)
    bar(one, "D")
    counts(one, 100)
    assert [round(one.balancer.expected(one.peer(key))) for key in "ABCD"] == [50, 50, 50, 150]


# ---- everybody is out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "inside"), [(Mode.PANIC, "ABCD"), (Mode.WAIT, ""), (Mode.FAIL, "")])
def test_when_all_are_out(what: Mode, inside: str) -> None:
    one = ward(when_all_out=what)
    bar(one, "ABCD", OPEN)
    assert (one.inside, one.balancer.mode) == (inside, what)
    one.balancer.bar(one.peer("C"), OPEN, barred=False)
    assert (one.inside, one.balancer.mode) == ("C", Mode.NORMAL)


@pytest.mark.parametrize("what", [Mode.PANIC, Mode.WAIT, Mode.FAIL])
def test_calls_wait_where_nobody_can_be_reached_whatever_was_asked_for(what: Mode) -> None:
    one = ward(when_all_out=what)
    for key in "ABCD":
        one.balancer.mark(one.peer(key), ready=False)
    assert (one.balancer.picker, one.balancer.mode) == (None, Mode.NORMAL)


def test_pick_first_ignores_health_and_nothing_else() -> None:
    one = ward("A", policy="pick_first", when_all_out=Mode.FAIL)
    bar(one, "A", UNHEALTHY)
    assert one.inside == "A"
    bar(one, "A", EJECTED)
    assert one.balancer.mode is Mode.FAIL


# ---- zones -----------------------------------------------------------------------------------------------------------


def zones(near: str, far: str, **rules: object) -> Ward:
    one = Ward("A", selection=Selection(zone=ZoneOptions("here"), **rules), policy="random")  # type: ignore[arg-type]
    one.set(*(placed(key, "here") for key in near), *(placed(key, "there") for key in far))
    one.balancer.tick(one.now_ns)
    return one


def test_the_own_zone_gets_everything_while_it_is_strong_enough() -> None:
    one = zones("ABCD", "EF")
    assert one.inside == "ABCD"
    assert standing(one.peer("E")) == "other_zone"
    one.balancer.bar(one.peer("A"), EJECTED, barred=True)
    assert one.inside == "BCD"  # 1.4 x 75 %


def test_what_the_own_zone_is_too_weak_for_goes_to_the_others() -> None:
    one = zones("ABCD", "EF")
    bar(one, "AB")  # 1.4 x 50 % is 70 %
    found = counts(one)
    assert {key: round(count / 1000, 1) for key, count in found.items()} == {
        "C": pytest.approx(3.5, abs=0.2), "D": pytest.approx(3.5, abs=0.2),
        "E": pytest.approx(1.5, abs=0.2), "F": pytest.approx(1.5, abs=0.2),
    }  # fmt: skip
    assert standing(one.peer("E")) == ""
    expected = one.balancer.expectations()
    assert [round(expected[one.peer(key)]) for key in "ABCDEF"] == [0, 0, 3500, 3500, 1500, 1500]


def test_the_others_get_everything_where_the_own_zone_has_nobody() -> None:
    one = zones("AB", "CD")
    bar(one, "AB")
    assert one.inside == "CD"
    one.set(placed("C", "there"), placed("D", None))
    assert one.inside == "CD"
    doubts = one.balancer._selection.doubts(one.balancer.peers.values())
    assert doubts == ["no backend is in zone here (metadata zone): the other zones got everything"]


def test_all_zones_out_is_everybody_out() -> None:
    one = zones("AB", "CD")
    bar(one, "ABCD")
    assert (one.inside, one.balancer.mode) == ("ABCD", Mode.PANIC)
    one = zones("AB", "CD", when_all_out=Mode.FAIL)
    bar(one, "ABCD")
    assert (one.inside, one.balancer.mode) == ("", Mode.FAIL)


def test_zones_panic_together_and_by_the_number_of_their_backends() -> None:
    one = zones("AB", "CDEFGH", panic=50.0)
    bar(one, "ACDEFGH")  # 50 % and 0 %
    bar(one, "B")
    found = counts(one, 8000)
    assert (found["A"] + found["B"]) / 8000 == pytest.approx(0.25, abs=0.02)
    assert one.balancer.mode is Mode.PANIC


def test_a_pick_over_two_zones_tells_which_was_drawn() -> None:
    one = zones("ABCD", "EF")
    bar(one, "AB")
    picker = one.balancer.picker
    assert picker is not None
    for _ in range(50):
        peer, why = picker.why(ANY)
        level = 1 if peer.instance.key in "CD" else 2
        assert why.text.startswith(f"level {level} has {70 if level == 1 else 30} % of the picks, drawn ")


def test_a_zone_may_stand_under_another_key_and_be_a_number() -> None:
    one = Ward("A", selection=Selection(zone=ZoneOptions("7", key="rack")), policy="random")
    found = [Instance(k, "echo", "seed", Endpoint("h", n), 1, metadata={"rack": n}) for k, n in (("B", 7), ("C", 8))]
    one.set(*found)
    assert one.inside == "B"


# ---- standing --------------------------------------------------------------------------------------------------------


def test_the_registry_takes_one_out_by_its_weight_while_others_have_one() -> None:
    one = ward("Z")
    one.set(placed("A", "z", 0), placed("B", "z", 2), replace(placed("C", "z"), status="inactive"))
    assert one.inside == "B"
    assert [standing(one.peer(key)) for key in "ABC"] == ["draining", "", "draining"]
    one.set(placed("A", "z", 0), placed("B", "z", 0), placed("C", "z", 0))
    assert one.inside == "ABC"
    assert [standing(one.peer(key)) for key in "ABC"] == ["", "", ""]


def test_of_several_reasons_the_gravest_is_told() -> None:
    peer = Peer(instance("A"))
    assert standing(peer) == ""
    peer.warmth = 0.4
    assert standing(peer) == "warming"
    peer.aside = "other_zone"
    assert standing(peer) == "other_zone"
    peer.bars.update((OPEN, EJECTED))
    assert standing(peer) == "ejected"
    peer.bars.add(UNHEALTHY)
    assert standing(peer) == "unhealthy"
