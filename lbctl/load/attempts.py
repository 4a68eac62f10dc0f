"""Calls that take more than one attempt: what retrying and hedging have in common.

The engine shows the ends of attempts before it counts them (``sift``). What stays is the end of its call; what is taken
out was the end of an attempt, and its call goes on: it waits for its time here, or other attempts of it are on their
way. A call that waits is in flight, and ends when its deadline passes or the run is ended.

A client keeps what it has sent of a call, to send it again, up to 256 KiB of messages as grpc-go and C-core do. A call
that is larger, or has become it, is committed to the attempt that it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any, Final, Protocol, cast

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer
from lbctl.load.accounts import Accounts
from lbctl.load.attempt import Held, Repeats
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.load.throttle import Budget, Throttle
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.alarm import Alarm
from lbctl.rpc.transport import Baskets
from lbctl.wire.request import Request, fitting, framed
from lbctl.wire.state import DEADLINE

REPLAY_BUFFER: Final = 256 << 10  # octets of messages that are kept of one call
PREFIX: Final = 5  # octets in front of each message
WITHDRAWN: Final = Reply(Code.CANCELLED, Origin.CLIENT, "another attempt has decided the call")

AlarmMaker = Callable[[Callable[[], int], Callable[[], None]], Alarm]


class Courier(Protocol):
    """The engine, as far as attempts need it."""

    cancelling: bool
    issued: int
    completed: int
    refill: Callable[[], None]

    def send_again(self, call: Batch, now_ns: int) -> None: ...

    def unpark(self, call: Batch) -> bool: ...

    def dropped_by(self, now_ns: int) -> str: ...

    def end(self, lane: Lane | None, call: Batch, reply: Reply, now_ns: int) -> None: ...

    def flush(self) -> None: ...


class Attempts(ABC):
    """Keeps what waits for its time, in one heap with one timer."""

    single = False  # every call needs an object of its own from the start

    def __init__(
        self,
        now: Callable[[], int],
        throttle: Throttle | None = None,
        budget: Budget | None = None,
        alarm: AlarmMaker = Alarm,
    ) -> None:
        self.counts = Repeats()
        self.throttle = throttle
        self.budget = budget
        self.held: dict[object, Held] = {}  # by what waits for its time
        self.engine: Courier
        self._balancer: Balancer
        self._accounts: Accounts
        self._lanes: Mapping[Peer, Lane]
        self._now = now
        self._alarm = alarm(now, self.run)
        self._heap: list[tuple[int, int, Any]] = []
        self._entries = 0
        self._seen = 0  # calls that the budget knows of
        self._fitting: int | None = None  # messages that are kept of a call, once it is known what calls send

    # What the engine asks.

    def bind(self, engine: Courier, balancer: Balancer, accounts: Accounts, lanes: Mapping[Peer, Lane]) -> None:
        """Work for this engine."""
        self.engine = engine
        self._balancer = balancer
        self._accounts = accounts
        self._lanes = lanes

    def forget(self) -> None:
        """Count anew; what tokens and budgets are left stays."""
        self.counts = Repeats()
        self._seen = 0

    @abstractmethod
    def follow(self, call: Batch, peer: Peer | None) -> None:
        """A call is about to be sent there, or waits for any backend; only where ``single``."""

    def sift(self, lane: Lane, baskets: Baskets, now_ns: int) -> None:
        """Take out of the baskets what ends no call."""
        self._deposit(now_ns)
        if baskets.done:
            baskets.done = self._good(lane, baskets.done, now_ns)
        if baskets.replies:
            baskets.replies = [
                (call, reply)
                for call, reply in cast("list[tuple[Batch, Reply]]", baskets.replies)
                if not self._passes(lane, call, reply, now_ns)
            ]
        if baskets.early:  # when a reply began counts for calls that end with it
            ending = {*baskets.done, *(call for call, _ in baskets.replies)}
            baskets.early = [(call, at) for call, at in baskets.early if call in ending]

    @abstractmethod
    def goes_on(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> bool:
        """Whether the call outlives this end of an attempt; what follows is arranged for then."""

    @abstractmethod
    def claims(self, call: Batch, now_ns: int) -> bool:
        """Whether this end is the call's own, and not that of an attempt which nobody needs any more."""

    @abstractmethod
    def survives(self, call: Batch) -> bool:
        """Whether the call goes on without this attempt, which found no backend and is given up."""

    @abstractmethod
    def under_way(self, calls: int) -> int:
        """Attempts that are at a backend or wait for one, where so many calls are in flight."""

    def run(self) -> None:
        """Do what has come due."""
        now, completed = self._now(), self.engine.completed
        while self._heap and self._heap[0][0] <= now:
            due_ns, _, what = heappop(self._heap)
            self._fire(what, due_ns, now)
        if self._heap:
            self._alarm.set(self._heap[0][0])
        if self.engine.completed > completed:
            self.engine.refill()
        self.engine.flush()

    def expire(self, now_ns: int) -> None:
        """End the calls that wait here and whose deadline has passed."""
        late = [what for what, held in self.held.items() if held.call.deadline_ns <= now_ns]
        for what in late:
            held = self.held.pop(what)
            text = f"deadline exceeded before the next attempt, after {held.reply.code.name}"
            self._end(held, Reply(Code.DEADLINE_EXCEEDED, Origin.CLIENT, text), now_ns)

    def end_all(self, reply: Reply | None, now_ns: int) -> None:
        """End the calls that wait here, with this reply or else each with its last one; nothing is sent any more."""
        held, self.held = self.held, {}
        self._heap.clear()
        self._alarm.cancel()
        for each in held.values():
            self._end(each, reply or each.reply, now_ns)

    def rest(self) -> None:
        """Nothing is under way, and nothing will ring before the next call."""
        self._heap.clear()
        self._alarm.cancel()

    def close(self) -> None:
        """The run is over."""
        self.rest()
        self._alarm.end()

    # For those who know what to do.

    @abstractmethod
    def _fire(self, what: Any, due_ns: int, now_ns: int) -> None:  # noqa: ANN401  # theirs
        """Its time has come."""

    def _good(self, lane: Lane, calls: list[Any], now_ns: int) -> list[Any]:
        """Those of the OK calls whose end this is."""
        if self.throttle is not None:
            self.throttle.succeeded(sum(now_ns < call.deadline_ns for call in calls))
        return calls

    def _passes(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> bool:
        """Whether this end is one of an attempt alone; it is counted then."""
        if reply.is_ok and self.throttle is not None and now_ns < call.deadline_ns:
            self.throttle.succeeded()
        if reply.is_ok or not self.goes_on(lane, call, reply, now_ns):
            return False
        self._over(lane, call, reply, now_ns)
        return True

    def _over(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> None:
        """Count the end of an attempt that is not the end of its call."""
        lane.peer.finished += 1
        lane.passed += not reply.is_ok
        if self._balancer.watched and not self.engine.cancelling:
            self._balancer.ended(lane.peer, call.begun_ns, now_ns, reply, call.trial_ns)
        if reply.origin is Origin.HTTP:
            lane.suspect(reply)
        if not call.written_ns:
            heard = reply.origin is not Origin.CLIENT or reply.reason == DEADLINE.reason
            self._unwritten(lane.peer, call, now_ns, heard=heard)

    def _unwritten(self, peer: Peer, call: Batch, now_ns: int, *, heard: bool) -> None:
        """An attempt ended that was not, or not wholly, written: whether its backend heard of it decides."""
        if heard:
            self._accounts.written(call, now_ns)
        else:
            peer.returned += 1
            self._accounts.waited(call, now_ns)

    def _abandon(self, peer: Peer | None, call: Batch, now_ns: int) -> bool:
        """End an attempt that nobody needs any more; False where it has ended by itself already.

        Policies learn how long it has taken so far, guards nothing: that it was not the first speaks against nobody.
        """
        if peer is None:
            parked = self.engine.unpark(call)
            if parked:
                self._accounts.waited(call, now_ns)
            return parked
        for transport in self._lanes[peer].transports:
            on_the_wire = transport.abandon(call)
            if on_the_wire is not None:
                peer.finished += 1
                if not call.written_ns:
                    self._unwritten(peer, call, now_ns, heard=on_the_wire)
                if on_the_wire and not self.engine.cancelling:
                    self._balancer.withdrawn(peer, call.begun_ns, now_ns, WITHDRAWN)
                else:
                    peer.unannounced()
                if call.trial_ns:
                    self._balancer.untried(peer, call.trial_ns)
                return True
        return False

    def _is_final(self, call: Batch, reply: Reply, now_ns: int) -> bool:
        """Whether nothing can follow an attempt, whatever the policy: it is committed, or there is no time left."""
        if self.engine.cancelling or reply.headed or now_ns >= call.deadline_ns:
            return True
        return max(1, reply.sent) > self._kept_of(call)

    def _kept_of(self, call: Batch) -> int:
        """How many of a call's messages can be sent again."""
        content = call.content
        if content is None:
            return self._kept
        return fitting([len(message) + PREFIX for message in content.messages or (b"",)], REPLAY_BUFFER)

    @property
    def _kept(self) -> int:
        """How many messages of a call can be sent again."""
        if self._fitting is None:
            request = next((lane.request for lane in self._lanes.values() if lane.request is not None), None)
            if request is None:
                return REPLAY_BUFFER  # an octet each
            self._fitting = fitting(_sizes(request), REPLAY_BUFFER)
        return self._fitting

    def _plan(self, what: object, due_ns: int) -> None:
        self._entries += 1
        heappush(self._heap, (due_ns, self._entries, what))
        if self._heap[0][0] == due_ns:
            self._alarm.set(due_ns)

    def _pay(self, now_ns: int) -> bool:
        """Take one further attempt out of the budget; False, and counted, where it has none left."""
        self._deposit(now_ns)
        if self.budget is None or self.budget.withdraw(now_ns):
            return True
        self.counts.throttled += 1
        return False

    def _fail(self) -> bool:
        """Take a token for a failure; whether further attempts are still allowed."""
        if self.throttle is None:
            return True
        self.throttle.failed()
        return self.throttle.allows

    def _deposit(self, now_ns: int) -> None:
        if self.budget is not None:
            self.budget.deposit(self.engine.issued - self._seen, now_ns)
            self._seen = self.engine.issued

    def _end(self, held: Held, reply: Reply, now_ns: int) -> None:
        if self.claims(held.call, now_ns):
            self.engine.end(held.lane, held.call, reply, now_ns)


def _sizes(request: Request) -> list[int]:
    """The octets of the messages that a call sends in turn."""
    messages = (request.message,) if request.stream is None else request.stream.messages or (b"",)
    return [len(framed(message, compress=request.gzip)) for message in messages]
