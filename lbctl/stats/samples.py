"""A run second by second, in constant memory: what was counted and how long calls took, per sample.

Nothing is added to what calls cost: a sample is the difference of two readings of the run's own counters. When there
are more samples than allowed, pairs become one and the interval doubles; the counts of durations are kept with each
sample, so that percentiles of a pair are those of its calls and not made of percentiles.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

from lbctl.stats.histogram import BUCKETS, Histogram, bucket_of, middle, rank

INTERVAL_S: Final = 1.0
LIMIT: Final = 600
_QUANTILES: Final = (0.5, 0.9, 0.99)
_TAIL: Final = 0.5  # of an interval: a shorter rest at the end is no sample of its own, its rates would be noise


class Totals(NamedTuple):
    """Counters of a run since its start, and how many calls are in flight at this moment."""

    requests: int = 0  # issued
    ok: int = 0
    errors: int = 0
    cancelled: int = 0
    dropped: int = 0
    retries: int = 0
    in_flight: int = 0


class Times(NamedTuple):
    """Durations of the OK calls of one sample in milliseconds, each within 1 %."""

    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


class Durations:
    """Counts of durations per bucket of a Histogram, only of those buckets that have any."""

    __slots__ = ("_buckets", "_counts")

    def __init__(self, buckets: Sequence[int] = (), counts: Sequence[int] = ()) -> None:
        self._buckets = array("H", buckets)
        self._counts = array("Q", counts)

    def __add__(self, other: Durations) -> Durations:
        found = dict(zip(self._buckets, self._counts, strict=True))
        for bucket, count in zip(other._buckets, other._counts, strict=True):
            found[bucket] = found.get(bucket, 0) + count
        ordered = sorted(found)
        return Durations(ordered, [found[bucket] for bucket in ordered])

    def steps(self) -> list[tuple[float, int]]:
        """The middle of every bucket that has any, microseconds, and how many."""
        return [(middle(bucket), count) for bucket, count in zip(self._buckets, self._counts, strict=True)]

    def times(self, min_us: int, max_us: int) -> Times | None:
        """Nearest-rank figures, none outside of the run's own least and greatest; None without durations."""
        if not self._buckets:
            return None
        running = list(accumulate(self._counts))
        places = [bisect_left(running, rank(q, running[-1])) for q in _QUANTILES]
        found = (middle(self._buckets[place]) for place in (*places, -1))
        return Times(*(min(max(us, min_us), max_us) / 1e3 for us in found))


@dataclass(frozen=True, slots=True)
class Sample:
    """What happened in the ``seconds`` that ended ``t_s`` after the start; ``in_flight`` is that of its end."""

    t_s: float
    seconds: float
    requests: int  # issued
    ok: int
    errors: int
    cancelled: int
    dropped: int
    retries: int
    in_flight: int
    latency: Times | None  # of OK calls, the headline time of the mode; None without any
    durations: Durations = field(
        default=Durations(), compare=False, repr=False
    )  # the same; empty where read from a file

    @property
    def rps(self) -> float:
        """Calls that ended by themselves, OK or not, per second."""
        return (self.ok + self.errors) / self.seconds if self.seconds > 0 else 0.0


class Readings:
    """Remembers how the counters of a run, or of one backend, stood, to tell what happened since."""

    __slots__ = ("_at_s", "_counts", "_totals")

    def __init__(self, at_s: float = 0.0) -> None:
        self._at_s = at_s
        self._totals = Totals()
        self._counts = [0] * BUCKETS

    @property
    def at_s(self) -> float:
        """When they were read the last time."""
        return self._at_s

    @property
    def totals(self) -> Totals:
        """How they stood then."""
        return self._totals

    def moved(self, totals: Totals) -> bool:
        """Whether anything was counted since, or the calls in flight are not as many as then."""
        return totals != self._totals

    def since(self, elapsed_s: float, totals: Totals, latency: Histogram) -> Sample:
        """What happened since the last time."""
        durations = self._fresh(latency)
        counted = Totals(*(now - then for now, then in zip(totals, self._totals, strict=True)))
        seconds = elapsed_s - self._at_s
        self._at_s, self._totals = elapsed_s, totals
        return Sample(
            t_s=elapsed_s,
            seconds=seconds,
            **counted._replace(in_flight=totals.in_flight)._asdict(),
            latency=durations.times(latency.min_us, latency.max_us),
            durations=durations,
        )

    def _fresh(self, latency: Histogram) -> Durations:
        if not latency.total:
            return Durations()
        before, self._counts = self._counts, latency.counts.copy()
        low, high = bucket_of(latency.min_us), bucket_of(latency.max_us) + 1
        pairs = enumerate(zip(self._counts[low:high], before[low:high], strict=True), low)
        found = [(bucket, now - then) for bucket, (now, then) in pairs if now > then]
        return Durations([bucket for bucket, _ in found], [count for _, count in found])


class Sampler:
    """Makes samples of the readings it is given; ask ``due_s`` when the next one is wanted."""

    def __init__(self, interval_s: float = INTERVAL_S, limit: int = LIMIT) -> None:
        self.interval_s = interval_s
        self._limit = limit
        self._samples: list[Sample] = []
        self._taken: tuple[Sample, ...] = ()
        self._readings = Readings()

    @property
    def due_s(self) -> float:
        """When the next sample should end, in seconds of the run."""
        return next_due(self._readings.at_s, self.interval_s)

    @property
    def samples(self) -> tuple[Sample, ...]:
        return self._taken

    def take(self, elapsed_s: float, totals: Totals, latency: Histogram) -> None:
        """End a sample here, if any time has passed since the one before; where pairs were joined it may wait."""
        if elapsed_s <= self._readings.at_s:
            return
        if len(self._samples) == self._limit:
            self._halve(latency)
            if elapsed_s < self.due_s - _TAIL:
                return
        self._samples.append(self._readings.since(elapsed_s, totals, latency))
        self._taken = tuple(self._samples)

    def end(self, elapsed_s: float, totals: Totals, latency: Histogram) -> None:
        """End the last sample; nothing that was counted is left out, so that samples add up to the run."""
        if elapsed_s <= self._readings.at_s and not self._readings.moved(totals):
            return
        short = elapsed_s - self._readings.at_s < _TAIL * self.interval_s and bool(self._samples)
        if not short and len(self._samples) == self._limit:
            self._halve(latency)
        self._samples.append(self._readings.since(elapsed_s, totals, latency))
        if short:
            self._join(len(self._samples) - 2, latency)
        self._taken = tuple(self._samples)

    def _halve(self, latency: Histogram) -> None:
        for place in range(len(self._samples) // 2):
            self._join(place, latency)
        self.interval_s *= 2
        self._taken = tuple(self._samples)

    def _join(self, place: int, latency: Histogram) -> None:
        """Make one sample of this and the one behind it."""
        first, second = self._samples[place : place + 2]
        durations = first.durations + second.durations
        joined = Sample(
            t_s=second.t_s,
            seconds=first.seconds + second.seconds,
            requests=first.requests + second.requests,
            ok=first.ok + second.ok,
            errors=first.errors + second.errors,
            cancelled=first.cancelled + second.cancelled,
            dropped=first.dropped + second.dropped,
            retries=first.retries + second.retries,
            in_flight=second.in_flight,
            latency=durations.times(latency.min_us, latency.max_us),
            durations=durations,
        )
        self._samples[place : place + 2] = [joined]


def next_due(at_s: float, interval_s: float) -> float:
    """When the sample after the one that ended at ``at_s`` should end: a multiple of the interval, so none drifts."""
    return (int(at_s / interval_s + _TAIL) + 1) * interval_s
