"""What a picker in use costs: picks and ends of calls, timed apart, without what the measurement itself costs.

Times are those of the processor that this thread had, so that other programs do not count where they interrupt it; that
they share its caches still shows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from time import perf_counter_ns, thread_time_ns
from typing import Final, NamedTuple

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Picker
from lbctl.model import Code, Reply

_BURST: Final = 64  # calls that begin together, then as many end; and how many are in flight between bursts
_ROUND: Final = 16 * _BURST  # calls that make one figure: what happens once in a thousand picks counts with its part
_LEAST: Final = 3  # rounds of which the best is taken
_RNG: Final = Random(1)
_GAPS_NS: Final = [_RNG.randrange(40_000) for _ in range(_ROUND)]  # 50,000 calls a second, and no two take as long
_OK: Final = Reply(Code.OK)

Ended = Callable[[Peer, int, int, Reply], None]


class Times(NamedTuple):
    """Nanoseconds of one pick, the call of it included, and what else a call costs a policy.

    ``again`` is a pick with a key that was picked before, None where calls carry no key; ``end`` is what it takes to
    learn how a call ended, None where nothing is learnt.
    """

    pick: float
    again: float | None
    end: float | None


class UsedPicker:
    """A picker used as the engine does: calls in flight are counted, and ends are told to who learns from them.

    No key comes twice unless it is meant to, and time goes on: what a picker remembers of earlier calls must not make
    it look quick. When this is made, it has made its first thousand picks.
    """

    def __init__(self, picker: Picker, peers: Sequence[Peer], *, keyed: bool) -> None:
        self._pick = picker.pick
        self._learn: Ended | None = picker.ended if isinstance(picker, Learning) else None
        self._flying = deque([*peers] * -(-_BURST // len(peers)))
        self._begun = deque([0] * len(self._flying))
        self._made = self._now_ns = 0
        for peer in self._flying:
            peer.picks += 1
        self._first = self._keys() if keyed else None
        self._round(self._first)

    def times(self, seconds: float) -> Times:
        """Use it for so long, or for a few thousand calls; the best of many rounds."""
        stop = perf_counter_ns() + int(seconds * 1e9)
        rounds: list[tuple[int, int]] = []
        agains: list[tuple[int, int]] = []
        empty: list[tuple[int, int]] = []
        while len(rounds) < _LEAST or perf_counter_ns() < stop:
            rounds.append(self._round(self._keys() if self._first else None))
            empty.append(self._empty_round())
            if self._first:
                agains.append(self._round(self._first))
        pick, end = _best(rounds, empty)
        again = _best(agains, empty)[0] if agains else None
        return Times(pick, again, end if self._learn else None)

    def _keys(self) -> list[bytes]:
        return [b"key-%d" % number for number in range(self._made, self._made + _ROUND)]

    def _round(self, keys: Sequence[bytes] | None) -> tuple[int, int]:
        """Make a round of calls with these keys; the nanoseconds of all picks, and of all ends."""
        self._made += _ROUND
        picking = ending = 0
        for first in range(0, _ROUND, _BURST):
            burst = []
            for number in range(first, first + _BURST):
                self._now_ns += _GAPS_NS[number]
                burst.append(Call(self._now_ns, keys[number] if keys else b""))
            picking += _picked(burst, self._pick, self._flying)
            self._begun.extend(call.now_ns for call in burst)
            done = [(self._flying.popleft(), self._begun.popleft()) for _ in burst]
            ending += _learnt(burst, done, self._learn) if self._learn else _finished(burst, done)
        return picking, ending

    def _empty_round(self) -> tuple[int, int]:
        """The same of a round of calls that nobody picks and nobody learns from."""
        burst, spare = [Call()] * _BURST, Peer(self._flying[0].instance)
        done, flying = [(spare, 0)] * _BURST, deque([spare])
        bursts = range(_ROUND // _BURST)
        return sum(_unpicked(burst, spare, flying) for _ in bursts), sum(_finished(burst, done) for _ in bursts)


def _best(rounds: Sequence[tuple[int, int]], empty: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """A pick and an end in the quickest round, less what the quickest empty one takes."""
    pick, end = (
        max(0, min(times) - min(nothing)) / _ROUND
        for times, nothing in zip(zip(*rounds, strict=True), zip(*empty, strict=True), strict=True)
    )
    return pick, end


def _picked(calls: Sequence[Call], pick: Callable[[Call], Peer], flying: deque[Peer]) -> int:
    fly = flying.append
    began = thread_time_ns()
    for call in calls:
        peer = pick(call)
        peer.picks += 1
        fly(peer)
    return thread_time_ns() - began


def _unpicked(calls: Sequence[Call], peer: Peer, flying: deque[Peer]) -> int:
    fly = flying.append
    began = thread_time_ns()
    for _ in calls:
        peer.picks += 1
        fly(peer)
    return thread_time_ns() - began


def _learnt(calls: Sequence[Call], done: Sequence[tuple[Peer, int]], learn: Ended) -> int:
    began = thread_time_ns()
    for call, (peer, begun_ns) in zip(calls, done, strict=True):
        peer.finished += 1
        learn(peer, begun_ns, call.now_ns, _OK)
    return thread_time_ns() - began


def _finished(calls: Sequence[Call], done: Sequence[tuple[Peer, int]]) -> int:
    began = thread_time_ns()
    for call, (peer, _) in zip(calls, done, strict=True):
        peer.finished += 1
        call.now_ns  # noqa: B018  # it is looked up for who learns
    return thread_time_ns() - began
