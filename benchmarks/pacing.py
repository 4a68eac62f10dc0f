"""How exactly an open loop starts its calls: by lbctl's own account, and by that of the server it calls.

    python -m benchmarks.pacing [--rps 10000] [--seconds 5] [--rounds 3]

The server (exact_server.py) notes when it has read each request. It knows nothing of lbctl's schedule but the rate, so
the schedule's begin is the latest that makes no call early; how much later than planned each one came then includes
whatever the kernel and the server took, and an error in lbctl's clock or in its account would show as a difference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.exact import open_loop, serving
from benchmarks.machine import Cores, share_out

BUDGET_MS: Final = 0.2
RPS: Final = 10_000
WINDOW_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Paced:
    """One run. Milliseconds from planned to started, as lbctl says, and from planned to read, as the server saw."""

    said_p50: float
    said_p99: float
    seen_p50: float
    seen_p99: float
    rps: float  # as the server saw
    most: int  # calls that came within one millisecond


def measure(rps: int, seconds: float, cores: Cores) -> Paced:
    """One run in front of a server that answers at once."""
    with serving(0, cores) as exact:
        said = open_loop(exact, rps, int(rps * seconds), cores)["start_ms"]
    arrivals = exact.arrivals
    late = [at - int(number * 1e9 / rps) for number, at in enumerate(arrivals)]
    begin = min(late)
    late = sorted(at - begin for at in late)
    seen_p50, seen_p99 = (late[int(len(late) * share)] / 1e6 for share in (0.5, 0.99))
    rate = (len(arrivals) - 1) / (arrivals[-1] - arrivals[0]) * 1e9
    return Paced(said["p50"], said["p99"], seen_p50, seen_p99, rate, most_within(arrivals, WINDOW_NS))


def most_within(times: Sequence[int], window_ns: int) -> int:
    """The largest number of ascending times that lie within any window of that length."""
    most = first = 0
    for last, at in enumerate(times):
        while times[first] <= at - window_ns:
            first += 1
        most = max(most, last - first + 1)
    return most


def middle(runs: Sequence[Paced]) -> tuple[float, float]:
    """Medians of p99: as said, and as seen."""
    return median(paced.said_p99 for paced in runs), median(paced.seen_p99 for paced in runs)


def main() -> int:
    """Print a line for each run and the ratio to the budget."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pacing")
    parser.add_argument("--rps", type=int, default=RPS)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    cores = share_out()
    print(f"{cores}\nms from planned to   started, says lbctl     read, says the server   calls/s   most in 1 ms")
    runs = []
    for _ in range(args.rounds):
        paced = measure(args.rps, args.seconds, cores)
        runs.append(paced)
        print(
            f"{'':21}p50 {paced.said_p50:.3f}  p99 {paced.said_p99:.3f}    p50 {paced.seen_p50:.3f}  "
            f"p99 {paced.seen_p99:.3f}  {paced.rps:9,.0f}   {paced.most} (due: {args.rps * WINDOW_NS / 1e9:.0f})"
        )
    said, seen = middle(runs)
    print(
        f"budget: p99 {BUDGET_MS} ms; used {said / BUDGET_MS:.2f} of it by lbctl's account, {seen / BUDGET_MS:.2f} seen"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
