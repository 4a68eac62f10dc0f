"""The real balancer on a virtual clock, against backends that are no more than the times of their answers.

Calls begin either when an earlier one ends (closed loop) or at a fixed distance (open loop). Nothing waits for a
connection, and a backend's times do not depend on how many calls it has: they were measured under that load. Probes
are answered at once, with the calls that are in flight there; how long those take the policy knows as well as they do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
from random import Random
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.keys import Keys
from lbctl.balance.moments import Moments
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Policy, Why
from lbctl.balance.probes import PROBE_EVERY_NS, ProbeReply
from lbctl.model import Code, Instance, Origin, Reply

_OK: Final = Reply(Code.OK)
_FAILED: Final = Reply(Code.UNAVAILABLE, Origin.SERVER, "as often as measured")
_NEVER: Final = (-PROBE_EVERY_NS, ProbeReply(0, 0, stated=False))
_BATCH: Final = 256


@dataclass(frozen=True, slots=True)
class Modelled:
    """One backend: the times of its answers, how often each was seen, and the part of its calls that fail."""

    instance: Instance
    times_ns: Sequence[int]
    counts: Sequence[int]
    errors: float = 0.0
    error_ns: int = 0  # how long a call takes that fails


@dataclass(frozen=True, slots=True)
class Pace:
    """When calls begin: so many at once, each end making room for the next, or one every ``gap_ns``."""

    in_flight: int = 1
    gap_ns: int = 0


class Virtual:
    """A policy over modelled backends; picks go on where the last ended."""

    def __init__(
        self,
        policy: Policy,
        backends: Sequence[Modelled],
        pace: Pace,
        rng: Random,
        keys: Keys | None = None,
        moments: Moments | None = None,
    ) -> None:
        self.balancer = Balancer(policy, rng, keys)
        self._keys = keys
        self._pace = pace
        self._began = 0  # calls
        self._now_ns = 0
        self._told: dict[Peer, tuple[int, ProbeReply]] = {}  # when backends answered a probe last, and what
        self.balancer.on_probe = self._probed
        self._flying: list[tuple[int, int, Peer, int, Reply]] = []  # end, number, peer, begin, reply
        change = self.balancer.update(backend.instance for backend in backends)
        for peer in change.added:
            self.balancer.mark(peer, ready=True)
        by_instance = {backend.instance.identity: backend for backend in backends}
        self._answers = {}
        for identity, peer in self.balancer.peers.items():
            backend = by_instance[identity]
            times = _times(backend, rng) if moments is None else self._moving_times(backend, moments)
            self._answers[peer] = _answers(backend, rng, times).__next__

    def run(self, calls: int) -> list[Peer]:
        """Begin so many calls and return who got them."""
        return [self._begin(self._due()) for _ in range(calls)]

    def explained(self) -> tuple[Peer, Why]:
        """Begin one call and tell why it goes where it goes."""
        found: list[Why] = []
        peer = self._begin(self._due(), found)
        return peer, found[0]

    def _due(self) -> int:
        """Let time pass until the next call is to begin, and return when that is."""
        flying, pace = self._flying, self._pace
        if not pace.gap_ns:
            return self._end() if self._began >= pace.in_flight else 0
        due = self._began * pace.gap_ns
        while flying and flying[0][0] <= due:
            self._end()
        return due

    def _begin(self, now_ns: int, found: list[Why] | None = None) -> Peer:
        picker = self.balancer.picker
        assert picker is not None, "every modelled backend is ready"
        self._now_ns = now_ns
        call = Call(now_ns, next(self._keys) if self._keys is not None else b"")
        if found is None:
            peer = picker.pick(call)
        else:
            peer, why = picker.why(call)
            found.append(why)
        peer.picks += 1
        self._began += 1
        lasts_ns, reply = self._answers[peer]()
        heappush(self._flying, (now_ns + lasts_ns, self._began, peer, now_ns, reply))
        return peer

    def _probed(self, peer: Peer) -> None:
        now_ns = self._now_ns
        at_ns, answer = self._told.get(peer, _NEVER)
        if now_ns - at_ns >= PROBE_EVERY_NS:
            answer = ProbeReply(peer.in_flight, 0, stated=False, until_ns=now_ns + PROBE_EVERY_NS)
            self._told[peer] = now_ns, answer
        self.balancer.reported(peer, answer, now_ns)

    def _moving_times(self, backend: Modelled, moments: Moments) -> Iterator[int]:
        """How long calls take that begin now, whenever that is."""
        times_ns, counts = zip(*sorted(zip(backend.times_ns, backend.counts, strict=True)), strict=True)
        cumulative = list(accumulate(counts))
        while True:
            yield times_ns[bisect_left(cumulative, moments.rank(self._now_ns) * cumulative[-1])]

    def _end(self) -> int:
        now_ns, _, peer, begun_ns, reply = heappop(self._flying)
        peer.finished += 1
        self.balancer.ended(peer, begun_ns, now_ns, reply)
        return now_ns


def _answers(backend: Modelled, rng: Random, times: Iterator[int]) -> Iterator[tuple[int, Reply]]:
    """How long each call takes and how it ends."""
    chance, failed = backend.errors, (backend.error_ns, _FAILED)
    for lasts_ns in times:
        yield failed if chance and rng.random() < chance else (lasts_ns, _OK)


def _times(backend: Modelled, rng: Random) -> Iterator[int]:
    cumulative = list(accumulate(backend.counts))
    while True:
        yield from rng.choices(backend.times_ns, cum_weights=cumulative, k=_BATCH)
