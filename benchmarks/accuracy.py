"""Whether reported numbers are right on real clocks and sockets, in front of a server whose every delay is known.

    python -m benchmarks.accuracy [--seconds 4] [--rates 100,1000,10000,50000]

What does not need a real clock is shown by tests/load/test_accuracy.py. A line each: p50 at 5,000/s of servers that
take exactly 1, 5 and 20 ms; the rate over any second, as the server saw it; a stall of 300 ms at 2,000/s with eight
streams, which must be in the response time of the calls that were due meanwhile, and in the service time of eight; and
the end of timed runs, at which nothing may fail. The exact server needs a core of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from benchmarks.exact import hammer, serving
from benchmarks.latency import BUDGET_MS, DELAYS_MS
from benchmarks.latency import measure as latency_of
from benchmarks.machine import Cores, share_out
from benchmarks.measured import run
from lbctl.stats.histogram import Histogram

RATES: Final = (100, 1000, 10_000, 50_000)
_RPS: Final = 5000
_STALL_MS: Final = 300
_STALL_RPS: Final = 2000
_SLOTS: Final = 8
_SECOND_NS: Final = 1_000_000_000


class Line(NamedTuple):
    """One claim: what was measured, and what it must be."""

    what: str
    measured: str
    wanted: str
    holds: bool


def off_in_any_second(arrivals: Sequence[int], rps: int) -> float:
    """The largest part, in percent, by which the calls of any whole second differ from the rate.

    A call more or less is none: where a second begins between two calls is chance.
    """
    worst = after = 0
    for first, at in enumerate(arrivals):
        if at + _SECOND_NS > arrivals[-1]:
            break
        while arrivals[after] < at + _SECOND_NS:
            after += 1
        worst = max(worst, abs(after - first - rps) - 1)
    return max(worst, 0) / rps * 100


def measured(seconds: float, rates: Sequence[int], cores: Cores) -> Iterator[Line]:
    """Every claim, one after the other."""
    for delay in DELAYS_MS:
        excess = latency_of(delay, _RPS, seconds, cores).p50
        yield Line(f"p50 of {delay} ms at {_RPS:,}/s", f"{excess:+.3f} ms", f"+{BUDGET_MS} ms", excess <= BUDGET_MS)
    for rate in rates:
        yield _rate(rate, max(seconds, 2.2), cores)
    yield from _stall(cores)
    yield from _ends(cores)


def _document(cores: Cores, command: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(command, cpu=cores.client, terminal=True).output)
    return found


def _rate(rate: int, seconds: float, cores: Cores) -> Line:
    with serving(0, cores) as exact:
        found = _document(cores, hammer(exact, "-r", str(rate), "-n", str(round(rate * seconds)), "--exit-zero"))
    off = off_in_any_second(exact.arrivals, rate)
    dropped = f", {found['dropped']:,} dropped" if found["dropped"] else ""
    return Line(f"{rate:,}/s over any second", f"{off:.2f} % off{dropped}", "<= 1 %", off <= 1 and not dropped)


def _stall(cores: Cores) -> Iterator[Line]:
    """The calls due in the second half of the stall's time must show more than half of it, and be as many."""
    calls = 2 * _STALL_RPS
    due = _STALL_RPS * _STALL_MS / 1000
    with serving(100, cores, (1000, _STALL_MS)) as exact:
        options = ("-r", str(_STALL_RPS), "-n", str(calls), "--max-streams", str(_SLOTS))
        found = _document(cores, hammer(exact, *options))
    response, service = (Histogram.of_state(found["histograms"][name]) for name in ("latency", "service"))
    half_us = _STALL_MS * 500
    slow, held = (sum(times.rebinned([half_us])[1:]) for times in (response, service))
    what = f"stall of {_STALL_MS} ms at {_STALL_RPS:,}/s"
    # What waited behind those that were due is slow for as long as it takes to send them.
    fair = 0.98 * due / 2 <= slow <= 1.15 * due / 2
    yield Line(f"{what}: response over {_STALL_MS // 2} ms", f"{slow} calls", f"{due / 2:.0f} or some more", fair)
    yield Line(f"{what}: service over {_STALL_MS // 2} ms", f"{held} calls", f"<= {_SLOTS}", held <= _SLOTS)


def _ends(cores: Cores) -> Iterator[Line]:
    for options in (("-c", "50"), ("-r", "2000")):
        with serving(1000, cores) as exact:
            found = _document(cores, hammer(exact, "-z", "1s", *options))
        lost = found["errors"] + found["cancelled"] + found["dropped"]
        name = f"end of -z 1s {' '.join(options)}"
        yield Line(name, f"{lost} of {found['requests']:,} lost", "0", not lost and exact.replies == found["requests"])
    with serving(1000, cores) as exact:
        found = _document(cores, hammer(exact, "-n", "49", "-c", "50"))
    yield Line("-n 49 -c 50", f"{found['ok']} sent", "49", found["ok"] == exact.replies == 49)


def main() -> int:
    """Print a line for each claim; the exit status tells whether all hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of each run")
    parser.add_argument("--rates", default=",".join(map(str, RATES)), help="calls/s, comma-separated")
    args = parser.parse_args()
    cores = share_out()
    print(cores)
    print(f"{'':46}  {'measured':24}  {'wanted':16}")
    missed = 0
    for line in measured(args.seconds, [int(rate) for rate in args.rates.split(",")], cores):
        verdict = "kept" if line.holds else "MISSED"
        print(f"{line.what:46}  {line.measured:24}  {line.wanted:16}  {verdict}", flush=True)
        missed += not line.holds
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
