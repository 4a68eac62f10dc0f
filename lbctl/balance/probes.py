"""Prequal's pool of probe answers, and the choice among them: hot or cold by requests in flight, then by latency.

    rank of an answer    cold: its latency           hot: its requests in flight, and above all cold ones
    best, worst          of least and of most rank, of equals the oldest

This is the hot path, as a call takes several answers in and throws some out: ranks are kept beside the answers, so that
C finds the best, and they change only when the threshold between cold and hot does.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept

PROBE_EVERY_NS: Final = 10_000_000  # as many probes as calls would be another load
MOST_RIF: Final = (1 << 16) - 1  # answers that tell of more are not told apart
_LATEST: Final = 9  # latencies whose median answers for a backend that does not
_SEEN: Final = 128  # answers whose requests in flight say what is hot
_UNSEEN: Final = -1  # stands for one before there were so many
_HOT: Final = 1 << 60  # more than any latency
_LAST: Final = 0.5  # the use that an answer has left by chance


class ProbeReply(NamedTuple):
    """What a backend says of itself: requests in flight, and how long requests take there at such a load.

    ``stated`` False: it says nothing of that, and the latency is only how long it took to answer the probe. Who is
    probed again before ``until_ns`` would say the same.
    """

    rif: int
    latency_ns: int
    stated: bool = True
    until_ns: int = 0


class Answer(Kept):
    """One peer's latest answer, in the pool or not, and what this client knows of the peer."""

    __slots__ = (
        "_by_age",
        "_by_size",
        "at_ns",
        "latency_ns",
        "median_ns",
        "peer",
        "rif",
        "stated",
        "told_ns",
        "told_rif",
        "told_until_ns",
        "uses",
    )

    peer: Peer

    def __init__(self) -> None:
        super().__init__()
        self.rif = 0  # every use adds a request
        self.latency_ns = 0
        self.at_ns = 0
        self.uses = 0.0  # that are left; 0 when it is not in the pool
        self.told_rif = self.told_ns = self.told_until_ns = 0  # by the peer itself, when it was probed last
        self.stated = True
        self.median_ns = 0  # of the latest latencies; 0 when there are none
        self._by_age: deque[int] = deque()
        self._by_size: list[int] = []

    def learn(self, took_ns: int) -> None:
        """A call took so long."""
        by_age, by_size = self._by_age, self._by_size
        if len(by_size) == _LATEST:
            del by_size[bisect_left(by_size, by_age.popleft())]
        by_age.append(took_ns)
        insort(by_size, took_ns)
        self.median_ns = by_size[len(by_size) // 2]


class Limits(NamedTuple):
    """What a pool keeps, and what it goes by.

    An answer may be used ``uses`` times on average, and with every call so many ``removals`` are made. ``penalty_ns``
    is the least latency of who keeps slots of failed calls.
    """

    size: int = 16
    age_ns: int = 1_000_000_000
    q_rif: float = 0.84
    uses: float = math.inf
    removals: float = 1.0
    penalty_ns: int = 0


class Pool:
    """The latest answers, one of a backend at most, the oldest first; and the threshold between cold and hot.

    That is the quantile of the requests in flight of the latest 128 answers, by nearest rank: with 0 everybody is hot,
    with 1 nobody. Each number is counted, so it moves by steps.
    """

    def __init__(self, limits: Limits, rng: Random) -> None:
        self.answers: list[Answer] = []
        self.stale_ns = 0  # until then none of them is too old
        self.threshold: float = -1.0 if limits.q_rif <= 0.0 else math.inf
        self._ranks: list[int] = []  # those of the answers
        self._limits = limits
        self._uses = limits.uses if limits.uses == math.inf else math.floor(limits.uses)
        self._part = limits.uses - self._uses if limits.uses < math.inf else 0.0  # the chance of one use more
        self._random = rng.random
        self._removals = limits.removals
        self._to_remove = 0.0
        self._removes_worst = False
        self._seen = [_UNSEEN] * _SEEN  # a ring of requests in flight
        self._place = 0  # where its oldest are
        self._unseen = _SEEN
        self._counts = [0] * _SEEN + [_SEEN]  # of each number in the ring, _UNSEEN at the end
        self._at = _UNSEEN  # the threshold, and ...
        self._upto = _SEEN  # ... how many are not above it ...
        self._rank = 0  # ... when there should be so many

    def add(self, answers: Sequence[Answer], now_ns: int, *, told: bool) -> None:  # noqa: C901  # the hot loop
        """Take in what the peers told of themselves, or what is known of them, for their last answers or the oldest."""
        pooled, ranks, threshold, uses = self.answers, self._ranks, self.threshold, self._uses
        seen, counts, place, at, upto = self._seen, self._counts, self._place, self._at, self._upto
        for answer in answers:
            if told:
                rif, latency_ns = answer.told_rif, answer.told_ns
                if latency_ns < answer.median_ns and not answer.stated:
                    latency_ns = answer.median_ns
            else:
                peer = answer.peer
                rif, latency_ns = peer.picks - peer.finished, answer.median_ns
            if answer.count and answer.at(now_ns):
                rif += answer.count
                latency_ns = max(latency_ns, self._limits.penalty_ns)
            if answer.uses:
                index = pooled.index(answer)
                del pooled[index], ranks[index]
            answer.rif = rif
            answer.latency_ns = latency_ns
            answer.at_ns = now_ns
            answer.uses = uses
            ranks.append(latency_ns if rif <= threshold else _HOT + rif)
            oldest = seen[place]
            if rif != oldest:
                if rif > len(counts) - 2:
                    counts[_UNSEEN:_UNSEEN] = [0] * (rif + 2 - len(counts))
                seen[place] = rif
                counts[rif] += 1
                counts[oldest] -= 1
                if rif <= at:
                    if oldest > at:
                        upto += 1
                elif oldest <= at:
                    upto -= 1
            place = place - 1 if place else _SEEN - 1
        pooled += answers
        self._place, self._upto = place, upto
        while len(ranks) > self._limits.size:
            del ranks[0]
            pooled.pop(0).uses = 0
        if self._unseen:
            self._unseen = max(0, self._unseen - len(answers))
            self._rank = self._unseen + math.ceil(self._limits.q_rif * (_SEEN - self._unseen))
        if not upto - counts[at] < self._rank <= upto:
            self._move()

    def use(self) -> Peer:
        """Choose the best: the cold one of least latency, or where all are hot the one of fewest requests."""
        ranks = self._ranks
        index = ranks.index(min(ranks))
        answer = self.answers[index]
        answer.rif = rif = answer.rif + 1
        uses = answer.uses - 1
        if uses < 1 and (uses < 0 or self._random() >= self._part):
            del ranks[index], self.answers[index]
            answer.uses = 0
        else:
            answer.uses = uses or _LAST
            if rif > self.threshold:
                ranks[index] = _HOT + rif
        self.thin_out()
        return answer.peer

    def thin_out(self) -> None:
        """Throw away in turn the oldest and the worst: the hot one of most requests, or where none is the slowest."""
        due, ranks = self._to_remove + self._removals, self._ranks
        while due >= 1.0:
            due -= 1.0
            if ranks:
                index = ranks.index(max(ranks)) if self._removes_worst else 0
                del ranks[index]
                self.answers.pop(index).uses = 0
            self._removes_worst = not self._removes_worst
        self._to_remove = due

    def sweep(self, now_ns: int) -> None:
        """Throw away what is too old."""
        oldest_ns, answers = now_ns - self._limits.age_ns, self.answers
        for answer in answers:
            if answer.at_ns < oldest_ns:
                answer.uses = 0
        answers[:] = [answer for answer in answers if answer.uses]
        self._rerank()
        self.stale_ns = min((answer.at_ns for answer in answers), default=now_ns) + self._limits.age_ns

    def worsen(self, answer: Answer) -> None:
        """A call failed there, and keeps its slot."""
        if answer.uses:
            answer.rif += 1
            answer.latency_ns = max(answer.latency_ns, self._limits.penalty_ns)
            self._rerank()

    def _move(self) -> None:
        """Move the threshold to where it should be."""
        if not 0.0 < self._limits.q_rif < 1.0:
            return
        counts, rank, at, upto = self._counts, self._rank, self._at, self._upto
        while upto < rank:
            at += 1
            upto += counts[at]
        while upto - counts[at] >= rank:
            upto -= counts[at]
            at -= 1
        self._at, self._upto = at, upto
        if at != self.threshold:
            self.threshold = at
            self._rerank()

    def _rerank(self) -> None:
        threshold = self.threshold
        self._ranks[:] = [
            answer.latency_ns if answer.rif <= threshold else _HOT + answer.rif for answer in self.answers
        ]


def reuse(size: int, backends: int, probes: float, removals: float, delta: float) -> float:
    """Return how often an answer may be used, so that the pool neither runs dry nor grows old; inf is as often."""
    left = (1.0 - min(size, backends) / backends) * probes - removals
    return max(1.0, (1.0 + delta) / left) if left > 0 else math.inf
