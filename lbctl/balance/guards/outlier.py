"""Outlier detection (gRFC A50): who fails much more often than the others is out of the rotation for a while.

Every interval the calls that ended in it are looked at. A backend is ejected when its success rate is too far below
the mean of all, or when its percentage of failures is too high. It is out for base x multiplier, where the multiplier
grows with each ejection and falls with each interval in the rotation: out at 10 s, back at 50, out at 60, back at 130,
out at 140, back at 240 ...

    dialect                      grpc (Go, Java)               core                        envoy
    failures against threshold   above                         above                       at or above
    most ejected                 stops at max percent          and the first one always    not beyond max percent
    enforcement                  a draw of 0..99 below it      of 1..99: 1 never happens   a draw of 0..99 below it
    who is out already           counts in the statistics      counts                      does not; returns first
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from lbctl.balance.guards.base import EJECTED, Ended, Guard, Rotation, seconds, spelled_s
from lbctl.balance.guards.outlier_math import Sample, by_failures, by_success_rate, spread
from lbctl.balance.peer import Peer
from lbctl.balance.policies.options import option
from lbctl.model import Reply

_FULL: Final = "max-ejection-percent"  # what keeps an outlier in
_CHANCE: Final = "enforcement"


@dataclass(frozen=True, slots=True)
class OutlierOptions:
    """gRPC's names and defaults."""

    interval: float = option(10.0, "time between two looks", above=0, unit="duration")
    base_ejection_time: float = option(30.0, "how long the first ejection lasts", above=0, unit="duration")
    max_ejection_time: float = option(300.0, "the longest ejection", above=0, unit="duration")
    max_ejection_percent: int = option(10, "part of the backends that may be out", least=0, most=100)
    detect: str = option("both", "which test is made", choices=("both", "success-rate", "failure-percentage"))
    stdev_factor: int = option(1900, "standard deviations below the mean that are too far, x 1000", least=0)
    success_enforcement: int = option(100, "percent of the ejections by success rate that happen", least=0, most=100)
    success_hosts: int = option(5, "backends with enough calls that the success rate needs", least=1)
    success_volume: int = option(100, "calls in an interval from which a backend's success rate counts", least=1)
    failure_threshold: int = option(85, "percentage of failures that is too high", least=0, most=100)
    failure_enforcement: int = option(100, "percent of the ejections by failures that happen", least=0, most=100)
    failure_hosts: int = option(5, "backends with enough calls that the failure percentage needs", least=1)
    failure_volume: int = option(50, "calls in an interval from which a backend's failures count", least=1)
    dialect: str = option("grpc", "whose rules, where they differ", choices=("grpc", "core", "envoy"))


class _Record:
    """What is known of one backend; ``ejected_ns`` is None while it is in the rotation."""

    __slots__ = ("ejected_ns", "ejections", "failures", "multiplier", "successes")

    def __init__(self) -> None:
        self.successes = 0
        self.failures = 0
        self.ejected_ns: int | None = None
        self.multiplier = 0
        self.ejections = 0


class OutlierDetection(Guard):
    """One detector over all backends of a run."""

    def __init__(self, options: OutlierOptions, rotation: Rotation, rng: Random) -> None:
        self._options = options
        self._rotation = rotation
        self._rng = rng
        self._interval_ns = seconds(options.interval)
        self._records: dict[Peer, _Record] = {}
        self._ejections: dict[Peer, int] = {}  # of earlier memberships
        self._next_ns: int | None = None
        self._looks = self._judged = 0
        self._kept: dict[Peer, str] = {}  # outliers of this look that there was no room for outside, and why they are
        self._told: frozenset[Peer] = frozenset()  # those of the look before
        self._spared: Counter[str] = Counter()  # ejections that were not made, by what prevented them
        self._most = (0, 0)  # backends, and those of them with enough calls, at the best look

    def succeeded(self, peer: Peer, attempts: Sequence[Ended], now_ns: int) -> None:
        self._record(peer).successes += len(attempts)

    def ended(self, peer: Peer, trial_ns: int, reply: Reply, now_ns: int) -> None:
        record = self._record(peer)
        if reply.is_ok:
            record.successes += 1
        else:
            record.failures += 1

    def left(self, peer: Peer) -> None:
        record = self._records.pop(peer, None)
        if record is not None and record.ejections:
            self._ejections[peer] = self._ejections.get(peer, 0) + record.ejections

    def counts(self, peer: Peer) -> Mapping[str, int]:
        record = self._records.get(peer)
        return {"ejections": self._ejections.get(peer, 0) + (record.ejections if record is not None else 0)}

    def doubts(self) -> Iterable[str]:
        for why, count in self._spared.items():
            ejections = "1 ejection was" if count == 1 else f"{count:,} ejections were"
            limit = (
                f"{why} {self._options.max_ejection_percent} allows no more"
                if why == _FULL
                else f"{why} spared {'it' if count == 1 else 'them'}"
            )
            yield f"outlier detection: {ejections} not made, {limit}"
        if not self._looks or self._judged:
            return
        backends, busy = self._most
        hosts, volume = min(test[:2] for test in self._tests())
        if backends < hosts:
            yield f"outlier detection judged nobody: it needs {hosts} backends, and there are {backends}"
        else:
            yield (
                f"outlier detection judged nobody: it needs {hosts} backends with {volume} calls"
                f" in {self._options.interval:g}s, at most {busy} had so many"
            )

    def tick(self, peers: Collection[Peer], now_ns: int) -> None:
        if self._next_ns is None:
            self._next_ns = now_ns + self._interval_ns
        elif now_ns >= self._next_ns:
            due_ns = now_ns - (now_ns - self._next_ns) % self._interval_ns
            self._next_ns = due_ns + self._interval_ns
            self._look(peers, due_ns)

    def _record(self, peer: Peer) -> _Record:
        record = self._records.get(peer)
        if record is None:
            record = self._records[peer] = _Record()
        return record

    def _tests(self) -> list[tuple[int, int]]:
        """Hosts and volume that each test in use needs."""
        options = self._options
        tests = {
            "success-rate": (options.success_hosts, options.success_volume),
            "failure-percentage": (options.failure_hosts, options.failure_volume),
        }
        return [needs for name, needs in tests.items() if options.detect in ("both", name)]

    def _look(self, peers: Collection[Peer], now_ns: int) -> None:
        """What A50 does when its timer fires."""
        envoy = self._options.dialect == "envoy"
        records = {peer: self._record(peer) for peer in peers}
        samples = {
            peer: Sample(record.successes, record.successes + record.failures)
            for peer, record in records.items()
            if record.successes + record.failures
        }
        for record in self._records.values():
            record.successes = record.failures = 0
        if envoy:
            self._let_back(records, now_ns)
            samples = {peer: sample for peer, sample in samples.items() if records[peer].ejected_ns is None}
        self._looks += 1
        if self._options.detect != "failure-percentage":
            self._by_success_rate(samples, records, now_ns)
        if self._options.detect != "success-rate":
            self._by_failures(samples, records, now_ns)
        self._tell_kept()
        if not envoy:
            self._let_back(records, now_ns)

    def _enough(self, samples: Mapping[Peer, Sample], total: int, hosts: int, volume: int) -> dict[Peer, Sample]:
        """The backends that have enough calls, where these are enough backends; else nobody."""
        busy = {peer: sample for peer, sample in samples.items() if sample.total >= volume}
        self._most = max(self._most, (total, len(busy)))
        if len(busy) < hosts:
            return {}
        self._judged += 1
        return busy

    def _by_success_rate(self, samples: Mapping[Peer, Sample], records: Mapping[Peer, _Record], now_ns: int) -> None:
        options = self._options
        busy = self._enough(samples, len(records), options.success_hosts, options.success_volume)
        if not busy:
            return
        outliers = by_success_rate(list(busy.values()), options.stdev_factor)
        threshold = spread(list(busy.values())).threshold(options.stdev_factor)
        for (peer, sample), is_out in zip(busy.items(), outliers, strict=True):
            if is_out:
                rate = sample.successes / sample.total
                why = f"success rate {rate:.1%}, below {threshold:.1%} of {len(busy)} backends"
                self._try_to_eject(peer, records, options.success_enforcement, why, now_ns)

    def _by_failures(self, samples: Mapping[Peer, Sample], records: Mapping[Peer, _Record], now_ns: int) -> None:
        options = self._options
        busy = self._enough(samples, len(records), options.failure_hosts, options.failure_volume)
        for peer, sample in busy.items():
            if by_failures(sample, options.failure_threshold, inclusive=options.dialect == "envoy"):
                failed = 1 - sample.successes / sample.total
                why = f"{failed:.1%} of its {sample.total} calls failed"
                self._try_to_eject(peer, records, options.failure_enforcement, why, now_ns)

    def _try_to_eject(
        self, peer: Peer, records: Mapping[Peer, _Record], enforcement: int, why: str, now_ns: int
    ) -> None:
        """Eject an outlier unless too many are out, or chance spares it; one that is out already stays out longer."""
        ejected = sum(record.ejected_ns is not None for record in records.values())
        record, options = records[peer], self._options
        obstacle = self._obstacle(ejected, len(records), enforcement)
        if obstacle:
            if record.ejected_ns is None:
                self._spared[obstacle] += 1
                if obstacle == _FULL:
                    self._kept[peer] = why
            return
        record.ejected_ns = now_ns
        record.multiplier += 1
        record.ejections += 1
        self._rotation.bar(peer, EJECTED, barred=True)
        lasts_ns = self._lasts_ns(record)
        self._rotation.on_note("ejected", peer, f"ejected for {spelled_s(lasts_ns)} by {options.dialect}: {why}", "bad")

    def _tell_kept(self) -> None:
        """Say once who is an outlier and stays in; again when it is somebody else."""
        kept = {peer: why for peer, why in self._kept.items() if not peer.bars}
        self._kept = {}
        if kept and self._told != kept.keys():
            limit = f"{_FULL} {self._options.max_ejection_percent} allows no more out"
            peer, why = next(iter(kept.items()))
            others = len(kept) - 1
            who = (
                f"and {others:,} more outliers stay"
                if others > 1
                else "and another outlier stay"
                if others
                else "stays"
            )
            self._rotation.on_note("health", peer, f"{who} in the rotation, {limit}: {why}", "bad")
        self._told = frozenset(kept)

    def _obstacle(self, ejected: int, total: int, enforcement: int) -> str:
        """What keeps an outlier from being ejected, or nothing."""
        options = self._options
        if options.dialect == "core":
            drawn = self._rng.randrange(1, 100)  # drawn in any case, and never 0
            full = ejected > 0 and 100 * ejected >= options.max_ejection_percent * total
            return _FULL if full else _CHANCE if drawn >= enforcement else ""
        if options.dialect == "envoy":
            full = 100 * (ejected + 1) > options.max_ejection_percent * total
        else:
            full = 100 * ejected >= options.max_ejection_percent * total
        if full:
            return _FULL
        return _CHANCE if self._rng.randrange(100) >= enforcement else ""

    def _lasts_ns(self, record: _Record) -> int:
        base, longest = seconds(self._options.base_ejection_time), seconds(self._options.max_ejection_time)
        return min(base * record.multiplier, max(base, longest))

    def _let_back(self, records: Mapping[Peer, _Record], now_ns: int) -> None:
        for peer, record in records.items():
            if record.ejected_ns is None:
                record.multiplier = max(0, record.multiplier - 1)
            elif now_ns > record.ejected_ns + self._lasts_ns(record):
                out_ns, record.ejected_ns = now_ns - record.ejected_ns, None
                self._rotation.bar(peer, EJECTED, barred=False)
                self._rotation.on_note("restored", peer, f"back in the rotation after {spelled_s(out_ns)}", "good")
