"""Calls on a virtual clock: arrivals, modelled backends and a picker that is driven exactly as the engine drives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Learning, Reported, Setup
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.probes import ProbeReply
from lbctl.model import Code, Reply
from tests.balance.fleet import OK, fleet

SECOND = 1_000_000_000
UNAVAILABLE = Reply(Code.UNAVAILABLE)
START_NS = 10 * SECOND  # clocks do not begin at 0


@dataclass
class Backend:
    """A modelled backend: unlimited, or with ``queues`` one call at a time in order of arrival."""

    service_s: Callable[[Random], float]
    reply: Reply = OK
    queues: bool = False
    part: float = 1.0  # of the calls that end with this reply, the others with OK
    free_ns: int = 0

    def done_ns(self, now_ns: int, rng: Random) -> int:
        """When a call that arrives now is answered."""
        took_ns = max(1, round(self.service_s(rng) * SECOND))
        if not self.queues:
            return now_ns + took_ns
        self.free_ns = max(self.free_ns, now_ns) + took_ns
        return self.free_ns

    def answer(self, rng: Random) -> Reply:
        """How a call ends."""
        return self.reply if self.part == 1.0 or rng.random() < self.part else OK


def takes(seconds: float) -> Backend:
    """Return a backend with as many workers as anybody needs."""
    return Backend(lambda rng: seconds)


def fails(seconds: float = 0.0001) -> Backend:
    """Return a backend that refuses everything, at once."""
    return Backend(lambda rng: seconds, UNAVAILABLE)


def serves(mean_s: float) -> Backend:
    """Return a backend with one worker and exponential service times."""
    return Backend(lambda rng: rng.expovariate(1.0 / mean_s), queues=True)


@dataclass
class Simulation:
    """One run. Its picks by index, and the time that calls spent altogether, from ``skip`` calls on.

    With ``board_s`` the picker sees what is in flight only as of the last time that a board was written, so often.
    """

    policy: str
    backends: list[Backend]
    options: dict[str, str] = field(default_factory=dict)
    weights: list[int] | None = None
    seed: int = 1
    skip: int = 0
    board_s: float = 0.0
    told_s: Callable[[int, int], float] | None = None  # latency that backends answer probes with: index and RIF
    limit_s: float = 0.0  # what ``above`` counts the calls that took longer than
    picks: Counter[int] = field(default_factory=Counter)
    spent_ns: int = 0
    above: int = 0

    def __post_init__(self) -> None:
        policy = POLICIES[self.policy].with_options(self.options)
        self.peers = fleet(self.weights or [1] * len(self.backends))
        probe = self._ask if self.told_s else lambda peer: None
        self._picker = policy.build(self.peers, Setup(Random(self.seed), policy.options, probe=probe))
        # Asked once, as the engine does: of a protocol it takes longer than all else that a call costs here.
        self._learn = self._picker.ended if isinstance(self._picker, Learning) else None
        self._index = {peer: index for index, peer in enumerate(self.peers)}
        self._rng = Random(self.seed + 1)
        self._ends: list[tuple[int, int, int, int]] = []  # when, tie break, index, begun
        self._number = count()
        self.now_ns = START_NS
        self._in_flight = Counter[int]()  # in truth
        self._board_ns = START_NS

    def open_loop(self, rate: float, calls: int) -> list[float]:
        """Let calls arrive by chance at a rate; returns the shares."""
        arrival_s = self.now_ns / SECOND
        for _ in range(calls):
            arrival_s += self._rng.expovariate(rate)
            arrival_ns = round(arrival_s * SECOND)
            while self._ends and self._ends[0][0] <= arrival_ns:
                self._end()
            self.now_ns = arrival_ns
            self._begin()
        return self.shares()

    def closed_loop(self, crowd: int, calls: int) -> list[float]:
        """Keep so many calls in flight; returns the shares."""
        for _ in range(crowd):
            self._begin()
        for _ in range(calls - crowd):
            self._end()
            self._begin()
        return self.shares()

    def finish(self) -> None:
        """Wait for the calls that are in flight."""
        while self._ends:
            self._end()

    def shares(self) -> list[float]:
        return [self.picks[index] / self.picks.total() for index in range(len(self.peers))]

    def mean_s(self) -> float:
        """Return how long a call took on average."""
        return self.spent_ns / self.picks.total() / SECOND

    def _begin(self) -> None:
        now_ns, number = self.now_ns, next(self._number)
        if self.board_s and now_ns >= self._board_ns:
            self._write_board()
        peer = self._picker.pick(Call(now_ns))
        index = self._index[peer]
        self._in_flight[index] += 1
        if not self.board_s:
            peer.picks += 1
        done_ns = self.backends[index].done_ns(now_ns, self._rng)
        heappush(self._ends, (done_ns, number, index, now_ns))
        if number >= self.skip:
            self.picks[index] += 1
            self.spent_ns += done_ns - now_ns
            self.above += done_ns - now_ns > self.limit_s * SECOND

    def _end(self) -> None:
        self.now_ns, _, index, begun_ns = heappop(self._ends)
        self._in_flight[index] -= 1
        if self.board_s:
            return
        peer = self.peers[index]
        peer.finished += 1
        if self._learn:
            self._learn(peer, begun_ns, self.now_ns, self.backends[index].answer(self._rng))

    def _ask(self, peer: Peer) -> None:
        """A backend is probed, and answers at once."""
        assert self.told_s is not None
        assert isinstance(self._picker, Reported)
        latency_s = self.told_s(self._index[peer], peer.in_flight)
        self._picker.reported(peer, ProbeReply(peer.in_flight, round(latency_s * SECOND)), self.now_ns)

    def _write_board(self) -> None:
        for index, peer in enumerate(self.peers):
            peer.picks, peer.finished = self._in_flight[index], 0
            if self._learn:
                self._learn(peer, self.now_ns, self.now_ns, OK)
        self._board_ns += round(self.board_s * SECOND)
