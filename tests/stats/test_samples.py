from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from random import Random

import pytest

from lbctl.stats.histogram import Histogram
from lbctl.stats.samples import Sample, Sampler, Totals


class Book:
    """Counters of a run that is made up, and a sampler that reads them."""

    def __init__(self, limit: int = 600) -> None:
        self.totals = Totals()
        self.latency = Histogram()
        self.sampler = Sampler(limit=limit)

    def calls(self, *us: int, errors: int = 0, in_flight: int = 0) -> None:
        before = self.totals
        for each in us:
            self.latency.record(each)
        self.totals = before._replace(
            requests=before.requests + len(us) + errors,
            ok=before.ok + len(us),
            errors=before.errors + errors,
            in_flight=in_flight,
        )

    def take(self, elapsed_s: float) -> None:
        self.sampler.take(elapsed_s, self.totals, self.latency)

    def end(self, elapsed_s: float) -> None:
        self.sampler.end(elapsed_s, self.totals, self.latency)


def test_a_sample_holds_what_happened_since_the_one_before() -> None:
    book = Book()
    book.calls(100, 200, 250, in_flight=4)
    book.take(1.0)
    book.calls(2000, 255, errors=3, in_flight=2)
    book.take(2.5)
    first, second = book.sampler.samples
    assert (first.t_s, first.seconds, first.requests, first.ok, first.errors, first.in_flight) == (1.0, 1.0, 3, 3, 0, 4)
    assert first.latency == (0.2, 0.25, 0.25, 0.25)
    assert (second.seconds, second.requests, second.ok, second.errors, second.in_flight) == (1.5, 5, 2, 3, 2)
    assert second.latency is not None
    assert second.latency.p50_ms == 0.255
    assert second.latency.max_ms == pytest.approx(2.0, rel=0.01)
    assert second.rps == pytest.approx(5 / 1.5)


def test_a_sample_in_which_no_call_was_ok_has_no_times() -> None:
    book = Book()
    book.calls(errors=2)
    book.take(1.0)
    (sample,) = book.sampler.samples
    assert sample.latency is None
    assert sample.rps == 2.0


@pytest.mark.parametrize(("seconds", "interval"), [(599, 1), (601, 2), (1199, 2), (1202, 4), (2500, 8)])
def test_samples_never_grow_many_and_always_add_up_to_the_run(seconds: int, interval: int) -> None:
    book, rng, at = Book(), Random(7), 0.0
    while at < seconds - 0.6:
        at = book.sampler.due_s + rng.uniform(0.0, 0.004)
        book.calls(*(rng.randrange(50, 9000) for _ in range(3)), errors=1)
        book.take(at)
    book.calls(7, in_flight=0)
    book.end(at + 0.7)
    found = book.sampler.samples
    assert len(found) <= 600
    assert sum(sample.requests for sample in found) == book.totals.requests
    assert sum(sample.ok for sample in found) == book.totals.ok
    assert sum(sample.errors for sample in found) == book.totals.errors
    assert sum(sample.seconds for sample in found) == pytest.approx(at + 0.7)
    assert all(after.t_s == pytest.approx(before.t_s + after.seconds) for before, after in pairwise(found))
    assert {round(sample.seconds) for sample in found[:-1]} == {interval}


def test_a_pair_has_the_percentiles_of_its_calls_not_the_mean_of_two_percentiles() -> None:
    book = Book(limit=2)
    book.calls(*[100] * 99)
    book.take(1.0)
    book.calls(200)
    book.take(2.0)
    book.take(3.0)
    book.take(4.0)
    pair, _ = book.sampler.samples
    assert pair.latency == (0.1, 0.1, 0.1, 0.2)
    assert (pair.t_s, pair.seconds) == (2.0, 2.0)


def test_the_short_rest_of_a_run_belongs_to_its_last_sample_and_a_run_that_is_short_is_one_sample() -> None:
    book = Book()
    book.calls(10, 20)
    book.take(1.0)
    book.calls(30)
    book.end(1.2)
    (sample,) = book.sampler.samples
    assert (sample.t_s, sample.seconds, sample.ok) == (1.2, 1.2, 3)
    short = Book()
    short.calls(10)
    short.end(0.01)
    assert [each.seconds for each in short.sampler.samples] == [0.01]


def test_a_run_in_which_nothing_was_counted_has_no_samples() -> None:
    book = Book()
    book.end(0.0)
    assert book.sampler.samples == ()


def test_a_sample_is_due_at_whole_intervals_however_late_the_one_before_was() -> None:
    book = Book()
    assert book.sampler.due_s == 1.0
    book.take(1.2)
    assert book.sampler.due_s == 2.0
    book.take(5.4)
    assert book.sampler.due_s == 6.0


def test_everything_that_a_sample_counts_is_added_when_two_become_one() -> None:
    book = Book(limit=2)
    for at in (1.0, 2.0, 4.0):
        book.totals = Totals(*(total + number for number, total in enumerate(book.totals, 1)))
        book.take(at)
    pair = book.sampler.samples[0]
    counted = {field.name: getattr(pair, field.name) for field in fields(Sample) if field.compare}
    assert counted == {
        "t_s": 2.0, "seconds": 2.0, "requests": 2, "ok": 4, "errors": 6, "cancelled": 8, "dropped": 10, "retries": 12,
        "in_flight": 14, "latency": None,
    }  # fmt: skip
