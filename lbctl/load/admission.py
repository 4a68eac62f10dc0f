"""Calls that are turned away before a backend is picked: by a breaker, or because every backend is out of the rotation.

They count as issued, and end UNAVAILABLE in the next turn of the event loop: a closed loop, which answers each end with
a new call, goes on from there instead of calling itself. They are never sent again.

Breakers that go by results stand before a call, and know nothing of its attempts. One that bounds what is under way
stands before each attempt, as it does in gRPC and in Envoy: a retry or a hedge is a request like any other.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.breakers import Breaker
from lbctl.balance.peer import Peer
from lbctl.balance.selection import Mode
from lbctl.load.batch import Batch
from lbctl.model import Code, Origin, Reply
from lbctl.wire.state import DEADLINE

ALL_OUT: Final = Reply(Code.UNAVAILABLE, Origin.CLIENT, "every backend that can be reached is out of the rotation")
_OK: Final = Reply(Code.OK)
_ALL_OUT: Final = "all-out"

Fail = Callable[[Sequence[tuple[Batch, Reply]]], None]


class Gate:
    """The breakers of a run, and those who wait to be told that they were turned away."""

    def __init__(self, balancer: Balancer, breakers: Sequence[Breaker]) -> None:
        self.turned_away: Counter[str] = Counter()  # calls, retries and hedges by the breaker's name, or all-out
        self._balancer = balancer
        self._breakers = breakers
        self._replies = {breaker.name: _dropped(breaker.name) for breaker in breakers}
        self._own = {ALL_OUT, *self._replies.values()}
        self._pending: list[tuple[Batch, Reply]] = []
        self._fail: Fail

    def bind(self, fail: Fail) -> None:
        """Say who ends the calls that are turned away."""
        self._fail = fail

    @property
    def waiting(self) -> int:
        """Calls that were turned away and have not ended."""
        return len(self._pending)

    def turn_away(self, like: Batch, count: int, under_way: int) -> int:
        """Have the breakers look at so many new calls, while attempts are under way; how many were turned away."""
        left = count
        for breaker in self._breakers:
            admitted = breaker.admit(left, under_way, like.begun_ns)
            for _ in range(left - admitted):
                single = Batch(like.queued_ns, like.deadline_ns, like.begun_ns)
                self._await(single, breaker.name, self._replies[breaker.name])
            left = admitted
        return count - left

    def allowed(self, planned: Sequence[int], deadline_ns: int, now_ns: int, under_way: int) -> Sequence[int]:
        """The calls, by when they were due, that the breakers let through."""
        kept: list[int] = []
        for due_ns in planned:
            if not self.turn_away(Batch(due_ns, deadline_ns, now_ns), 1, under_way + len(kept)):
                kept.append(due_ns)
        return kept

    def dropped_by(self, under_way: int, now_ns: int) -> str:
        """The breaker that drops one more attempt of a call, or nothing."""
        for breaker in self._breakers:
            if breaker.each_attempt and not breaker.admit(1, under_way, now_ns):
                self.turned_away[breaker.name] += 1
                return breaker.name
        return ""

    def refuses(self, call: Batch) -> bool:
        """Take a call that no backend is in the rotation for, where such calls are to fail at once."""
        if self._balancer.mode is not Mode.FAIL:
            return False
        self._await(call, _ALL_OUT, ALL_OUT)
        return True

    def ended(self, reply: Reply, count: int, now_ns: int) -> None:
        """So many calls have ended for good; the breakers know of those that they turned away themselves."""
        if reply not in self._own:
            for breaker in self._breakers:
                breaker.ended(reply.code, count, now_ns)

    def done(self, calls: Sequence[Batch], now_ns: int) -> None:
        """Calls were answered OK, those of them in time that were."""
        late = sum(now_ns >= call.deadline_ns for call in calls)
        if late:
            self.ended(DEADLINE, late, now_ns)
        if late < len(calls):
            self.ended(_OK, len(calls) - late, now_ns)

    def release(self) -> None:
        """End the calls that were turned away."""
        pending, self._pending = self._pending, []
        if pending:
            self._fail(pending)

    def _await(self, call: Batch, why: str, reply: Reply) -> None:
        self.turned_away[why] += 1
        if not self._pending:
            asyncio.get_running_loop().call_soon(self.release)
        self._pending.append((call, reply))


def trial(trials: deque[Peer]) -> Peer | None:
    """The next peer to be tried that can be; it counts as picked, but not by the policy."""
    for _ in range(len(trials)):
        peer = trials.popleft()
        if peer.reachable:
            peer.picks += 1
            peer.unannounced()
            peer.belated += 1
            peer.expected += 1.0
            return peer
        trials.append(peer)
    return None


def _dropped(name: str) -> Reply:
    return Reply(Code.UNAVAILABLE, Origin.CLIENT, f"dropped by breaker {name}")
