"""What one pick costs, by policy and number of backends: ``python -m benchmarks.picks``.

The figures are those of ``lbctl bench policies``, which says how they are measured; here with what they use of their
budgets, kind by kind for ``benchmarks.budgets``.
"""

from __future__ import annotations

from lbctl.balance.policies import POLICIES
from lbctl.balance.policies.base import Expectation
from lbctl.commands.bench import BUDGETS_NS, SIZES, Cost, cost

__all__ = ["BUDGETS_NS", "main", "worst_by_kind"]


def worst_by_kind() -> dict[Expectation, tuple[str, float]]:
    """The slowest policy of each kind, at its slowest size, in ns."""
    slowest: dict[Expectation, tuple[str, float]] = {}
    for policy in POLICIES.values():
        found = max(cost(policy, size, "uniform").pick_ns for size in SIZES)
        if found > slowest.get(policy.expectation, ("", 0.0))[1]:
            slowest[policy.expectation] = (policy.name, found)
    return slowest


def main() -> None:
    """Print a line per policy."""
    print(f"{'ns per pick':22}" + "".join(f"{size:>8,}" for size in SIZES) + f"{'used of budget':>20}")
    for policy in POLICIES.values():
        found: list[Cost] = [cost(policy, size, "uniform") for size in SIZES]
        budget = BUDGETS_NS[policy.expectation]
        used = f"{max(each.pick_ns for each in found) / budget:.2f} of {budget:,} ns"
        print(f"{policy.name:22}" + "".join(f"{each.pick_ns:8.0f}" for each in found) + f"{used:>20}")


if __name__ == "__main__":
    main()
