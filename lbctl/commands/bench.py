"""``lbctl bench policies``: what a pick costs, and what a picker keeps in memory, measured here and now."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from sys import getsizeof
from time import perf_counter_ns
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Final, NamedTuple

from lbctl.balance.keys import Endless, Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Expectation, Learning, Picker, Policy, Setup
from lbctl.model import Code, Endpoint, Instance, Reply

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
_CHUNK: Final = 1024  # calls that are timed together
_FOREVER_NS: Final = 1 << 62
_IN_FLIGHT: Final = 64
_GAP_NS: Final = 20_000  # 50,000 calls a second
_TAKES_NS: Final = 1_000_000
_CODE: Final = (type, ModuleType, CodeType, BuiltinFunctionType)
_OK: Final = Reply(Code.OK)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one policy costs over one fleet. ``state`` is in bytes, with what it keeps at its backends."""

    policy: str
    backends: int
    weights: str
    pick_ns: float
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
    peers, keys = fleet(size, weights), _keys() if policy.keyed else None
    began = perf_counter_ns()
    picker = policy.build(peers, Setup(Random(1), policy.options, keys))
    took = perf_counter_ns() - began
    used = Used(picker, peers)
    return Cost(
        policy=policy.name,
        backends=size,
        weights=weights,
        pick_ns=used.pick_ns(keyed=policy.keyed),
        budget_ns=BUDGETS_NS[policy.expectation],
        build_us=took / 1000,
        state=size_of([picker, *(peer.memory for peer in peers)], without=[keys, peers]),
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
    return Endless("key-0, key-1, ...", map(b"key-%d".__mod__, count()), _some_keys(0), drawn=False)


def _some_keys(first: int) -> list[bytes]:
    return [b"key-%d" % number for number in range(first, first + _CHUNK)]


class Used:
    """A picker used as the engine does: calls in flight are counted, and ends are told to who learns from them.

    No key comes twice, and time goes on: what a picker remembers of earlier calls must not make it look quick.
    """

    def __init__(self, picker: Picker, peers: Sequence[Peer]) -> None:
        self._pick = picker.pick
        self._learn = picker.ended if isinstance(picker, Learning) else None
        self._flying = deque([*peers] * (_IN_FLIGHT // len(peers) + 1))
        self._number = 0
        for peer in self._flying:
            peer.picks += 1

    def pick_ns(self, *, keyed: bool, seconds: float = _SECONDS) -> float:
        """Return the cost of one call to the policy in ns, once it is warm: the best of many chunks of calls."""
        ends = perf_counter_ns() + int(seconds * 1e9)
        best = empty = _FOREVER_NS
        while best == _FOREVER_NS or perf_counter_ns() < ends:
            calls = self._calls(keyed=keyed)
            best = min(best, self._chunk(calls))
            empty = min(empty, _timed(_nothing, calls))
        return max(best - empty, 0) / _CHUNK

    def _calls(self, *, keyed: bool) -> list[Call]:
        keys = _some_keys(self._number) if keyed else [b""] * _CHUNK
        calls = [Call((self._number + step) * _GAP_NS, key) for step, key in enumerate(keys)]
        self._number += _CHUNK
        return calls

    def _chunk(self, calls: Sequence[Call]) -> int:
        """Nanoseconds of a chunk of calls, the loop around them included."""
        return _timed(self._pick, calls) if self._learn is None else self._learnt(calls, self._pick, self._learn)

    def _learnt(self, calls: Sequence[Call], pick: Callable[[Call], Peer], learn: Callable[..., None]) -> int:
        flying = self._flying
        add, take = flying.append, flying.popleft
        began = perf_counter_ns()
        for call in calls:
            peer = pick(call)
            peer.picks += 1
            add(peer)
            done = take()
            done.finished += 1
            learn(done, call.now_ns - _TAKES_NS, call.now_ns, _OK)
        return perf_counter_ns() - began


def _timed(pick: Callable[[Call], object], calls: Sequence[Call]) -> int:
    began = perf_counter_ns()
    for call in calls:
        pick(call)
    return perf_counter_ns() - began


def _nothing(call: Call) -> None:
    """What calling anything costs."""


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
        elif not isinstance(each, Peer):  # what a policy keeps at a peer is a root of its own
            left += gc.get_referents(each)
