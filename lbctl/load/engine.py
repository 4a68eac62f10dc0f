"""Calls on their way: picked, sent, finished, sent again, given up. When they are issued is decided by ``loops``.

This is the hot path, and speed shapes it: subchannels hand over batches of finished calls, all calls a closed loop
starts in one turn share one ``Batch``, and what a batch has in common is computed once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Final, cast

from lbctl.balance.balancer import Balancer
from lbctl.balance.keys import Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call
from lbctl.clock import Clock
from lbctl.load.accounts import CANCELLED, FOREVER_NS, Accounts
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.load.plan import Judge
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.link import Flusher
from lbctl.rpc.transport import Baskets
from lbctl.wire.state import DEADLINE, UNSENT_DEADLINE, Wait

NO_BACKEND: Final = Reply(Code.UNAVAILABLE, Origin.CLIENT, "no backend was ready before the deadline")
GIVEN_UP: Final = Reply(Code.UNAVAILABLE, Origin.CLIENT, "no backend was ready when the run was given up")


def _nothing() -> None:
    """Nobody wants to know."""


class Engine:
    """Sends calls and accounts for every one of them: issued = completed + in flight, always.

    ``refill`` is called whenever calls have ended or may be issued again. With ``retry`` a call that a backend did not
    process is sent once more. With ``judge``, which needs transports that keep messages, it has the last word on every
    reply.
    """

    def __init__(
        self,
        balancer: Balancer,
        accounts: Accounts,
        flusher: Flusher,
        clock: Clock,
        *,
        timeout_ns: int,
        retry: bool,
        judge: Judge | None = None,
        keys: Keys | None = None,
    ) -> None:
        self.issued = 0
        self.completed = 0
        self.retries: Counter[str] = Counter()  # by why
        self.given_back = 0  # picks whose call was never written there
        self.refill: Callable[[], None] = _nothing
        self.starving_since_ns = 0  # when calls began to wait because no backend is ready, 0 while one is
        self._timeout_ns = timeout_ns
        self._retry = retry
        self._judge = judge
        self._keys = keys
        self._balancer = balancer
        self._accounts = accounts
        self._wait = accounts.tally.wait
        self._flusher = flusher
        flusher.on_written = self._stamp  # type: ignore[assignment]  # the calls are the batches we sent
        self._now = clock.now_ns
        self._lanes: dict[Peer, Lane] = {}  # where a picked peer's calls go
        self._holders: set[Lane] = set()  # also lanes of earlier memberships, whose calls may not have ended yet
        self._cancelling = False
        self._parked: deque[Batch] = deque()  # calls that no backend is ready for

    @property
    def in_flight(self) -> int:
        """Calls issued and not completed, wherever they wait."""
        return self.issued - self.completed

    @property
    def backends(self) -> int:
        """How many backends calls have gone to, or may go to."""
        return len(self._lanes)

    @property
    def parked(self) -> int:
        """Calls that wait because no backend is ready."""
        return len(self._parked)

    def attach(self, lane: Lane) -> None:
        """Know a backend, before the balancer may pick it."""
        self._holders = {holder for holder in self._holders if not holder.subchannel.is_over}
        self._holders.add(lane)
        self._lanes[lane.peer] = lane

    def start(self, count: int) -> None:
        """Issue calls that are queued now, all at once."""
        now = self._now()
        self.issued += count
        batch = Batch(now, now + self._timeout_ns if self._timeout_ns else FOREVER_NS, now)
        picker = self._balancer.picker
        if self._keys is not None:
            self._start_keyed(count, batch)
            return
        left = count
        while left and self._tries(batch):
            left -= 1
        if picker is None:
            for _ in repeat(None, left):
                self._park(batch.alone(), now)
        else:
            call = Call(now)
            pick = picker.pick
            for _ in repeat(None, left):
                peer = pick(call)
                peer.picks += 1
                peer.target.send(batch)
        self._flusher.flush()
        batch.written_ns = now = self._now()
        written = count - batch.left
        if written:
            self._wait.record((now - batch.queued_ns) // 1000, written)

    def launch(self, planned: Sequence[int], most: int, now_ns: int) -> int:
        """Issue calls that were due at these times, and return when that was done.

        A call whose backend has ``most`` in flight is dropped.
        """
        deadline_ns = now_ns + self._timeout_ns if self._timeout_ns else FOREVER_NS
        picker = self._balancer.picker
        call = Call(now_ns)
        keys = self._keys
        batches = []
        for due_ns in planned:
            batch = Batch(due_ns, deadline_ns, now_ns)
            if keys is not None:
                batch.key = next(keys)
                call = Call(now_ns, batch.key)
            if self._tries(batch):
                batches.append(batch)
                continue
            if picker is None:
                if len(self._parked) < most:
                    batches.append(batch)
                    self._park(batch.alone(), now_ns)
                continue
            peer = picker.pick(call)
            peer.picks += 1
            if peer.picks - peer.finished > most:
                self._drop(peer)
                continue
            batches.append(batch)
            peer.target.send(batch)
        self.issued += len(batches)
        self._flusher.flush()
        return self._written(batches)

    def _start_keyed(self, count: int, like: Batch) -> None:
        """Issue calls that have a hash key each, and so a batch each."""
        keys = cast(Keys, self._keys)
        picker = self._balancer.picker
        batches = []
        for _ in repeat(None, count):
            batch = like.alone()
            batch.key = next(keys)
            batches.append(batch)
            if self._tries(batch):
                continue
            if picker is None:
                self._park(batch.alone(), batch.begun_ns)
                continue
            peer = picker.pick(Call(batch.begun_ns, batch.key))
            peer.picks += 1
            peer.target.send(batch)
        self._flusher.flush()
        self._written(batches)

    def _written(self, batches: list[Batch]) -> int:
        """Batches of one call each were written just now, but for those that wait; returns when that was."""
        now = self._now()
        for batch in batches:
            if not batch.left:
                batch.written_ns = now
                self._wait.record((now - batch.queued_ns) // 1000)
        return now

    def _tries(self, batch: Batch) -> bool:
        """Send one call to a peer that guards want to be tried, if there is one."""
        trials = self._balancer.trials
        while trials:
            peer = trials.popleft()
            if peer.reachable:
                peer.picks += 1
                peer.belated += 1  # not the policy's pick
                peer.expected += 1.0
                peer.target.send(batch)
                return True
        return False

    def _drop(self, peer: Peer) -> None:
        peer.finished += 1
        self.given_back += 1
        self._lanes[peer].dropped += 1

    def absorb(self, lane: Lane, session: Baskets, now_ns: int) -> None:
        """Take what a connection finished, record it, and have as many new calls started."""
        if self._judge is not None:
            judge = self._judge
            session.replies = [(call, judge(reply)) for call, reply in session.replies]
        if session.early or session.gaps or session.resets:
            self._absorb_details(lane, session, now_ns)
        done = session.done
        if done:
            session.done = []
            lane.peer.finished += len(done)
            if self._balancer.watched:
                self._balancer.succeeded(lane.peer, done, now_ns)  # type: ignore[arg-type]
            self.completed += len(done)
            self._accounts.done(lane, done, now_ns)  # type: ignore[arg-type]  # the calls are the batches we sent
        if session.replies or session.refused or session.unsent:
            self._absorb_rest(lane, session, now_ns)
        self.refill()

    def _absorb_details(self, lane: Lane, session: Baskets, now_ns: int) -> None:
        """When replies began, the pauses in streams, and resets, unless they are those of a run's end."""
        early, session.early = session.early, []
        gaps, session.gaps = session.gaps, []
        replies = cast("list[tuple[Batch, Reply]]", session.replies)
        self._accounts.began(cast("list[tuple[Batch, int]]", early), replies, now_ns)
        self._accounts.tally.streams.record_gaps(gaps)
        resets, session.resets = session.resets, 0
        if resets and not self._cancelling:
            lane.reset(resets, now_ns)

    def _stamp(self, calls: list[Batch]) -> None:
        """Calls that waited for a connection, a slot or a window were written just now."""
        now = self._now()
        for call in calls:
            if not call.written_ns:
                self._accounts.written(call, now)

    def _absorb_rest(self, lane: Lane, session: Baskets, now_ns: int) -> None:
        """Failed calls, streams, refused calls, and those that could not be sent."""
        replies, session.replies = session.replies, []
        refused, session.refused = session.refused, []
        unsent, session.unsent = session.unsent, []
        for call, reply in replies:
            assert isinstance(call, Batch)
            lane.peer.finished += 1
            if self._balancer.watched and not self._cancelling:
                self._balancer.ended(lane.peer, call.begun_ns, now_ns, reply)
            self.completed += 1
            self._accounts.ended(lane, call, reply, now_ns)
            self.given_back += not call.written_ns
            if reply.origin is Origin.HTTP:
                lane.suspect(reply)
        for call, reply in refused:
            assert isinstance(call, Batch)
            self._refused(lane, call, reply, now_ns)
        for call in unsent:
            assert isinstance(call, Batch)
            self._give_back(lane, call, now_ns)

    def _refused(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> None:
        """The backend did not process the call: it may be sent once more."""
        lane.peer.finished += 1
        if self._balancer.watched:
            self._balancer.ended(lane.peer, call.begun_ns, now_ns, reply)
        if not call.written_ns:  # it heard of it, although not all of it may have gone
            self._accounts.written(call, now_ns)
        if now_ns >= call.deadline_ns:
            self._fail(lane, call, DEADLINE, now_ns)
        elif call.attempts > 1 or not self._retry:
            self._fail(lane, call, reply, now_ns)
        else:
            self.retries["goaway" if "GOAWAY" in reply.reason else "refused"] += 1
            again = call.again(now_ns)
            again.attempts += 1
            self._send_again(again, now_ns, elsewhere_than=lane)

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
        self._accounts.waited(call, now_ns)
        if self._cancelling:
            self._fail(lane, call, CANCELLED, now_ns)
        elif now_ns >= call.deadline_ns:
            self._fail(lane, call, UNSENT_DEADLINE, now_ns)
        else:
            self._send_again(call.again(now_ns), now_ns)

    def _fail(self, lane: Lane | None, call: Batch, reply: Reply, now_ns: int) -> None:
        self.completed += 1
        self._accounts.failed(lane, call, reply, now_ns)

    def _send_again(self, call: Batch, now_ns: int, elsewhere_than: Lane | None = None) -> None:
        """Pick anew, and once more where that is the backend which has just refused the call."""
        picker = self._balancer.picker
        if picker is None:
            return self._park(call, now_ns)
        if call.deadline_ns < FOREVER_NS:
            call.timeout_ns = max(1, call.deadline_ns - now_ns)
        pick = Call(now_ns, call.key, call.tried)
        peer = picker.pick(pick)
        peer.picks += 1
        if elsewhere_than is not None and peer is elsewhere_than.peer and len(self._lanes) > 1:
            peer.finished += 1
            self.given_back += 1
            peer = picker.pick(pick)
            peer.picks += 1
        return self._lanes[peer].subchannel.enqueue(call)

    def _park(self, call: Batch, now_ns: int) -> None:
        self.starving_since_ns = self.starving_since_ns or now_ns
        call.waited_for = Wait.CONNECTION
        self._parked.append(call)

    def repicked(self) -> None:
        """The picker changed: send what was waiting for one."""
        if not (self._parked or self.starving_since_ns):
            return
        now = self._now()
        if self._balancer.picker is None:
            while self._parked and self._tries(self._parked[0]):
                self._parked.popleft()
            self._flusher.flush()
            return
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
            self._fail_without_backend(late, NO_BACKEND, now_ns)
        self.refill()

    def give_up(self) -> None:
        """Fail what waits for a backend; calls on connections go on."""
        parked, self._parked = self._parked, deque()
        self._fail_without_backend(parked, GIVEN_UP, self._now())
        self.refill()

    def _fail_without_backend(self, calls: Iterable[Batch], reply: Reply, now_ns: int) -> None:
        for call in calls:
            self._accounts.waited(call, now_ns)
            self._fail(None, call, reply, now_ns)

    def cancel(self) -> None:
        """End everything in flight as cancelled."""
        self._cancelling = True
        for lane in list(self._holders):
            lane.subchannel.cancel(CANCELLED)
        parked, self._parked = self._parked, deque()
        self._fail_without_backend(parked, CANCELLED, self._now())
        self.refill()
