"""What a call costs: `lbctl hammer` and its engine beside h2load, ghz, fortio and grpc.aio on the same server.

    python -m benchmarks.compare [--quick] [--json | --markdown]

The server (benchmarks/echo_server, grpc-go) has one core and the client the other; matrix.py says how it is measured,
scenario.py what. ghz and fortio are built with Go into a directory that is deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

from benchmarks.clients import NAMES
from benchmarks.figures import document
from benchmarks.machine import description, share_out
from benchmarks.matrix import Matrix, measure, say
from benchmarks.page import write
from benchmarks.scenario import CONNECTIONS, MATRIX, QUICK, SIZES, Replies
from benchmarks.server import NoGo
from benchmarks.table import lines

ROUNDS, QUICK_ROUNDS = 3, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; status 1 when a client that is here failed."""
    argv = sys.argv[1:] if argv is None else argv
    args = _arguments(argv)
    cores, machine = share_out(), description()
    chosen = [
        scenario
        for scenario in (QUICK if args.quick else MATRIX)
        if scenario.replies in (args.replies or list(Replies))
        and scenario.size in (args.size or SIZES)
        and scenario.connections in (args.connections or CONNECTIONS)
    ]
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else ROUNDS)
    matrix = Matrix(chosen, rounds, args.client or NAMES, args.scale, args.server)
    try:
        result = measure(matrix, cores)
    except NoGo as error:
        say(f"{error}; nothing measured")
        return 1
    command = " ".join(("python -m benchmarks.compare", *argv))
    date = time.strftime("%Y-%m-%d", time.gmtime())
    if args.markdown:
        say(f"written to {write(result, machine, command, date)}")
    elif args.json:
        print(json.dumps(document(result, machine, command, date), indent=1))
    else:
        print("\n".join(lines(result)))
    return 1 if result.failed else 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="a few cells of the matrix, fewer rounds")
    parser.add_argument("--rounds", type=int, help=f"how often everything runs ({ROUNDS}, with --quick {QUICK_ROUNDS})")
    parser.add_argument("--scale", type=float, default=1.0, help="times the usual number of calls (%(default)s)")
    parser.add_argument("--replies", action="append", type=Replies, choices=list(Replies), help="only these cells")
    parser.add_argument("--size", action="append", type=int, choices=SIZES, help="only these cells")
    parser.add_argument("--connections", action="append", type=int, choices=CONNECTIONS, help="only these cells")
    parser.add_argument("--client", action="append", choices=NAMES, help="only this client; may be repeated")
    parser.add_argument("--server", choices=("auto", "go", "python"), default="auto", help="auto: go where it is")
    put = parser.add_mutually_exclusive_group()
    put.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    put.add_argument("--markdown", action="store_true", help="write the tables of docs/explanation/performance.md")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
