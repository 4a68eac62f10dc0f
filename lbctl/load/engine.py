"""Calls on their way: picked, sent, finished, sent again, given up. When they are issued is decided by ``loops``.

This is the hot path, and speed shapes it: subchannels hand over batches of finished calls, all calls a closed loop
starts in one turn share one ``Batch``, and what a batch has in common is computed once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.base import moves_on
from lbctl.balance.keys import Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call
from lbctl.balance.selection import Mode
from lbctl.clock import Clock
from lbctl.load.accounts import CANCELLED, FOREVER_NS, Accounts
from lbctl.load.admission import Gate, trial
from lbctl.load.attempts import Attempts
from lbctl.load.batch import Batch
from lbctl.load.issuing import Issuing
from lbctl.load.lane import Lane
from lbctl.load.plan import Judge
from lbctl.load.repicking import pick_again
from lbctl.load.requests.content import Varying
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.link import Flusher
from lbctl.rpc.transport import Baskets
from lbctl.wire.state import DEADLINE, UNSENT_DEADLINE, Wait

NO_BACKEND: Final = Reply(Code.UNAVAILABLE, Origin.CLIENT, "no backend was ready before the deadline")
ALL_OUT: Final = Reply(
    Code.UNAVAILABLE, Origin.CLIENT, "every backend that can be reached was out of the rotation until the deadline"
)
GIVEN_UP: Final = Reply(Code.UNAVAILABLE, Origin.CLIENT, "no backend could be used when the run was given up")


def _nothing() -> None:
    """Nobody wants to know."""


class Engine(Issuing):
    """Sends calls and accounts for every one of them: issued = completed + in flight, always.

    ``refill`` is called whenever calls have ended or may be issued again. With ``retry`` a call that a backend did not
    process is sent once more; ``attempts`` has further attempts made by a policy. With ``judge``, which needs
    transports that keep messages, it has the last word on every reply. ``gate`` turns calls away before any pick.
    With ``varying`` every call has a content of its own.
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
        attempts: Attempts | None = None,
        gate: Gate | None = None,
        varying: Varying | None = None,
    ) -> None:
        super().__init__(
            balancer,
            accounts,
            flusher,
            clock,
            timeout_ns=timeout_ns,
            keys=keys,
            attempts=attempts,
            gate=gate,
            varying=varying,
        )
        self.retries: Counter[str] = Counter()  # by why
        self.refill: Callable[[], None] = _nothing
        self.starving_since_ns = 0  # when calls began to wait because no backend is ready, 0 while one is
        self._retry = retry
        self._judge = judge
        flusher.on_written = accounts.stamp  # type: ignore[assignment]  # the calls are the batches we sent
        self._holders: set[Lane] = set()  # also lanes of earlier memberships, whose calls may not have ended yet
        self.cancelling = False
        if attempts is not None:
            attempts.bind(self, balancer, accounts, self._lanes)
        if gate is not None:
            gate.bind(self._turned_away)

    def forget(self) -> None:
        """Count anew; nothing may be in flight."""
        self.issued = self.completed = 0
        self.retries.clear()
        self.cancelling = False
        self._accounts.forget()
        if self._attempts is not None:
            self._attempts.forget()
        if self._gate is not None:
            self._gate.turned_away.clear()
        self._balancer.forget()

    def attach(self, lane: Lane) -> None:
        """Know a backend, before the balancer may pick it."""
        self._holders = {holder for holder in self._holders if not holder.subchannel.is_over}
        self._holders.add(lane)
        self._lanes[lane.peer] = lane

    def absorb(self, lane: Lane, session: Baskets, now_ns: int) -> None:
        """Take what a connection finished, record it, and have as many new calls started."""
        if self._judge is not None:
            judge = self._judge
            session.replies = [(call, judge(call, reply)) for call, reply in session.replies]  # type: ignore[arg-type]
        if self._attempts is not None:
            self._attempts.sift(lane, session, now_ns)
        if session.early or session.gaps or session.resets:
            resets = self._accounts.details(session, now_ns)
            if resets and not self.cancelling:  # those of a run's end say nothing
                lane.reset(resets, now_ns)
        done = session.done
        if done:
            session.done = []
            self._done(lane, done, now_ns)  # type: ignore[arg-type]  # the calls are the batches we sent
        if session.replies or session.refused or session.unsent:
            self._absorb_rest(lane, session, now_ns)
        self.refill()

    def _done(self, lane: Lane, done: list[Batch], now_ns: int) -> None:
        """Calls were answered OK."""
        lane.peer.finished += len(done)
        if self._balancer.watched:
            self._balancer.succeeded(lane.peer, done, now_ns)
        if self._gate is not None:
            self._gate.done(done, now_ns)
        self.completed += len(done)
        self._accounts.done(lane, done, now_ns)

    def _absorb_rest(self, lane: Lane, session: Baskets, now_ns: int) -> None:
        """Failed calls, streams, refused calls, and those that could not be sent."""
        replies, session.replies = session.replies, []
        refused, session.refused = session.refused, []
        unsent, session.unsent = session.unsent, []
        for call, reply in replies:
            assert isinstance(call, Batch)
            lane.peer.finished += 1
            if self._balancer.watched and not self.cancelling:
                self._balancer.ended(lane.peer, call.begun_ns, now_ns, reply, call.trial_ns)
            if self._gate is not None:
                self._gate.ended(DEADLINE if now_ns >= call.deadline_ns else reply, 1, now_ns)
            self.completed += 1
            self._accounts.ended(lane, call, reply, now_ns)
            lane.peer.returned += not call.written_ns
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
            self._balancer.ended(lane.peer, call.begun_ns, now_ns, reply, call.trial_ns)
        if call.trial_ns and moves_on(reply):
            self._balancer.untried(lane.peer, call.trial_ns)
        if not call.written_ns:  # it heard of it, although not all of it may have gone
            self._accounts.written(call, now_ns)
        if call.attempt is not None and call.attempt.is_over:
            return
        if now_ns >= call.deadline_ns:
            self._fail(lane, call, DEADLINE, now_ns)
        elif call.attempts > 1 or not self._retry:
            if self._attempts is None or not self._attempts.goes_on(lane, call, reply, now_ns):
                self._fail(lane, call, reply, now_ns)
        else:
            self.retries["goaway" if "GOAWAY" in reply.reason else "refused"] += 1
            again = call.again(now_ns)
            again.attempts += 1
            again.tried = (*call.tried, lane.peer)
            self.send_again(again, now_ns)

    def take_back(self, lane: Lane, calls: Iterable[Batch], now_ns: int) -> None:
        """Calls that waited for a connection of this backend, in vain."""
        for call in calls:
            self._give_back(lane, call, now_ns)
        self.refill()
        self._flusher.flush()

    def _give_back(self, lane: Lane, call: Batch, now_ns: int) -> None:
        """A call that a backend was picked for and that was never written: pick again."""
        lane.peer.give_back()
        self._accounts.waited(call, now_ns)
        if call.trial_ns and not self.cancelling:
            self._balancer.untried(lane.peer, call.trial_ns)
        if call.attempt is not None and call.attempt.is_over:
            return
        if self.cancelling:
            self._fail(lane, call, CANCELLED, now_ns)
        elif now_ns >= call.deadline_ns:
            self._fail(lane, call, UNSENT_DEADLINE, now_ns)
        else:
            self.send_again(call.again(now_ns), now_ns)

    def _fail(self, lane: Lane | None, call: Batch, reply: Reply, now_ns: int) -> None:
        if self._attempts is None or call.attempt is None or self._attempts.claims(call, now_ns):
            self.end(lane, call, reply, now_ns)

    def end(self, lane: Lane | None, call: Batch, reply: Reply, now_ns: int) -> None:
        """Count the end of a call that was not OK."""
        if self._gate is not None:
            self._gate.ended(reply, 1, now_ns)
        self.completed += 1
        self._accounts.failed(lane, call, reply, now_ns)

    def send_again(self, call: Batch, now_ns: int) -> None:
        """Pick for another attempt and send it, or wait for a backend."""
        picker = self._balancer.picker
        if picker is None:
            return self._park(call, now_ns)
        peer = pick_again(picker, Call(now_ns, call.key, call.tried), self._balancer)
        return self._send_to(peer, call, now_ns)

    def _send_to(self, peer: Peer, call: Batch, now_ns: int) -> None:
        if call.deadline_ns < FOREVER_NS:
            call.timeout_ns = max(1, call.deadline_ns - now_ns)
        lane = self._lanes[peer]
        if call.attempt is not None:
            call.attempt.peer = peer
        lane.subchannel.enqueue(call, lane.request_of(call))

    def _park(self, call: Batch, now_ns: int) -> None:
        if self._gate is not None and self._gate.refuses(call):
            return
        self.starving_since_ns = self.starving_since_ns or now_ns
        call.waited_for = Wait.ROTATION if self._balancer.mode is Mode.WAIT else Wait.CONNECTION
        if call.attempt is not None:
            call.attempt.peer = None
        self._parked.append(call)

    def unpark(self, call: Batch) -> bool:
        """Forget an attempt that waits for any backend to be ready; whether it does."""
        before = len(self._parked)
        self._parked = deque(parked for parked in self._parked if parked is not call)
        return len(self._parked) < before

    def dropped_by(self, now_ns: int) -> str:
        """The breaker that drops one more attempt of a call, or nothing."""
        return "" if self._gate is None else self._gate.dropped_by(self._under_way(self._gate), now_ns)

    def flush(self) -> None:
        """Write what was sent again."""
        self._flusher.flush()

    def repicked(self) -> None:
        """The picker changed: send what was waiting for one."""
        if not (self._parked or self.starving_since_ns):
            return
        now = self._now()
        if self._balancer.picker is None:
            self._try_parked(now)
            return
        self.starving_since_ns = 0
        parked, self._parked = self._parked, deque()
        for call in parked:
            self.send_again(call, now)
        self._flusher.flush()

    def _try_parked(self, now_ns: int) -> None:
        """Nobody is in the rotation: what waits may try somebody out, or has waited in vain."""
        while self._parked and (peer := trial(self._balancer.trials)) is not None:
            call = self._parked.popleft()
            call.trial_ns = now_ns
            self._send_to(peer, call, now_ns)
        if self._gate is not None:
            self._parked = deque(call for call in self._parked if not self._gate.refuses(call))
        self._flusher.flush()

    def _turned_away(self, calls: Sequence[tuple[Batch, Reply]]) -> None:
        """End calls that the gate has turned away."""
        now = self._now()
        for call, reply in calls:
            self._lose_without_backend((call,), reply, now)
        self.refill()

    def expire(self, now_ns: int) -> None:
        """End the calls whose deadline has passed, on connections and while waiting for one."""
        for lane in list(self._holders):
            lane.subchannel.expire(now_ns)
        late = [call for call in self._parked if call.deadline_ns <= now_ns]
        if late:
            self._parked = deque(call for call in self._parked if call.deadline_ns > now_ns)
            all_out = self._balancer.mode is Mode.WAIT
            self._fail_without_backend(late, ALL_OUT if all_out else NO_BACKEND, now_ns)
        if self._attempts is not None:
            self._attempts.expire(now_ns)
        self.refill()

    def give_up(self) -> None:
        """Fail what waits for a backend; calls on connections go on."""
        parked, self._parked = self._parked, deque()
        self._lose_without_backend(parked, GIVEN_UP, self._now())
        if self._attempts is not None:
            self._attempts.end_all(None, self._now())
        self.refill()

    def _fail_without_backend(self, calls: Iterable[Batch], reply: Reply, now_ns: int) -> None:
        for call in calls:
            self._accounts.waited(call, now_ns)
            self._fail(None, call, reply, now_ns)

    def _lose_without_backend(self, attempts: Iterable[Batch], reply: Reply, now_ns: int) -> None:
        """Give up attempts; the calls that have another one on its way go on."""
        for call in attempts:
            if call.attempt is not None and self._attempts is not None and self._attempts.survives(call):
                self._accounts.waited(call, now_ns)
            else:
                self._fail_without_backend((call,), reply, now_ns)

    def cancel(self) -> None:
        """End everything in flight as cancelled."""
        self.cancelling = True
        for lane in list(self._holders):
            lane.subchannel.cancel(CANCELLED)
        parked, self._parked = self._parked, deque()
        self._fail_without_backend(parked, CANCELLED, self._now())
        if self._gate is not None:
            self._gate.release()
        if self._attempts is not None:
            self._attempts.end_all(CANCELLED, self._now())
        self.refill()
