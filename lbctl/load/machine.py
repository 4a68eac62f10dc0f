"""What goes on around the generator and shows in its figures: other processes, other machines, limits, swapping.

Linux tells all of it, in /proc and in the files of control groups; what a system does not tell is None or 0.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from lbctl.load.warnings import milliseconds, percent
from lbctl.stats.report import Machine

_LEAST_S: Final = 1.0  # the system counts in hundredths of a second
_BUSY: Final = 0.9  # of all CPUs
_OTHERS: Final = 0.2
_STOLEN: Final = 0.05
_THROTTLED: Final = 0.01
_FAULTS: Final = 20
_RESERVED: Final = 32  # descriptors for all else
_PAUSE_FLOOR_MS: Final = 1.0
_PAUSE_SHARE: Final = 0.2  # of the median latency


class Vitals(NamedTuple):
    """Counters of the machine since it started, seconds of CPU unless stated; this process is part of ``busy_s``."""

    all_s: float = 0.0  # of all CPUs, idle or not
    busy_s: float = 0.0
    stolen_s: float = 0.0
    own_s: float = 0.0
    throttled_s: float = 0.0  # of time
    faults: int = 0  # of this process, for memory that came from disk


def vitals() -> Vitals:
    """Read them; takes a tenth of a millisecond."""
    found = Vitals(own_s=time.process_time(), throttled_s=_throttled_s(), faults=_faults())
    with suppress(OSError, ValueError, IndexError):
        line = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
        user, nice, system, idle, waiting, irq, softirq, stolen = (int(each) for each in line.split()[1:9])
        tick = 1 / os.sysconf("SC_CLK_TCK")
        busy = user + nice + system + irq + softirq
        found = found._replace(
            all_s=(busy + idle + waiting + stolen) * tick, busy_s=busy * tick, stolen_s=stolen * tick
        )
    return found


def _throttled_s() -> float:
    with suppress(OSError, ValueError):
        group = Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("0::")[2].strip()
        for place in (f"/sys/fs/cgroup/{group}/cpu.stat", "/sys/fs/cgroup/cpu.stat"):
            with suppress(OSError):
                lines = Path(place).read_text(encoding="ascii").splitlines()
                return next((int(line.split()[1]) / 1e6 for line in lines if line.startswith("throttled_usec")), 0.0)
    return 0.0


def _faults() -> int:
    with suppress(ImportError):
        import resource  # not on Windows

        return resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    return 0


def descriptors() -> int | None:
    """How many files and sockets this process may have open; None where there is no limit, or none is known."""
    with suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if soft == resource.RLIM_INFINITY else soft
    return None


class Collections:
    """Counts garbage collections between ``start`` and ``stop``, and how long they held everything up."""

    def __init__(self) -> None:
        self.count = 0
        self.ns = 0
        self.longest_ns = 0
        self._began_ns = 0

    def start(self) -> None:
        """Count from 0."""
        self.count = self.ns = self.longest_ns = 0
        if self._note not in gc.callbacks:
            gc.callbacks.append(self._note)

    def stop(self) -> None:
        if self._note in gc.callbacks:
            gc.callbacks.remove(self._note)

    def _note(self, phase: str, _: dict[str, int]) -> None:
        now = time.perf_counter_ns()
        if phase == "start":
            self._began_ns = now
        else:
            self.count += 1
            self.ns += now - self._began_ns
            self.longest_ns = max(self.longest_ns, now - self._began_ns)


def machine_of(before: Vitals, after: Vitals, collections: Collections) -> Machine:
    """What went on between two readings; shares are None where that was too short to say, or nothing tells."""
    counted = Machine(
        faults=after.faults - before.faults,
        collections=collections.count,
        collecting_s=collections.ns / 1e9,
        longest_s=collections.longest_ns / 1e9,
    )
    all_s = after.all_s - before.all_s
    cpus = os.cpu_count() or 1
    if all_s < _LEAST_S * cpus:
        return counted
    busy, stolen = after.busy_s - before.busy_s, after.stolen_s - before.stolen_s
    others = max(busy - (after.own_s - before.own_s), 0.0)
    throttled = (after.throttled_s - before.throttled_s) * cpus
    return Machine(
        busy=_share(busy + stolen, all_s),
        others=_share(others, all_s),
        stolen=_share(stolen, all_s),
        throttled=_share(throttled, all_s),
        faults=counted.faults,
        collections=counted.collections,
        collecting_s=counted.collecting_s,
        longest_s=counted.longest_s,
    )


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0)


def on_machine(found: Machine, median_ms: float) -> Iterator[str]:
    """What that means for the figures, and what to do."""
    if (found.busy or 0.0) >= _BUSY and (found.others or 0.0) >= _OTHERS:
        yield (
            f"this machine's CPUs were {found.busy:.0%} busy, {percent(found.others or 0.0)} with other"
            " processes: latencies include waiting for a CPU; lbctl wants a machine of its own"
        )
    if (found.stolen or 0.0) >= _STOLEN:
        yield (
            f"{percent(found.stolen or 0.0)} of this virtual machine's CPU time went to others on its host:"
            " latencies include that"
        )
    if (found.throttled or 0.0) >= _THROTTLED:
        yield (
            f"the CPU limit of its container held lbctl up {percent(found.throttled or 0.0)} of the time:"
            " latencies include that; raise the limit"
        )
    if found.faults >= _FAULTS:
        yield f"{found.faults:,} times memory had to come from disk first: latencies include that; this machine swaps"
    longest_ms = found.longest_s * 1e3
    if longest_ms > max(_PAUSE_FLOOR_MS, _PAUSE_SHARE * median_ms):
        yield f"collecting garbage held everything up for {milliseconds(longest_ms)} at once: latencies include that"


def on_descriptors(wanted: int, limit: int | None) -> Iterator[str]:
    """There are more connections than this process may open."""
    if limit is not None and wanted + _RESERVED > limit:
        yield (
            f"{wanted:,} connections are wanted and {limit:,} files may be open: some fail; ulimit -n"
            f" {wanted + 10 * _RESERVED} first"
        )
