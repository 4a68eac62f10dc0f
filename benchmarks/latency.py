"""Whether reported latencies are true: lbctl in front of a server that answers after exactly 1, 5 and 20 ms.

    python -m benchmarks.latency [--rps 5000] [--seconds 4] [--rounds 3]

First the server (exact_server.py) is put to the proof: it notes how late each reply's write began, and a bare socket
that never sleeps measures from outside what a delay adds to a round trip without one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.exact import open_loop, probe, serving
from benchmarks.machine import Cores, share_out

BUDGET_MS: Final = 0.3
RPS: Final = 5000
DELAYS_MS: Final = (1, 5, 20)
PROBES: Final = 200


@dataclass(frozen=True, slots=True)
class Truth:
    """One run: milliseconds that lbctl's latencies are above the server's delay, and the server's own lateness."""

    p50: float
    p99: float
    late_p50_us: float
    late_p99_us: float


def measure(delay_ms: float, rps: int, seconds: float, cores: Cores) -> Truth:
    """One run at that rate."""
    with serving(delay_ms * 1000, cores) as exact:
        found = open_loop(exact, rps, int(rps * seconds), cores)["latency_ms"]
    return Truth(found["p50"] - delay_ms, found["p99"] - delay_ms, exact.late_us["p50"], exact.late_us["p99"])


def round_trip_us(delay_ms: float, cores: Cores) -> float:
    """The median round trip of a bare socket."""
    with serving(delay_ms * 1000, cores) as exact:
        return probe(exact, PROBES, cores)["p50"]


def worst(runs: dict[int, list[Truth]]) -> float:
    """The largest excess of p50 over the delays: medians over the rounds."""
    return max(median(truth.p50 for truth in truths) for truths in runs.values())


def measure_all(rps: int, seconds: float, rounds: int, cores: Cores) -> dict[int, list[Truth]]:
    """Every delay in every round."""
    runs: dict[int, list[Truth]] = {delay: [] for delay in DELAYS_MS}
    for _ in range(rounds):
        for delay in DELAYS_MS:
            runs[delay].append(measure(delay, rps, seconds, cores))
    return runs


def main() -> int:
    """Print the proof, a line for each delay, and the ratio to the budget."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency")
    parser.add_argument("--rps", type=int, default=RPS)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    cores = share_out()
    print(cores)
    at_once = round_trip_us(0, cores)
    print(f"proof: a bare socket's round trip is {at_once:.1f} us (p50), and")
    for delay in DELAYS_MS:
        print(f"{'':7}{round_trip_us(delay, cores) - at_once:+.1f} us with a delay of {delay * 1000} us")
    runs = measure_all(args.rps, args.seconds, args.rounds, cores)
    print(f"at {args.rps:,}/s    lbctl's p50      p99 (ms above the delay)    server's writes late by p50, p99")
    for delay, truths in runs.items():
        print(f"{delay:>4} ms        " + _line(truths))
    excess = worst(runs)
    print(f"budget: p50 +{BUDGET_MS} ms; used {excess / BUDGET_MS:.2f} of it")
    return 0


def _line(truths: Sequence[Truth]) -> str:
    p50, p99 = median(truth.p50 for truth in truths), median(truth.p99 for truth in truths)
    late_p50, late_p99 = (median(getattr(truth, name) for truth in truths) for name in ("late_p50_us", "late_p99_us"))
    return f"{p50:+.3f}       {p99:+.3f}{'':27}{late_p50:.1f} us, {late_p99:.1f} us"


if __name__ == "__main__":
    sys.exit(main())
