"""Whether memory is flat over ten million calls: one run of lbctl, its resident memory read once a second.

    python -m benchmarks.soak [--calls 10000000] [--limit 900]

The first tenth of the run, two seconds at least, fills what is filled once (connections, histograms, the interpreter's
own pools); from there on no reading may be above the first one by more than 5 %. The run ends after --limit seconds
whatever it has sent.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.exact import hammer, serving
from benchmarks.machine import Cores, pin, share_out
from benchmarks.measured import ROOT

CALLS: Final = 10_000_000
LIMIT_S: Final = 900
ALLOWED: Final = 0.05
_FIRST: Final = 0.1  # of the run
_FIRST_S: Final = 2.0  # at least
_ROWS: Final = 20


class Reading(NamedTuple):
    """Resident memory at a time since the start."""

    at_s: float
    mib: float


def growth(readings: Sequence[Reading], run_s: float) -> float:
    """How far the highest reading behind the first tenth of the run is above the first one there, as a share of it."""
    from_s = readings[-1].at_s - run_s + max(_FIRST * run_s, _FIRST_S)
    kept = [reading.mib for reading in readings if reading.at_s >= from_s]
    if not kept:
        raise SystemExit(f"the run took {run_s:.1f} s: too short to say anything; more --calls")
    return max(kept) / kept[0] - 1


def soak(calls: int, limit_s: int, cores: Cores) -> tuple[list[Reading], dict[str, Any]]:
    """Run it; returns the readings and the run's own document."""
    with serving(0, cores) as exact:
        command = hammer(exact, "-n", str(calls), "-c", "96", "-x", f"{limit_s}s", "--ui", "none")
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=ROOT, preexec_fn=pin(cores.client)
        ) as process:
            readings, began = [], time.monotonic()
            while process.poll() is None:
                time.sleep(1.0)
                mib = _resident_mib(process.pid)
                if mib:
                    readings.append(Reading(time.monotonic() - began, mib))
            assert process.stdout is not None
            return readings, json.loads(process.stdout.read())


def _resident_mib(pid: int) -> float:
    """What the kernel says; 0 for a process that has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def main() -> int:
    """Print readings over the run and the growth; the exit status tells whether it is flat."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--limit", type=int, default=LIMIT_S, help="seconds")
    args = parser.parse_args()
    cores = share_out()
    print(cores)
    readings, found = soak(args.calls, args.limit, cores)
    for reading in readings[:: max(1, len(readings) // _ROWS)]:
        print(f"{reading.at_s:7.0f} s  {reading.mib:8.2f} MiB")
    grown = growth(readings, found["duration_s"])
    print(f"{found['ok']:,} calls in {found['duration_s']:.0f} s, {found['errors']:,} errors")
    print(f"memory grew by {grown:.2%} of what it was after a tenth of the run; allowed: {ALLOWED:.0%}")
    return 0 if grown <= ALLOWED and found["ok"] == args.calls else 1


if __name__ == "__main__":
    sys.exit(main())
