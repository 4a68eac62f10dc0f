"""Hedging (gRFC A6): the same call is sent several times, a while apart, and the first that decides it counts.

    delay 50 ms, three attempts      0      50     60     100    110 ms
    the first is slow                send   send          send   the second is OK: the others are cancelled
    the first fails, not fatally            send   fails: the next is sent at once, not at 100
    fatally, or OK                   send   ends: that is the call's end, nothing else is sent
    its response headers come        send   headers: the call is committed to it, the others are cancelled
    it has sent 256 KiB              send   likewise: a client does not keep more, to send it to another backend

An attempt that ends with a code of ``nonFatalStatusCodes`` decides nothing as long as another one may. A pushback says
when the next one is sent, or that none is. Tokens are those of retries: none is sent while half or less is left. Nor is
one after max-requests has dropped one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from lbctl.balance.peer import Peer
from lbctl.balance.service_methods import HedgingPolicy
from lbctl.load.attempt import NO_MORE, Attempt, Held, pushback_ns
from lbctl.load.attempts import AlarmMaker, Attempts
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.load.throttle import Budget, Throttle
from lbctl.model import Code, Reply
from lbctl.rpc.alarm import Alarm
from lbctl.rpc.transport import Baskets

_OK = Reply(Code.OK)


class Race:
    """One call and its attempts. ``first`` is its first object, which says what they have in common.

    ``alive``: the attempts that have not ended. ``due_ns``: when the next one is sent, 0 for never. ``winner``: the
    attempt that the call is committed to, or was decided by.
    """

    __slots__ = ("alive", "due_ns", "first", "sent", "tried", "winner")

    def __init__(self, first: Batch) -> None:
        self.first = first
        self.alive: list[Attempt] = []
        self.sent = 0
        self.due_ns = 0
        self.winner: Attempt | None = None
        self.tried: tuple[Peer, ...] = ()


class Hedging(Attempts):
    """Keeps the races that are not decided, and starts their next attempts."""

    single = True

    def __init__(
        self,
        policy: HedgingPolicy,
        now: Callable[[], int],
        throttle: Throttle | None = None,
        budget: Budget | None = None,
        alarm: AlarmMaker = Alarm,
    ) -> None:
        super().__init__(now, throttle, budget, alarm)
        self._policy = policy
        self._alive = 0  # of all races

    def follow(self, call: Batch, peer: Peer | None) -> None:
        if call.attempt is None:
            race = Race(call)
            self._joins(race, call)
            self._next_at(race, call.begun_ns + self._policy.delay_ns)
        assert call.attempt is not None
        call.attempt.peer = peer

    def sift(self, lane: Lane, baskets: Baskets, now_ns: int) -> None:
        super().sift(lane, baskets, now_ns)
        if baskets.refused:
            refused = cast("list[tuple[Batch, Reply]]", baskets.refused)
            baskets.refused = [(call, reply) for call, reply in refused if not self._is_late(lane, call, reply, now_ns)]
        if baskets.committed:
            committed, baskets.committed = cast("list[Batch]", baskets.committed), []
            for call in committed:
                self._committed(call, now_ns)
        if baskets.early:
            early = cast("list[tuple[Batch, int]]", baskets.early)
            baskets.early = [(call, at) for call, at in early if not cast(Attempt, call.attempt).lost]

    def goes_on(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> bool:
        attempt, race = _of(call)
        self._leaves(attempt, race)
        if attempt.is_over:
            attempt.lost = True
            return True
        race.tried = (*race.tried, lane.peer)
        if race.winner is attempt or self._is_final(call, reply, now_ns):
            return False
        pushback = pushback_ns(reply.metadata)
        if not self._is_survivable(race, reply.code, refused=pushback == NO_MORE):
            return False
        if race.due_ns:
            self._next_at(race, now_ns + (pushback or 0))
            if not race.alive:
                self.held[race] = Held(lane, call, reply)
        elif not race.alive:
            self.counts.exhausted += race.sent >= self._policy.max_attempts
            return False
        attempt.lost = True
        self.counts.codes[reply.code] += 1
        return True

    def _is_survivable(self, race: Race, code: Code, *, refused: bool) -> bool:
        """Whether other attempts may follow or go on; that none may follow is noted in the race."""
        allowed = True
        if refused:
            self._fail()
            self.counts.refused += 1
            race.due_ns = 0
        elif code in self._policy.non_fatal:
            allowed = self._fail()
        if not allowed and race.due_ns:
            self.counts.throttled += 1
            race.due_ns = 0
        return code in self._policy.non_fatal

    def claims(self, call: Batch, now_ns: int) -> bool:
        """Decide the race, if it is open: the other attempts are cancelled."""
        attempt, race = _of(call)
        self._leaves(attempt, race)
        if attempt.is_over:
            attempt.lost = True
            return False
        self._commit(attempt, race, now_ns)
        return True

    def survives(self, call: Batch) -> bool:
        attempt, race = _of(call)
        if not attempt.is_over and race.alive == [attempt]:
            return False
        self._leaves(attempt, race)
        attempt.lost = True
        return True

    def under_way(self, calls: int) -> int:
        return self._alive

    def _committed(self, call: Batch, now_ns: int) -> None:
        """A reply has begun, or the call has become too large to be sent anew."""
        attempt, race = _of(call)
        if attempt in race.alive and race.winner is None:
            self._commit(attempt, race, now_ns)

    def _commit(self, attempt: Attempt, race: Race, now_ns: int) -> None:
        """The call is this attempt's: the others are cancelled, and none follows."""
        race.winner = attempt
        self.held.pop(race, None)
        for other in [other for other in race.alive if other is not attempt]:
            self._cancel(other, race, now_ns)

    def _good(self, lane: Lane, calls: list[Any], now_ns: int) -> list[Any]:
        """The calls that an OK decides; what comes after the decision is counted for its backend alone."""
        return super()._good(lane, [call for call in calls if self._decides(lane, call, _OK, now_ns)], now_ns)

    def _passes(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> bool:
        if self._is_late(lane, call, reply, now_ns) or super()._passes(lane, call, reply, now_ns):
            return True
        return not self.claims(call, now_ns)

    def _decides(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> bool:
        return not self._is_late(lane, call, reply, now_ns) and self.claims(call, now_ns)

    def _is_late(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> bool:
        """Whether its race was decided before; it is counted then."""
        attempt, race = _of(call)
        if not attempt.is_over:
            return False
        self._leaves(attempt, race)
        attempt.lost = True
        self._over(lane, call, reply, now_ns)
        return True

    def _joins(self, race: Race, call: Batch) -> None:
        """Another attempt runs."""
        call.attempt = Attempt(race.sent, call, race=race)
        race.alive.append(call.attempt)
        race.sent += 1
        self._alive += 1

    def _leaves(self, attempt: Attempt, race: Race) -> None:
        """It runs no longer."""
        if attempt in race.alive:
            race.alive.remove(attempt)
            self._alive -= 1

    def _next_at(self, race: Race, due_ns: int) -> None:
        race.due_ns = due_ns
        self._plan(race, due_ns)

    def _cancel(self, attempt: Attempt, race: Race, now_ns: int) -> None:
        """Nobody needs this attempt any more."""
        self._leaves(attempt, race)
        attempt.lost = True
        if self._abandon(attempt.peer, attempt.call, now_ns):  # or it has ended, and will be seen to be late
            self.counts.cancelled += 1

    def _fire(self, what: Race, due_ns: int, now_ns: int) -> None:
        """Send the next attempt, unless the race is over or it was planned anew."""
        if what.winner is not None or what.due_ns != due_ns:
            return
        what.due_ns = 0
        held = self.held.pop(what, None)
        first = what.first
        if first.deadline_ns <= now_ns or not self._may_send(first, now_ns):
            self._give_up(what, held, now_ns)
            return
        call = first.beside(now_ns)
        call.attempts = what.sent + 1
        call.tried = (*what.tried, *(other.peer for other in what.alive if other.peer is not None))
        self._joins(what, call)
        if what.sent < self._policy.max_attempts:
            self._next_at(what, due_ns + self._policy.delay_ns)
        self.counts.sent += 1
        self.engine.send_again(call, now_ns)

    def _may_send(self, first: Batch, now_ns: int) -> bool:
        if not self._kept_of(first) or self.engine.dropped_by(now_ns):
            return False
        if self.throttle is not None and not self.throttle.allows:
            self.counts.throttled += 1
            return False
        return self._pay(now_ns)

    def _give_up(self, race: Race, held: Held | None, now_ns: int) -> None:
        """Nothing follows: a call that has no attempt left ends as the last one did, or with its deadline."""
        if held is None:
            return
        if race.first.deadline_ns <= now_ns:
            self.held[race] = held  # for ``expire`` to end
        else:
            self._end(held, held.reply, now_ns)


def _of(call: Batch) -> tuple[Attempt, Race]:
    attempt = call.attempt
    assert attempt is not None
    assert attempt.race is not None
    return attempt, attempt.race
