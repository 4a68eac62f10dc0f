"""Counts of finished calls, per backend and in total, kept so that the hot loop touches plain attributes only.

A hot loop that has just read a batch of OK replies of one backend counts the buckets itself and folds the rest once:

    mine, total = row.latency.counts, tally.latency.counts
    for us in durations:
        mine[bucket_of(us)] += 1
        total[bucket_of(us)] += 1
    row.fold(len(durations), sum(durations), min(durations), max(durations))
    tally.fold(len(durations), sum(durations), min(durations), max(durations))

Everything else goes through ``add_ok``, ``failed`` and ``cancel``, one call at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lbctl.model import Code, Identity, Origin, Reply
from lbctl.stats.errors import ErrorTable
from lbctl.stats.failed_times import FailedTimes
from lbctl.stats.first_byte import FirstByte
from lbctl.stats.histogram import Histogram
from lbctl.stats.report import ErrorGroup
from lbctl.stats.streams import StreamTally

_ANSWERS: Final = (Origin.SERVER, Origin.HTTP)


class _Counts:
    """What one backend and the whole run count alike; OK in ``failures`` are replies that failed a check of ours."""

    __slots__ = ("cancelled", "errors", "failed_times", "failures", "latency", "ok")

    def __init__(self) -> None:
        self.ok = 0
        self.errors = 0
        self.cancelled = 0
        self.failures: dict[Code, int] = {}
        self.latency = Histogram()  # OK calls only: errors and timeouts never mix into it
        self.failed_times = FailedTimes()

    def forget(self) -> None:
        """Count anew."""
        self.ok = self.errors = self.cancelled = 0
        self.failures.clear()
        self.failed_times.clear()
        self.latency.clear()

    @property
    def codes(self) -> Mapping[Code, int]:
        """Completed calls by status code, OK first, then by falling count; cancelled calls are not in it."""
        ok = self.ok + self.failures.get(Code.OK, 0)
        failures = (item for item in self.failures.items() if item[0] is not Code.OK)
        ordered = sorted(failures, key=lambda item: (-item[1], item[0]))
        return {Code.OK: ok, **dict(ordered)} if ok else dict(ordered)

    @property
    def completed(self) -> int:
        """Calls that ended by themselves: OK or with an error."""
        return self.ok + self.errors

    def fold(self, count: int, total_us: int, min_us: int, max_us: int) -> None:
        """Account for ``count`` OK calls whose buckets the caller has already counted."""
        self.ok += count
        self.latency.fold(count, total_us, min_us, max_us)

    def _fail(self, reply: Reply, lasted_us: int | None = None) -> None:
        code = reply.code
        self.errors += 1
        self.failures[code] = self.failures.get(code, 0) + 1
        if lasted_us is not None:
            self.failed_times.record(code, lasted_us, answered=reply.origin in _ANSWERS or code is Code.OK)


class BackendTally(_Counts):
    """What happened to the calls of one backend."""

    __slots__ = ("address", "key")

    def __init__(self, key: str, address: str) -> None:
        super().__init__()
        self.key = key
        self.address = address


class MethodTally(_Counts):
    """What happened to the calls of one method, in a run of several."""

    __slots__ = ("name", "weight")

    def __init__(self, name: str, weight: float) -> None:
        super().__init__()
        self.name = name
        self.weight = weight

    def add_ok(self, latency_us: int) -> None:
        """Count one OK call and its headline time."""
        self.ok += 1
        self.latency.record(latency_us)

    def failed(self, reply: Reply) -> None:
        """Count one call that was not OK."""
        self._fail(reply)


class Waited:
    """The calls that waited for one thing before they were written, and how long in all."""

    __slots__ = ("calls", "ns")

    def __init__(self) -> None:
        self.calls = 0
        self.ns = 0


class Tally(_Counts):
    """What happened to all calls of a run; calls that never reached a backend count here and in no backend."""

    __slots__ = ("_backends", "_errors", "first_byte", "lost_ns", "service_time", "streams", "wait", "waits")

    def __init__(self) -> None:
        super().__init__()
        self.service_time = Histogram()  # OK calls: written to end
        self.wait = Histogram()  # all calls: planned or queued to written
        self.first_byte = FirstByte()
        self.streams = StreamTally()
        self.waits: dict[str, Waited] = {}  # by what calls waited for
        self.lost_ns = 0  # time of the calls that were not OK
        self._backends: dict[Identity, BackendTally] = {}
        self._errors = ErrorTable()

    def forget(self) -> None:
        """Count anew, of every backend too; the histograms that others hold stay the objects they are."""
        super().forget()
        for histogram in (self.service_time, self.wait):
            histogram.clear()
        for row in self:
            row.forget()
        self.first_byte, self.streams, self._errors = FirstByte(), StreamTally(), ErrorTable()
        self.waits.clear()
        self.lost_ns = 0

    def __iter__(self) -> Iterator[BackendTally]:
        """Every backend ever asked for, in the order of appearance."""
        return iter(self._backends.values())

    def backend(self, identity: Identity) -> BackendTally:
        """Return the counts of one backend: always the same object, also when it left and came back."""
        found = self._backends.get(identity)
        if found is None:
            found = self._backends[identity] = BackendTally(identity.key, str(identity.endpoint))
        return found

    def add_ok(self, backend: BackendTally, latency_us: int, service_us: int, wait_us: int) -> None:
        """Count one OK call: its headline time, its time on the wire, and its wait before it was written."""
        self.ok += 1
        self.latency.record(latency_us)
        self.service_time.record(service_us)
        self.wait.record(wait_us)
        backend.ok += 1
        backend.latency.record(latency_us)

    def failed(
        self, backend: BackendTally | None, reply: Reply, wait_us: int | None = None, lasted_us: int | None = None
    ) -> None:
        """Count one failed call; ``backend`` is None when none was chosen, ``wait_us`` when it was not written.

        ``lasted_us`` is the headline time it took, where that is known.
        """
        self._fail(reply, lasted_us)
        if wait_us is not None:
            self.wait.record(wait_us)
        if backend is None:
            self._errors.add(reply, None)
            return
        backend._fail(reply, lasted_us)
        self._errors.add(reply, backend.address)

    def cancel(self, backend: BackendTally | None, count: int = 1) -> None:
        """Count calls that lbctl itself gave up, at the end of the run or on an abort: neither OK nor errors."""
        self.cancelled += count
        if backend is not None:
            backend.cancelled += count

    def waited(self, cause: str, ns: int) -> None:
        """Count a call that had to wait before it was written, or until it was given up."""
        found = self.waits.setdefault(cause, Waited())
        found.calls += 1
        found.ns += max(0, ns)

    @property
    def time_ns(self) -> int:
        """The time of all calls that ended, from planned or queued to the end."""
        return self.latency.total_us * 1000 + self.lost_ns

    def error_groups(self) -> tuple[ErrorGroup, ...]:
        """Return the failed calls in groups, the largest first."""
        return self._errors.groups()
