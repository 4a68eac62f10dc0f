"""A policy on a virtual clock: when calls begin and end, who gets them, and the band their shares fall into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from lbctl.balance.envelope import Band, envelope
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.virtual import Modelled, Pace, Virtual
from tests.balance.fleet import VECTORS, instance

MS = 1_000_000


def modelled(times_ms: Sequence[float], errors: Sequence[float] = ()) -> list[Modelled]:
    failing = [*errors, *[0.0] * (len(times_ms) - len(errors))]
    return [
        Modelled(instance(chr(65 + n), port=n + 1), [round(ms * MS)], [1], failing[n], MS // 10)
        for n, ms in enumerate(times_ms)
    ]


def shares(policy: str, times_ms: Sequence[float], pace: Pace, calls: int = 20_000) -> list[float]:
    virtual = Virtual(POLICIES[policy], modelled(times_ms), pace, Random(5))
    counts = Counter(peer.instance.key for peer in virtual.run(calls))
    return [counts[chr(65 + n)] / calls for n in range(len(times_ms))]


def test_a_closed_loop_has_as_many_calls_in_flight_as_it_says_and_every_end_makes_room_for_one() -> None:
    virtual = Virtual(POLICIES["round_robin"], modelled([10, 10]), Pace(6), Random(1))
    for calls in (6, 1, 100):
        virtual.run(calls)
        assert sum(peer.in_flight for peer in virtual.balancer.peers.values()) == 6


def test_an_open_loop_begins_calls_at_their_distance_whatever_becomes_of_them() -> None:
    virtual = Virtual(POLICIES["round_robin"], modelled([10, 10]), Pace(gap_ns=2 * MS), Random(1))
    virtual.run(1000)
    assert sum(peer.in_flight for peer in virtual.balancer.peers.values()) == 5  # 10 ms at 500 a second: Little's law


def test_a_policy_without_feedback_does_what_it_does_anywhere() -> None:
    peers = Virtual(POLICIES["smooth_wrr"], _weighted(5, 1, 1), Pace(3), Random(1)).run(7)
    assert "".join(peer.instance.key for peer in peers) == "AABACAA"


def _weighted(*weights: int) -> list[Modelled]:
    return [Modelled(instance(chr(65 + n), weight, port=n + 1), [MS], [1]) for n, weight in enumerate(weights)]


def test_backends_without_a_difference_in_load_get_calls_as_their_speed_allows() -> None:
    """Least connections keeps as many in flight at each: 10, 20 and 40 ms make 4 : 2 : 1."""
    limits = VECTORS["feedback_fixed_points"]["expect"]["simulated_full_scan"]["least_active"]
    found = shares("least_conn", [10, 20, 40], Pace(30))
    assert all(abs(share - limit) < 0.01 for share, limit in zip(found, limits, strict=True)), found


def test_times_and_errors_are_drawn_as_often_as_they_were_measured() -> None:
    model = Modelled(instance("A"), [MS, 9 * MS], [3, 1], errors=0.25, error_ns=2 * MS)
    virtual = Virtual(POLICIES["round_robin"], [model], Pace(1), Random(4))
    virtual.run(8001)
    lasted = Counter(ended - began for began, ended in _spans(virtual, 8000))
    assert lasted.keys() == {MS, 2 * MS, 9 * MS}
    assert abs(lasted[2 * MS] / 8000 - 0.25) < 0.02
    assert abs(lasted[9 * MS] / (8000 - lasted[2 * MS]) - 0.25) < 0.02


def _spans(virtual: Virtual, calls: int) -> list[tuple[int, int]]:
    found = []
    for _ in range(calls):
        ((ended, _, _, began, _),) = virtual._flying
        found.append((began, ended))
        virtual.run(1)
    return found


def test_the_first_pick_can_be_explained_and_is_the_pick_that_would_have_been_made() -> None:
    plain = Virtual(POLICIES["weighted_random"], _weighted(5, 1, 1), Pace(1), Random(9))
    told = Virtual(POLICIES["weighted_random"], _weighted(5, 1, 1), Pace(1), Random(9))
    peer, why = told.explained()
    assert peer.instance == plain.run(1)[0].instance
    assert why.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["least_conn", "least_request", "p2c", "p2c_ewma", "peak_ewma"])
@pytest.mark.parametrize("pace", [Pace(12), Pace(gap_ns=MS)])
def test_what_a_policy_does_is_inside_its_own_band(name: str, pace: Pace) -> None:
    bands = envelope(POLICIES[name], modelled([4, 8, 16]), pace, 20_000, seed=100)
    for share, band in zip(shares(name, [4, 8, 16], pace), bands, strict=True):
        assert band.low <= share <= band.high, (share, band)


@pytest.mark.parametrize("name", ["least_conn", "p2c"])
def test_equal_shares_are_outside_the_band_where_backends_are_not_equally_quick(name: str) -> None:
    bands = envelope(POLICIES[name], modelled([4, 8, 40]), Pace(12), 20_000, seed=1)
    assert not bands[2].low <= 1 / 3 <= bands[2].high


def test_a_band_is_at_least_a_tenth_and_two_points_wide_to_each_side_but_for_small_shares() -> None:
    (only,) = envelope(POLICIES["least_conn"], modelled([1]), Pace(2), 500, seed=1)
    assert only == Band(0.9, 1.0, 1.0)
    bands = envelope(POLICIES["least_conn"], modelled([1] * 50), Pace(50), 2500, seed=1)
    assert all(band.low <= 0.01 <= 0.03 <= band.high for band in bands)  # a fiftieth: a point, not two
    assert max(band.high for band in bands) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fastest", "peak_ewma", "p2c_ewma", "kratos_p2c", "least_conn"])
def test_a_backend_that_was_slower_for_a_while_makes_no_right_policy_look_wrong(name: str) -> None:
    """The means of a run do not show it: what was measured is the same for all."""
    bands = envelope(POLICIES[name], modelled([10] * 4), Pace(20), 1200, seed=100)
    for share, band in zip(shares(name, [9, 9.5, 10.5, 11], Pace(20), 1200), bands, strict=True):
        assert band.low <= share <= band.high, (share, band)


def test_a_band_is_at_least_four_calls_wide_to_each_side() -> None:
    """A backend that fails at once gets a call or two, and the first ones are on their way before anybody knows it."""
    backends = modelled([10, 10, 10], [0, 0, 1.0])
    for picks in (200, 600):
        *_, failing = envelope(POLICIES["least_conn"], backends, Pace(gap_ns=3 * MS), picks, 1)
        assert failing.middle <= 0.01
        assert failing.high >= failing.middle + 4 / picks - 1e-9


def test_short_runs_have_wider_bands_than_long_ones() -> None:
    short, long = (
        envelope(POLICIES["least_request"], modelled([2, 4]), Pace(4), picks, seed=3)[0] for picks in (40, 20_000)
    )
    assert short.high - short.low > long.high - long.low


def test_the_same_seed_gives_the_same_bands() -> None:
    first, second = (envelope(POLICIES["p2c"], modelled([2, 4]), Pace(4), 200, seed=3) for _ in range(2))
    assert first == second
