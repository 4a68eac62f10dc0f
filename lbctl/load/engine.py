"""The closed loop: every finished call starts the next one, through the picker, in the same turn of the event loop.

This is the hot path, and speed shapes it: subchannels hand over batches of finished calls, all calls started in one
turn share one ``Batch``, and what a batch has in common is computed once. Latency of a call is end - queued, service
time end - written, wait written - queued; the end is the moment the read that brought the reply began.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call
from lbctl.clock import Clock
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.load.plan import Plan
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.link import Flusher
from lbctl.rpc.transport import Baskets
from lbctl.stats.histogram import bucket_of
from lbctl.stats.tally import Tally
from lbctl.wire.state import UNSENT_DEADLINE

_FOREVER_NS: Final = 1 << 62
_ANY: Final = Call()
LATE: Final = Reply(Code.DEADLINE_EXCEEDED, Origin.CLIENT, "deadline exceeded")
NO_BACKEND: Final = Reply(Code.UNAVAILABLE, Origin.CLIENT, "no backend was ready before the deadline")
GIVEN_UP: Final = Reply(Code.UNAVAILABLE, Origin.CLIENT, "no backend was ready when the run was given up")
CANCELLED: Final = Reply(Code.CANCELLED, Origin.CLIENT, "cancelled at the end of the run")


class Engine:
    """Issues calls and accounts for every one of them: issued = completed + in flight, always.

    ``on_idle`` is called whenever nothing is in flight and nothing may be issued any more.
    """

    def __init__(self, plan: Plan, balancer: Balancer, tally: Tally, flusher: Flusher, clock: Clock) -> None:
        self.concurrency = plan.concurrency
        self.issued = 0
        self.completed = 0
        self.retries = 0
        self.given_back = 0  # picks whose call was never written there
        self.late = 0  # replies after the deadline
        self.closed = True  # nothing may be issued: not begun yet, or over
        self.paused = False
        self.on_idle: Callable[[], None] = lambda: None
        self._limit = plan.requests
        self._timeout_ns = plan.timeout_ns
        self._balancer = balancer
        self._tally = tally
        self._flusher = flusher
        flusher.on_written = self._stamp  # type: ignore[assignment]  # the calls are the batches we sent
        self._now = clock.now_ns
        self._lanes: dict[Peer, Lane] = {}  # where a picked peer's calls go
        self._holders: set[Lane] = set()  # also lanes of earlier memberships, whose calls may not have ended yet
        self._cancelling = False
        self.starving_since_ns = 0  # when calls began to wait because no backend is ready, 0 while one is
        self._parked: deque[Batch] = deque()  # calls that no backend is ready for

    @property
    def in_flight(self) -> int:
        """Calls issued and not completed, wherever they wait."""
        return self.issued - self.completed

    def attach(self, lane: Lane) -> None:
        """Know a backend, before the balancer may pick it."""
        self._holders = {holder for holder in self._holders if not holder.subchannel.is_over}
        self._holders.add(lane)
        self._lanes[lane.peer] = lane

    def begin(self) -> None:
        """Allow calls and issue the first ones."""
        self.closed = False
        self.refill()

    def close(self) -> None:
        """Issue nothing more; what is in flight goes on."""
        self.closed = True
        self._idle()

    def refill(self) -> None:
        """Issue calls until as many are in flight as the concurrency allows."""
        if self.closed or self.paused:
            return self._idle()
        count = self.concurrency - self.issued + self.completed
        if self._limit is not None and count > self._limit - self.issued:
            count = self._limit - self.issued
        if count > 0:
            now = self._now()
            self.issued += count
            self._start(Batch(now, now + self._timeout_ns if self._timeout_ns else _FOREVER_NS), count)
        return self._idle()

    def _start(self, batch: Batch, count: int) -> None:
        picker = self._balancer.picker
        if picker is None:
            self.starving_since_ns = self.starving_since_ns or batch.queued_ns
            self._parked.extend(batch.alone() for _ in repeat(None, count))
            return
        pick = picker.pick
        for _ in repeat(None, count):
            peer = pick(_ANY)
            peer.picks += 1
            peer.target.send(batch)
        self._flusher.flush()
        batch.written_ns = now = self._now()
        written = count - batch.left
        if written:
            self._tally.wait.record((now - batch.queued_ns) // 1000, written)

    def absorb(self, lane: Lane, session: Baskets, now_ns: int) -> None:
        """Take what a connection finished, record it, and start as many new calls."""
        done = session.done
        if done:
            session.done = []
            lane.peer.finished += len(done)
            self.completed += len(done)
            self._record(lane, done, now_ns)  # type: ignore[arg-type]  # the calls are the batches we sent
        if session.replies or session.refused or session.unsent:
            self._absorb_rest(lane, session, now_ns)
        self.refill()

    def _record(self, lane: Lane, done: list[Batch], now_ns: int) -> None:
        """Count OK replies of one backend; calls of one batch share their times and mostly come in a row."""
        mine, total, service = lane.row.latency.counts, self._tally.latency.counts, self._tally.service_time
        ok = sum_us = max_us = service_sum = service_max = 0
        min_us = service_min = _FOREVER_NS
        done.append(_END)
        last, run = done[0], 0
        for batch in done:
            if batch is last:
                run += 1
                continue
            us = (now_ns - last.queued_ns) // 1000
            service_us = (now_ns - last.written_ns) // 1000
            if now_ns >= last.deadline_ns:
                self._record_late(lane, run)
            else:
                bucket = bucket_of(us)
                mine[bucket] += run
                total[bucket] += run
                service.counts[bucket_of(service_us)] += run
                ok += run
                sum_us += us * run
                service_sum += service_us * run
                min_us = min(min_us, us)
                max_us = max(max_us, us)
                service_min = min(service_min, service_us)
                service_max = max(service_max, service_us)
            last, run = batch, 1
        if ok:
            lane.row.fold(ok, sum_us, min_us, max_us)
            self._tally.fold(ok, sum_us, min_us, max_us)
            service.fold(ok, service_sum, service_min, service_max)

    def _record_late(self, lane: Lane, count: int) -> None:
        self.late += count
        for _ in repeat(None, count):
            self._tally.failed(lane.row, LATE)

    def _stamp(self, calls: list[Batch]) -> None:
        """Calls that waited for a connection, a slot or a window were written just now."""
        now = self._now()
        for call in calls:
            call.written_ns = now
            self._tally.wait.record((now - call.queued_ns) // 1000)

    def _absorb_rest(self, lane: Lane, session: Baskets, now_ns: int) -> None:
        """Failed calls, refused ones, and those that could not be sent."""
        replies, session.replies = session.replies, []
        refused, session.refused = session.refused, []
        unsent, session.unsent = session.unsent, []
        for call, reply in replies:
            assert isinstance(call, Batch)
            lane.peer.finished += 1
            self.given_back += not call.written_ns
            # What the peer says of a call may be read after its deadline, and before our own timer has looked.
            late = now_ns >= call.deadline_ns and reply.origin is not Origin.CLIENT
            self.late += late and reply.origin is not Origin.TRANSPORT
            self._fail(lane, LATE if late else reply)
        for call, reply in refused:
            assert isinstance(call, Batch)
            self._refused(lane, call, reply, now_ns)
        for call in unsent:
            assert isinstance(call, Batch)
            self._give_back(lane, call, now_ns)

    def _refused(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> None:
        """The backend did not process the call: it may be sent once more."""
        lane.peer.finished += 1
        if now_ns >= call.deadline_ns:
            self._fail(lane, LATE)
        elif call.attempts > 1:
            self._fail(lane, reply)
        else:
            self.retries += 1
            again = call.alone()
            again.attempts += 1
            self._send_again(again, now_ns)

    def take_back(self, lane: Lane, calls: Iterable[Batch], now_ns: int) -> None:
        """Calls that waited for a connection of this backend, in vain."""
        for call in calls:
            self._give_back(lane, call, now_ns)
        self.refill()
        self._flusher.flush()

    def _give_back(self, lane: Lane, call: Batch, now_ns: int) -> None:
        """A call that a backend was picked for and that was never written: pick again."""
        lane.peer.finished += 1
        self.given_back += 1
        if self._cancelling:
            self._fail(lane, CANCELLED)
        elif now_ns >= call.deadline_ns:
            self._fail(lane, UNSENT_DEADLINE)
        else:
            self._send_again(call.alone(), now_ns)

    def _fail(self, lane: Lane, reply: Reply) -> None:
        self.completed += 1
        if reply is CANCELLED:
            self._tally.cancel(lane.row)
        else:
            self._tally.failed(lane.row, reply)

    def _send_again(self, call: Batch, now_ns: int) -> None:
        picker = self._balancer.picker
        if picker is None:
            self.starving_since_ns = self.starving_since_ns or now_ns
            self._parked.append(call)
            return
        if call.deadline_ns < _FOREVER_NS:
            call.timeout_ns = max(1, call.deadline_ns - now_ns)
        peer = picker.pick(_ANY)
        peer.picks += 1
        self._lanes[peer].subchannel.enqueue(call)

    def repicked(self) -> None:
        """The picker changed: send what was waiting for one."""
        if not (self._parked or self.starving_since_ns) or self._balancer.picker is None:
            return
        now = self._now()
        self.starving_since_ns = 0
        parked, self._parked = self._parked, deque()
        for call in parked:
            self._send_again(call, now)
        self._flusher.flush()

    def expire(self, now_ns: int) -> None:
        """End the calls whose deadline has passed, on connections and while waiting for one."""
        for lane in list(self._holders):
            lane.subchannel.expire(now_ns)
        late = [call for call in self._parked if call.deadline_ns <= now_ns]
        if late:
            self._parked = deque(call for call in self._parked if call.deadline_ns > now_ns)
            self._fail_without_backend(len(late), NO_BACKEND)
        self.refill()

    def give_up(self) -> None:
        """Issue nothing more and fail what waits for a backend; calls on connections go on."""
        self.closed = True
        waiting = len(self._parked)
        self._parked.clear()
        self._fail_without_backend(waiting, GIVEN_UP)
        self._idle()

    def _fail_without_backend(self, count: int, reply: Reply) -> None:
        self.completed += count
        for _ in repeat(None, count):
            self._tally.failed(None, reply)

    def cancel(self) -> None:
        """End everything in flight as cancelled."""
        self.closed = self._cancelling = True
        for lane in list(self._holders):
            lane.subchannel.cancel(CANCELLED)
        self.completed += len(self._parked)
        self._tally.cancel(None, len(self._parked))
        self._parked.clear()
        self._idle()

    def _idle(self) -> None:
        over = self.closed or (self._limit is not None and self.issued >= self._limit)
        if over and self.completed == self.issued:
            self.on_idle()


_END: Final = Batch(0, 0)  # closes the last run of a batch of replies
