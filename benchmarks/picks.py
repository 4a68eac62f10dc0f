"""What one call costs a policy, by number of backends: ``python -m benchmarks.picks [--markdown]``.

The figures are those of ``lbctl bench policies``, which says how they are measured; here one row a policy with what it
uses of its budget, and kind by kind for ``benchmarks.budgets``. Of three measurements of a figure the least is taken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.machine import description
from benchmarks.measured import ROOT
from benchmarks.page import provenance, put
from lbctl.balance.policies.base import Expectation, Policy
from lbctl.balance.policies.table import POLICIES
from lbctl.commands.bench import BUDGETS_NS, SIZES, Cost, cost
from lbctl.view.bench import time as spelled

__all__ = ["BUDGETS_NS", "main", "worst_by_kind"]

_PAGE = ROOT / "docs" / "explanation" / "picks.md"
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """A policy's costs by size; those of a key that came before, and of an end, are the greatest of all sizes."""

    policy: Policy
    costs: Sequence[Cost]

    @property
    def budget_ns(self) -> int:
        return BUDGETS_NS[self.policy.expectation]

    @property
    def worst_ns(self) -> float:
        return max(each.pick_ns for each in self.costs)

    @property
    def again_ns(self) -> float | None:
        return max((each.again_ns for each in self.costs if each.again_ns is not None), default=None)

    @property
    def end_ns(self) -> float | None:
        return max((each.end_ns for each in self.costs if each.end_ns is not None), default=None)


def measured(policy: Policy) -> Row:
    """Measure a policy at every size, with weights from 1 to 100."""
    return Row(policy, [_least(policy, size) for size in SIZES])


def _least(policy: Policy, size: int) -> Cost:
    return min((cost(policy, size, "uniform") for _ in range(_REPEATS)), key=lambda found: found.pick_ns)


def worst_by_kind() -> dict[Expectation, tuple[str, float]]:
    """The slowest policy of each kind, at its slowest size, in ns."""
    slowest: dict[Expectation, tuple[str, float]] = {}
    for policy in POLICIES.values():
        found = measured(policy).worst_ns
        if found > slowest.get(policy.expectation, ("", 0.0))[1]:
            slowest[policy.expectation] = (policy.name, found)
    return slowest


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per policy."""
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="python -m benchmarks.picks")
    parser.add_argument("--markdown", action="store_true", help="also write it into docs/explanation/picks.md")
    args = parser.parse_args(argv)
    machine, rows = description(), []
    print(f"{'':22}" + "".join(f"{size:>8,}" for size in SIZES) + f"{'again':>8}{'end':>8}{'used of budget':>18}")
    for policy in POLICIES.values():
        row = measured(policy)
        rows.append(row)
        times = [*(each.pick_ns for each in row.costs), row.again_ns, row.end_ns]
        used = f"{row.worst_ns / row.budget_ns:.2f} of {spelled(row.budget_ns)}"
        print(f"{policy.name:22}" + "".join(f"{spelled(each):>8}" for each in times) + f"{used:>18}", flush=True)
    if args.markdown:
        command = " ".join(("python -m benchmarks.picks", *argv))
        date = time.strftime("%Y-%m-%d", time.gmtime())
        print(f"written to {put('picks', [*provenance(command, date, machine, {}), '', *_table(rows)], _PAGE)}")
    return 0


def _table(rows: Sequence[Row]) -> Iterator[str]:
    sizes = " | ".join(f"{size:,}" for size in SIZES)
    yield f"| policy | budget | {sizes} | key again | end | build, {SIZES[-1]:,} |"
    yield "|---|---:|" + "---:|" * len(SIZES) + "---:|---:|---:|"
    for row in rows:
        picks = " | ".join(_judged(each) for each in row.costs)
        again, end, build = spelled(row.again_ns), spelled(row.end_ns), spelled(1000 * row.costs[-1].build_us)
        yield f"| {row.policy.name} | {spelled(row.budget_ns)} | {picks} | {again} | {end} | {build} |"


def _judged(found: Cost) -> str:
    """A pick, in bold where it is over its budget."""
    return f"**{spelled(found.pick_ns)}**" if found.pick_ns > found.budget_ns else spelled(found.pick_ns)


if __name__ == "__main__":
    sys.exit(main())
