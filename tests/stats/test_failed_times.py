"""How long failed calls took: by code, apart from OK ones, within 1 %, in little memory."""

from __future__ import annotations

from random import Random

import pytest

from lbctl.model import Code, Endpoint, Identity, Origin, Reply
from lbctl.stats.failed_times import FailedTimes
from lbctl.stats.histogram import BUCKETS, Histogram
from lbctl.stats.tally import Tally

A = Identity("a", Endpoint("10.0.0.1", 50051))


def test_each_code_has_the_histogram_of_its_calls() -> None:
    rng = Random(5)
    found, ideal = FailedTimes(), Histogram()
    for _ in range(5000):
        us = int(rng.lognormvariate(8, 1.5))
        found.record(Code.UNAVAILABLE, us)
        ideal.record(us)
    found.record(Code.INTERNAL, -5)
    assert list(found) == [Code.UNAVAILABLE, Code.INTERNAL]
    assert found[Code.UNAVAILABLE].state() == ideal.state()
    assert found[Code.INTERNAL].max_us == 0
    assert Code.OK not in found
    found.clear()
    assert len(found) == 0


def test_those_that_were_answered_can_be_added_to_others() -> None:
    found, times = FailedTimes(), Histogram()
    times.record(10)
    found.add_answered_to(times)
    found.record(Code.NOT_FOUND, 300, answered=True)
    found.record(Code.DEADLINE_EXCEEDED, 9_000)
    found.add_answered_to(times)
    assert (times.total, times.total_us, times.min_us, times.max_us) == (2, 310, 10, 300)


@pytest.mark.parametrize(("q", "ms"), [(0.1, 15), (0.25, 20), (0.5, 35), (0.75, 40), (0.9, 50), (0.95, 50), (0.99, 50)])
def test_percentiles_are_those_of_the_nearest_rank(q: float, ms: int) -> None:
    found = FailedTimes()
    for each in (50, 15, 40, 20, 35):
        found.record(Code.ABORTED, each * 1000)
    assert found[Code.ABORTED].quantile(q) == pytest.approx(ms * 1000, rel=0.01)


def test_beyond_a_million_calls_none_is_forgotten() -> None:
    times = Histogram()
    times.record(1_000, 1_000_000)
    times.record(100_000, 1_000_000)
    assert times.quantile(0.99) == pytest.approx(100_000, rel=0.01)
    assert times.quantile(0.5) == pytest.approx(1_000, rel=0.01)
    assert len(times.counts) == BUCKETS


def test_what_lies_on_an_edge_is_on_the_right_side_of_it() -> None:
    times = Histogram()
    times.record(1_000_000)
    times.record(1_010_000)
    assert times.rebinned([1_000_000, 2_000_000]) == [1, 1, 0]


def test_a_failed_call_is_in_no_time_of_those_that_were_ok() -> None:
    tally = Tally()
    backend = tally.backend(A)
    tally.add_ok(backend, 1_000, 900, 100)
    tally.failed(backend, Reply(Code.DEADLINE_EXCEEDED, Origin.CLIENT, "deadline exceeded"), lasted_us=20_000_000)
    tally.failed(None, Reply(Code.UNAVAILABLE), lasted_us=50)
    assert tally.latency.max_us == backend.latency.max_us == 1_000
    assert {code: times.max_us for code, times in tally.failed_times.items()} == {
        Code.DEADLINE_EXCEEDED: 20_000_000,
        Code.UNAVAILABLE: 50,
    }
    assert list(backend.failed_times) == [Code.DEADLINE_EXCEEDED]
    tally.forget()
    assert not tally.failed_times
    assert not backend.failed_times
