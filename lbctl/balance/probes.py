"""Prequal's pool of probe answers, and the choice among them: hot or cold by requests in flight, then by latency."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Sequence
from operator import attrgetter
from random import Random
from typing import Final, NamedTuple

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept

_LATEST: Final = 9  # latencies whose median answers for a backend that does not
PROBE_EVERY_NS: Final = 10_000_000  # as many probes as calls would be another load
_SEEN: Final = 128  # answers whose requests in flight make the distribution


_rif, _latency_ns = attrgetter("rif"), attrgetter("latency_ns")


class ProbeReply(NamedTuple):
    """What a backend says of itself: requests in flight, and how long requests take there at such a load.

    ``stated`` False: it says nothing of that, and the latency is only how long it took to answer the probe.
    """

    rif: int
    latency_ns: int
    stated: bool = True


class Answer:
    """One answer in the pool; every use adds a request to it."""

    __slots__ = ("at_ns", "latency_ns", "peer", "rif", "uses")

    def __init__(self, peer: Peer, rif: int, latency_ns: int, at_ns: int, uses: float) -> None:
        self.peer = peer
        self.rif = rif
        self.latency_ns = latency_ns
        self.at_ns = at_ns
        self.uses = uses  # that are left


class Distribution:
    """The requests in flight of the latest answers."""

    def __init__(self) -> None:
        self._by_age: deque[int] = deque()
        self._by_size: list[int] = []

    def add(self, rif: int) -> None:
        by_age, by_size = self._by_age, self._by_size
        by_age.append(rif)
        if len(by_size) < _SEEN:
            insort(by_size, rif)
            return
        oldest = by_age.popleft()
        if oldest != rif:
            del by_size[bisect_left(by_size, oldest)]
            insort(by_size, rif)

    def quantile(self, q: float) -> float:
        """Return what is not hot yet: by nearest rank; of 0 everybody is hot, of 1 nobody."""
        if q <= 0.0:
            return -1.0
        if q >= 1.0 or not self._by_size:
            return math.inf
        return self._by_size[math.ceil(q * len(self._by_size)) - 1]


class Pool:
    """The latest answers, one of a backend at most, the oldest first."""

    def __init__(self, size: int, age_ns: int, uses: float, rng: Random) -> None:
        self.answers: dict[Peer, Answer] = {}
        self._size = size
        self._age_ns = age_ns
        self._least_uses = uses if uses == math.inf else math.floor(uses)
        self._part = 0.0 if uses == math.inf else uses % 1.0  # rounded by chance, so that it is right on average
        self._random = rng.random

    def add(self, peer: Peer, rif: int, latency_ns: int, now_ns: int) -> None:
        """Take an answer in, in place of the peer's last one or of the oldest."""
        answers = self.answers
        answer = answers.pop(peer, None)
        if answer is None and len(answers) >= self._size:
            answer = answers.pop(next(iter(answers)))  # its object goes on as the new one
        uses = self._least_uses
        if self._part and self._random() < self._part:
            uses += 1
        if answer is None:
            answer = Answer(peer, rif, latency_ns, now_ns, uses)
        else:
            answer.peer, answer.rif, answer.latency_ns = peer, rif, latency_ns
            answer.at_ns, answer.uses = now_ns, uses
        answers[peer] = answer

    def fresh(self, now_ns: int) -> Sequence[Answer]:
        """Return the answers that are not too old, rid of the others."""
        found, oldest_ns = [*self.answers.values()], now_ns - self._age_ns
        if found and found[0].at_ns < oldest_ns:
            for answer in found:
                if answer.at_ns < oldest_ns:
                    del self.answers[answer.peer]
            found = [*self.answers.values()]
        return found

    def use(self, answer: Answer) -> None:
        """A request goes there."""
        answer.rif += 1
        answer.uses -= 1
        if answer.uses < 1:
            del self.answers[answer.peer]

    def remove(self, threshold: float, *, worst: bool) -> None:
        """Throw away the worst answer, or the oldest."""
        if self.answers:
            answers = self.answers.values()
            del self.answers[(worst_of(answers, threshold) if worst else next(iter(answers))).peer]


def best_of(answers: Iterable[Answer], threshold: float) -> Answer:
    """Return the cold answer of least latency, or where all are hot the one of fewest requests in flight."""
    found, least = None, math.inf
    for answer in answers:
        if answer.latency_ns < least and answer.rif <= threshold:
            found, least = answer, answer.latency_ns
    return found or min(answers, key=_rif)


def worst_of(answers: Iterable[Answer], threshold: float) -> Answer:
    """Return the hot answer of most requests in flight, or where none is hot the one of most latency."""
    found, most = None, threshold
    for answer in answers:
        if answer.rif > most:
            found, most = answer, answer.rif
    return found or max(answers, key=_latency_ns)


def reuse(size: int, backends: int, probes: float, removals: float, delta: float) -> float:
    """Return how often an answer may be used, so that the pool neither runs dry nor grows old; inf is as often."""
    left = (1.0 - min(size, backends) / backends) * probes - removals
    return max(1.0, (1.0 + delta) / left) if left > 0 else math.inf


class Node(Kept):
    """What this client knows of one peer."""

    __slots__ = ("_by_age", "_by_size", "median_ns")

    def __init__(self) -> None:
        super().__init__()
        self.median_ns = 0  # of the latest latencies; 0 when there are none
        self._by_age: deque[int] = deque()
        self._by_size: list[int] = []

    def learn(self, took_ns: int) -> None:
        by_age, by_size = self._by_age, self._by_size
        if len(by_size) == _LATEST:
            del by_size[bisect_left(by_size, by_age.popleft())]
        by_age.append(took_ns)
        insort(by_size, took_ns)
        self.median_ns = by_size[len(by_size) // 2]
