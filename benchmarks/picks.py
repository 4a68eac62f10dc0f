"""What one pick costs, by policy and number of backends: ``python -m benchmarks.picks``.

Weights are 1 to 100 at random. Each figure is the best of several runs; a warm-up lets pickers compute ahead what they
replay later. Hash policies get their key with the call. ``empty`` is what calling a method that returns at once costs
here. The other two tables show what the warm-up hides: a new picker with its first pick, which is what a change of the
registry costs, and the mean over the first 10,000 picks of a new picker.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from random import Random

from lbctl.balance.peer import Peer
from lbctl.balance.policies import POLICIES
from lbctl.balance.policies.base import Call, Expectation, Policy, Setup
from lbctl.model import Endpoint, Instance

SIZES = (3, 10, 100, 1000)
BUDGETS_NS = {
    Expectation.SINGLE: 100,
    Expectation.SEQUENCE: 100,
    Expectation.COUNTS: 100,
    Expectation.MULTINOMIAL: 100,
    Expectation.HASH: 500,
    Expectation.FEEDBACK: 1000,
}
PICKS, RUNS, WARM_UP = 200_000, 5, 70_000
ANY = Call(key=b"user-4711")


class Empty:
    """The least a picker could do."""

    def pick(self, call: Call) -> None:
        return None


def peers(size: int) -> list[Peer]:
    """Return ready peers with random weights."""
    rng = Random(size)
    return [
        Peer(Instance(f"{n:04}", "echo", "seed", Endpoint("10.0.0.1", n + 1), rng.randint(1, 100)), ready=True)
        for n in range(size)
    ]


def pick_ns(pick: Callable[[Call], object]) -> float:
    """Return the cost of one pick once the picker is warm."""
    timer = timeit.Timer("pick(call)", globals={"pick": pick, "call": ANY})
    timer.timeit(WARM_UP)
    return min(timer.repeat(RUNS, PICKS)) / PICKS * 1e9


def new_us(policy: Policy, fleet: list[Peer], picks: int) -> float:
    """Return the cost of a new picker and its first picks."""
    rng = Random(1)

    def life() -> None:
        pick = policy.build(fleet, Setup(rng)).pick
        for _ in range(picks):
            pick(ANY)

    return min(timeit.repeat(life, number=1, repeat=RUNS)) * 1e6


def heading(title: str) -> None:
    """Print a table's first line."""
    print(f"{title:20}" + "".join(f"{f'{size:,} backends':>16}" for size in SIZES))


def costs(policy: Policy) -> list[float]:
    """Nanoseconds per pick for each size."""
    return [pick_ns(policy.build(peers(size), Setup(Random(1))).pick) for size in SIZES]


def worst_by_kind() -> dict[Expectation, tuple[str, float]]:
    """The slowest policy of each kind, at its slowest size."""
    slowest = [(policy.expectation, policy.name, max(costs(policy))) for policy in POLICIES.values()]
    kinds = dict.fromkeys(kind for kind, _, _ in slowest)
    return {kind: max(((name, ns) for k, name, ns in slowest if k is kind), key=lambda row: row[1]) for kind in kinds}


def main() -> None:
    """Print the tables."""
    heading("ns per pick")
    print(f"{'empty':20}" + f"{pick_ns(Empty().pick):16.0f}" * len(SIZES) + f"{'used of budget':>24}")
    for policy in POLICIES.values():
        found, budget = costs(policy), BUDGETS_NS[policy.expectation]
        used = f"{max(found) / budget:.2f} of {budget} ns"
        print(f"{policy.name:20}" + "".join(f"{cost:16.0f}" for cost in found) + f"{used:>24}")
    for title, picks, unit in (("us, first pick", 1, 1.0), ("ns, first 10,000", 10_000, 0.1)):
        print()
        heading(title)
        for policy in POLICIES.values():
            found = [new_us(policy, peers(size), picks) * unit for size in SIZES]
            print(f"{policy.name:20}" + "".join(f"{cost:16.1f}" for cost in found))


if __name__ == "__main__":
    main()
