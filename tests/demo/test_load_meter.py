"""The load that a demo backend says it has, on a clock of the test's own."""

from __future__ import annotations

import pytest

from lbctl.balance.load_weight import weight_of
from lbctl.demo.load_meter import LoadMeter

MS = 1_000_000


class Backend:
    """A meter, and calls that come at a steady rate."""

    def __init__(self, capacity: float) -> None:
        self.now_ns = 10**12
        self.meter = LoadMeter(capacity, lambda: self.now_ns)

    def serve(self, seconds: float, per_second: int, *, took_ms: int = 1, fails_every: int = 0) -> None:
        for number in range(round(seconds * per_second)):
            begun_ns = self.meter.begin()
            self.now_ns += took_ms * MS
            self.meter.end(begun_ns, failed=bool(fails_every) and number % fails_every == 0)
            self.now_ns += 10**9 // per_second - took_ms * MS


@pytest.mark.parametrize("seconds", [0.35, 1.0, 5.0])
def test_rates_are_those_of_the_last_second(seconds: float) -> None:
    backend = Backend(500.0)
    backend.serve(seconds, 100, fails_every=10)
    report = backend.meter.report()
    assert report.rps_fractional == pytest.approx(100, rel=0.06)
    assert report.eps == pytest.approx(10, abs=2)
    assert report.application_utilization == pytest.approx(report.rps_fractional / 500)


def test_the_weight_that_comes_of_it_is_the_capacity_at_every_load() -> None:
    for per_second in (3, 100, 900):
        backend = Backend(300.0)
        backend.serve(2.0, per_second)
        assert weight_of(backend.meter.report(), penalty=1.0) == pytest.approx(300)


def test_what_was_a_second_ago_is_forgotten() -> None:
    backend = Backend(100.0)
    backend.serve(3.0, 50)
    backend.now_ns += 1_100 * MS
    assert backend.meter.report().rps_fractional == 0.0
    assert backend.meter.report().application_utilization == 0.0


def test_it_tells_how_many_are_in_flight_and_how_long_answers_took() -> None:
    backend = Backend(100.0)
    backend.serve(1.0, 50, took_ms=4)
    backend.serve(1.0, 50, took_ms=7)
    for _ in range(3):
        backend.meter.begin()
    assert backend.meter.report().named_metrics == {"rif": 3.0, "latency_ms": 7.0}


def test_a_backend_that_was_never_called_has_no_load() -> None:
    report = Backend(100.0).meter.report()
    assert (report.rps_fractional, report.eps, report.application_utilization) == (0.0, 0.0, 0.0)
