"""``lbctl bench policies``: what a pick costs, and what a picker keeps in memory, measured here and now."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from sys import getsizeof
from time import thread_time_ns
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Final, NamedTuple

from lbctl.balance.keys import Keys, Numbers
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Expectation, Policy, Setup
from lbctl.commands.used_picker import UsedPicker
from lbctl.model import Endpoint, Instance

SIZES: Final = (3, 10, 50, 100, 1000)
WEIGHTS: Final = ("uniform", "skewed")
BUDGETS_NS: Final = {
    Expectation.SINGLE: 100,
    Expectation.SEQUENCE: 100,
    Expectation.COUNTS: 100,
    Expectation.MULTINOMIAL: 100,
    Expectation.HASH: 500,
    Expectation.FEEDBACK: 1000,
}
_SECONDS: Final = 0.06  # for one figure: 300 of them take half a minute
_CODE: Final = (type, ModuleType, CodeType)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one policy costs over one fleet; the budget is that of a pick.

    ``again_ns`` and ``end_ns`` are None where ``Times`` has none. ``state`` is in bytes, what the policy keeps at its
    backends included, after a thousand picks.
    """

    policy: str
    backends: int
    weights: str
    pick_ns: float
    again_ns: float | None
    end_ns: float | None
    budget_ns: int
    build_us: float
    state: int


class Strategy(NamedTuple):
    """A row of that article: the form of weighted random, its fleet, and what it cost there."""

    form: str
    backends: int
    weights: str
    go_ns: int
    go_mb: float


ARTICLE: Final = (
    Strategy("expanded", 10, "1-5", 45, 0.5),
    Strategy("expanded", 50, "1-10", 48, 12.5),
    Strategy("cumulative", 50, "1-100", 120, 0.8),
    Strategy("hybrid", 100, "1-50", 65, 5.2),
    Strategy("dynamic", 200, "1-1000", 75, 8.0),
)


@dataclass(frozen=True, slots=True)
class Bench:
    """What to measure."""

    policies: Sequence[Policy]
    sizes: Sequence[int] = SIZES
    weights: Sequence[str] = WEIGHTS

    def __len__(self) -> int:
        return len(self.policies) * len(self.sizes) * len(self.weights)


def measured(wanted: Bench) -> Iterator[Cost]:
    """Measure one cost after the other; nothing else should run meanwhile."""
    for policy in wanted.policies:
        for weights in wanted.weights:
            for size in wanted.sizes:
                yield cost(policy, size, weights)


def article(policy: Policy) -> Iterator[tuple[Strategy, Cost]]:
    """Measure what a well-known article on weighted random measured in Go, by the same forms of it here."""
    for strategy in ARTICLE:
        yield strategy, cost(policy.with_options({"form": strategy.form}), strategy.backends, strategy.weights)


def cost(policy: Policy, size: int, weights: str) -> Cost:
    """Measure one policy over one fleet."""
    peers, keys, rng = fleet(size, weights), _keys() if policy.keyed else None, Random(1)
    began = thread_time_ns()
    picker = policy.build(peers, Setup(rng, policy.options, keys))
    took = thread_time_ns() - began
    used = UsedPicker(picker, peers, keyed=policy.keyed)
    state = size_of([picker, *(peer.memory for peer in peers)], without=[keys, peers, rng])
    times = used.times(_SECONDS)
    return Cost(
        policy=policy.name,
        backends=size,
        weights=weights,
        pick_ns=times.pick,
        again_ns=times.again,
        end_ns=times.end,
        budget_ns=BUDGETS_NS[policy.expectation],
        build_us=took / 1000,
        state=state,
    )


def fleet(size: int, weights: str) -> list[Peer]:
    """Connected backends with weights by chance out of a range such as 1-5.

    ``uniform`` is 1-100; ``skewed`` is 1, and 100 for every tenth.
    """
    rng = Random(size)
    least, _, most = ("1-100" if weights == "uniform" else weights).partition("-")
    if weights == "skewed":
        chosen = [1 if number % 10 else 100 for number in range(size)]
    else:
        chosen = [rng.randint(int(least), int(most)) for _ in range(size)]
    return [
        Peer(Instance(f"{number:05}", "bench", "bench", Endpoint("10.0.0.1", number + 1), weight), ready=True)
        for number, weight in enumerate(chosen)
    ]


def _keys() -> Keys:
    return Numbers("key-0, key-1, ...", b"key-%d")


def size_of(roots: list[object], without: list[object]) -> int:
    """Return the bytes of everything that can be reached from the roots, except code and what belongs to others."""
    seen: set[int] = set()
    for _ in _reached(without, seen):
        pass
    return sum(getsizeof(each) for root in roots for each in _reached(root, seen))


def _reached(root: object, seen: set[int]) -> Iterator[object]:
    """Every object once that the root refers to, directly or not."""
    left = [root]
    while left:
        each = left.pop()
        if id(each) in seen or each is None or isinstance(each, _CODE):
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, FunctionType):
            left += [cell.cell_contents for cell in each.__closure__ or ()]
        elif isinstance(each, BuiltinFunctionType):  # of an object, such as the ``__getitem__`` of a list
            left.append(each.__self__)
        elif not isinstance(each, Peer):  # what a policy keeps at a peer is a root of its own
            left += gc.get_referents(each)
