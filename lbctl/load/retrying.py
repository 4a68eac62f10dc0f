"""Retries as gRPC has them (gRFC A6): a call that failed is sent again after a while, through the policy's next pick.

The checks are those of grpc-go, in its order; the first that applies decides.

    the run is being ended, the deadline has passed          no
    response headers came: the call is committed             no
    it has sent more than is kept to be sent again           no
    grpc-retry-pushback-ms is negative, no number or twice   no, and it costs a token
    the code is not retryable                                no
    half of the tokens or less are left after this failure   no
    that was the last attempt                                no
    otherwise   after the pushback, if there is one, or after min(initial * multiplier^n, max) * 0.8..1.2
    max-requests drops it then                               no

A call that a server did not process is sent again before all this, once and without delay: that is the engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from lbctl.balance.peer import Peer
from lbctl.balance.service_methods import RetryPolicy
from lbctl.load.attempt import NO_MORE, Attempt, Held, pushback_ns
from lbctl.load.attempts import AlarmMaker, Attempts
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.load.throttle import Budget, Throttle
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.alarm import Alarm


def backoff_ns(policy: RetryPolicy, backoffs: int, rng: Random) -> int:
    """How long to wait where so many delays have grown before."""
    try:
        grown = policy.initial_backoff_ns * policy.multiplier**backoffs
    except OverflowError:
        grown = policy.max_backoff_ns
    return int(min(grown, policy.max_backoff_ns) * rng.uniform(0.8, 1.2))


class Retrying(Attempts):
    """Keeps the calls that wait for their next attempt."""

    def __init__(
        self,
        policy: RetryPolicy,
        rng: Random,
        now: Callable[[], int],
        throttle: Throttle | None = None,
        budget: Budget | None = None,
        alarm: AlarmMaker = Alarm,
    ) -> None:
        super().__init__(now, throttle, budget, alarm)
        self._policy = policy
        self._rng = rng

    def follow(self, call: Batch, peer: Peer | None) -> None:
        """Calls may share an object until one of them fails."""

    def goes_on(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> bool:
        if self._is_final(call, reply, now_ns):
            return False
        earlier = call.attempt
        number, backoffs = (earlier.number, earlier.backoffs) if earlier is not None else (0, 0)
        pushback = pushback_ns(reply.metadata)
        if not self._may_follow(reply, number, pushback, now_ns):
            return False
        if pushback is None:
            delay_ns, backoffs = backoff_ns(self._policy, backoffs, self._rng), backoffs + 1
        else:
            delay_ns, backoffs = pushback, 0
        following = call.again(now_ns)
        following.attempts = call.attempts + 1
        following.tried = (*call.tried, lane.peer)
        following.attempt = Attempt(number + 1, following, backoffs)
        self.held[following] = Held(lane, following, reply)
        self._plan(following, now_ns + delay_ns)
        return True

    def claims(self, call: Batch, now_ns: int) -> bool:
        return True  # its attempts follow each other

    def survives(self, call: Batch) -> bool:
        return False

    def under_way(self, calls: int) -> int:
        return calls - len(self.held)

    def _may_follow(self, reply: Reply, number: int, pushback: int | None, now_ns: int) -> bool:
        """Whether policy, server, tokens and budget allow another attempt after this one."""
        if pushback == NO_MORE:
            self._fail()
            self.counts.refused += 1
            return False
        if reply.code not in self._policy.codes:
            return False
        if not self._fail():
            self.counts.throttled += 1
            return False
        if number + 1 >= self._policy.max_attempts:
            self.counts.exhausted += 1
            return False
        return self._pay(now_ns)

    def _fire(self, what: Batch, due_ns: int, now_ns: int) -> None:
        held = self.held.get(what)
        if held is None or what.deadline_ns <= now_ns:
            return  # for ``expire`` to end
        breaker = self.engine.dropped_by(now_ns)
        del self.held[what]
        if breaker:
            text = f"the next attempt was dropped by breaker {breaker}, after {held.reply.code.name}"
            self.engine.end(None, what, Reply(Code.UNAVAILABLE, Origin.CLIENT, text), now_ns)
            return
        what.begun_ns = now_ns
        self.counts.sent += 1
        self.counts.codes[held.reply.code] += 1
        self.engine.send_again(what, now_ns)
