"""Every budget, measured and judged: ``python -m benchmarks.budgets [--quick] [--markdown]``.

CPU and throughput are those of compare.py in its plainest cell, the open loop is pacing.py's, latencies are
latency.py's, picks are picks.py's, listings listing.py's and registrations registration.py's. A verdict is about this
machine, now: nothing is a test.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks import latency, listing, pacing, picks, registration
from benchmarks.clients import SUBJECT
from benchmarks.figures import Result, cpu, throughput
from benchmarks.machine import Cores, description, share_out
from benchmarks.matrix import Matrix, measure, say
from benchmarks.page import provenance, put
from benchmarks.scenario import PLAINEST, UNBOUND

CPU_BUDGETS = {"h2load": 1.5, "ghz": 1 / 5, "grpc.aio": 1 / 8}  # at most, as multiples of the peer's
THROUGHPUT_BUDGETS = {"h2load": 0.9, "ghz": 4.0}  # at least
ROUNDS, SECONDS = 5, 4.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line of the table; ``kept`` is None where nothing could be measured."""

    what: str
    budget: str
    measured: str
    kept: bool | None

    @property
    def word(self) -> str:
        return "not measured" if self.kept is None else "kept" if self.kept else "missed"


def of_comparison(result: Result) -> Iterator[Verdict]:
    """Rows 1 and 2."""
    for peer, most in CPU_BUDGETS.items():
        ratio = result.ratio(PLAINEST, peer, cpu)
        kept = None if ratio is None else ratio <= most
        yield Verdict(f"CPU per call against {peer}", f"<= {most:.3g}x", _times(ratio), kept)
    for peer, least in THROUGHPUT_BUDGETS.items():
        ratio = result.ratio(PLAINEST, peer, throughput)
        kept = None if ratio is None else ratio >= least
        yield Verdict(f"closed-loop throughput against {peer}", f">= {least:.3g}x", _times(ratio), kept)
    for peer, least in THROUGHPUT_BUDGETS.items():
        ratio = result.ratio(UNBOUND, peer, throughput)
        kept = None if ratio is None else ratio >= least
        what = f"the same against {peer}, in front of a server that answers without looking"
        yield Verdict(what, f">= {least:.3g}x", _times(ratio), kept)
    yield from _for_information(result)


def _for_information(result: Result) -> Iterator[Verdict]:
    """What the two rows above rest on: nobody is faster than the server's core."""
    ours = result.median(PLAINEST, SUBJECT, throughput)
    server = result.median(PLAINEST, SUBJECT, lambda figure: figure.server_us)
    if ours is not None and server:
        busy = ours * server / 1e6
        yield Verdict("the server's core during lbctl's run", "", f"{busy:.0%} busy at {ours:,.0f} calls/s", None)
    bare = result.ratio(PLAINEST, "h2load, bare", throughput)
    if bare is not None:
        yield Verdict("throughput against h2load without a deadline", "", _times(bare), None)


def of_pacing(rounds: int, seconds: float, cores: Cores) -> Iterator[Verdict]:
    """Row 3."""
    runs = [pacing.measure(pacing.RPS, seconds, cores) for _ in range(rounds)]
    budget = f"p99 <= {pacing.BUDGET_MS} ms"
    for how, p99 in zip(("as lbctl says", "as the server saw"), pacing.middle(runs), strict=True):
        kept = p99 <= pacing.BUDGET_MS
        yield Verdict(f"open loop at {pacing.RPS:,}/s, planned to started, {how}", budget, f"{p99:.3f} ms", kept)


def of_latency(rounds: int, seconds: float, cores: Cores) -> Iterator[Verdict]:
    """Row 4."""
    runs = latency.measure_all(latency.RPS, seconds, rounds, cores)
    for delay in latency.DELAYS_MS:
        excess = latency.worst({delay: runs[delay]})
        what = f"p50 at {latency.RPS:,}/s of a server that takes {delay} ms"
        yield Verdict(what, f"+{latency.BUDGET_MS} ms", f"{excess:+.3f} ms", excess <= latency.BUDGET_MS)


def of_picks() -> Iterator[Verdict]:
    """Row 5."""
    for kind, (name, cost) in picks.worst_by_kind().items():
        budget = picks.BUDGETS_NS[kind]
        yield Verdict(f"one pick, {kind} policies", f"<= {budget} ns", f"{cost:.0f} ns ({name})", cost <= budget)


def of_listing(rounds: int, cores: Cores) -> Iterator[Verdict]:
    """Row 6; how much longer it takes among many other keys is for information."""
    for listed in asyncio.run(listing.measure(rounds, cores)):
        budget = "" if "among" in listed.what else f"{listing.BUDGET_S} s, {listing.BUDGET_MIB} MiB"
        yield Verdict(listed.what, budget, f"{listed.wall_s:.2f} s, {listed.peak_mib:.0f} MiB", listed.kept)


def of_registration(rounds: int, cores: Cores) -> Iterator[Verdict]:
    """Row 7."""
    delays = asyncio.run(registration.measure(rounds, registration.RPS, cores))
    budget, p99 = f"p99 <= {registration.BUDGET_MS:g} ms", delays.at(0.99)
    yield Verdict("from a key's write to the backend's first call", budget, f"{p99:.1f} ms", delays.kept)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything and print the table."""
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budgets")
    parser.add_argument("--quick", action="store_true", help="one round of everything, shorter")
    parser.add_argument("--markdown", action="store_true", help="also write it into docs/explanation/performance.md")
    args = parser.parse_args(argv)
    rounds, seconds = (1, SECONDS / 2) if args.quick else (ROUNDS, SECONDS)
    cores, machine = share_out(), description()
    result = measure(Matrix((PLAINEST, UNBOUND), rounds, scale=0.3 if args.quick else 2.0), cores)
    verdicts = list(of_comparison(result))
    say("open loop")
    verdicts += of_pacing(rounds, seconds, cores)
    say("latencies")
    verdicts += of_latency(rounds, seconds, cores)
    say("picks")
    verdicts += of_picks()
    say("listing")
    verdicts += of_listing(rounds, cores)
    say("registrations")
    verdicts += of_registration(registration.ROUNDS // (5 if args.quick else 1), cores)
    for verdict in verdicts:
        print(f"{verdict.what:<78}{verdict.budget:<16}{verdict.measured:<32}{verdict.word if verdict.budget else ''}")
    for name, reason in result.left_out.items():
        print(f"left out: {name}: {reason}")
    if args.markdown:
        command = " ".join(("python -m benchmarks.budgets", *argv))
        date = time.strftime("%Y-%m-%d", time.gmtime())
        lines = [*provenance(command, date, machine, result.versions), "", *_table(verdicts)]
        say(f"written to {put('budgets', lines)}")
    return 0


def _table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "| what | budget | measured | verdict |"
    yield "|---|---|---|---|"
    for verdict in verdicts:
        word = verdict.word if verdict.budget else ""
        yield f"| {verdict.what} | {verdict.budget} | {verdict.measured} | {word} |"


def _times(ratio: float | None) -> str:
    return "no figure" if ratio is None else f"{ratio:.3g}x"


if __name__ == "__main__":
    sys.exit(main())
