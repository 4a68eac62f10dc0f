"""New calls: picked and sent, parked where no backend is ready, or turned away. When that is decides ``loops``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat

from lbctl.balance.balancer import Balancer
from lbctl.balance.keys import Keys
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call
from lbctl.clock import Clock
from lbctl.load.accounts import FOREVER_NS, Accounts
from lbctl.load.admission import Gate, trial
from lbctl.load.attempts import Attempts
from lbctl.load.batch import Batch, Laden
from lbctl.load.lane import Lane
from lbctl.load.requests.content import Varying
from lbctl.rpc.link import Flusher


class _Brought:
    """The hash key that the last content has brought."""

    key = b""

    def __next__(self) -> bytes:
        return self.key


class Issuing(ABC):
    """Issues calls, and knows where they may go; what becomes of them is the engine's.

    ``keys``, ``attempts`` that hedge, guards that try a backend out and contents that vary make each call an object of
    its own.
    """

    def __init__(
        self,
        balancer: Balancer,
        accounts: Accounts,
        flusher: Flusher,
        clock: Clock,
        *,
        timeout_ns: int,
        keys: Keys | None,
        attempts: Attempts | None,
        gate: Gate | None,
        varying: Varying | None,
    ) -> None:
        self.issued = 0
        self.completed = 0
        self._timeout_ns = timeout_ns
        self._keys: Keys | _Brought | None = keys
        self._attempts = attempts
        self._racing = attempts if attempts is not None and attempts.single else None
        self._gate = gate
        self.ran_out = False  # there is no content for another call
        self._contents = varying.contents if varying is not None else None
        self._made: Callable[[int, int, int], Batch] = Batch if varying is None else self._laden
        self._brought = _Brought()
        if varying is not None and varying.keyed:
            self._keys = self._brought
        self._timeouts_ns = [each.timeout_ns for each in varying.variants] if varying is not None else []
        self._balancer = balancer
        self._accounts = accounts
        self._wait = accounts.tally.wait
        self._flusher = flusher
        self._now = clock.now_ns
        self._lanes: dict[Peer, Lane] = {}  # where a picked peer's calls go
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

    @property
    def given_back(self) -> int:
        """Picks whose call was never written there."""
        return sum(peer.returned for peer in self._lanes)

    def start(self, count: int) -> None:
        """Issue calls that are queued now, all at once."""
        count = self.supplied(count)
        now = self._now()
        self.issued += count
        batch = Batch(now, now + self._timeout_ns if self._timeout_ns else FOREVER_NS, now)
        if self._gate is not None:
            count -= self._gate.turn_away(batch, count, self._under_way(self._gate, count))
        picker = self._balancer.picker
        each = self._keys is not None or self._racing is not None or self._contents is not None
        if each or self._balancer.trials:
            self._start_each(count, batch)
            return
        if picker is None:
            for _ in repeat(None, count):
                self._park(batch.alone(), now)
        else:
            call = Call(now)
            pick = picker.pick
            for _ in repeat(None, count):
                peer = pick(call)
                peer.picks += 1
                peer.target.send(batch)
        self._flusher.flush()
        batch.written_ns = now = self._now()
        written = count - batch.left
        if written:
            self._wait.record((now - batch.queued_ns) // 1000, written)

    def supplied(self, count: int) -> int:
        """How many of so many calls there is something to send for; where there are fewer, nothing follows."""
        if self._contents is None:
            return count
        there = self._contents.supply(count)
        self.ran_out = there < count
        return there

    def launch(self, planned: Sequence[int], most: int, now_ns: int) -> int:
        """Issue calls that were due at these times, and return when that was done.

        A call whose backend has ``most`` in flight is dropped.
        """
        deadline_ns = now_ns + self._timeout_ns if self._timeout_ns else FOREVER_NS
        picker = self._balancer.picker
        call = Call(now_ns)
        keys, racing, made = self._keys, self._racing, self._made
        batches = []
        for due_ns in self._admitted(planned, deadline_ns, now_ns):
            batch = made(due_ns, deadline_ns, now_ns)
            if keys is not None:
                batch.key = next(keys)
                call = Call(now_ns, batch.key)
            if self._tries(batch):
                batches.append(batch)
                continue
            if picker is None:
                if len(self._parked) < most:
                    batches.append(batch)
                    self._park_first(batch)
                else:
                    self._unsent(batch)
                continue
            peer = picker.pick(call)
            peer.picks += 1
            if peer.picks - peer.finished > most:
                self._drop(peer)
                self._unsent(batch)
                continue
            batches.append(batch)
            if racing is not None:
                racing.follow(batch, peer)
            peer.target.send(batch)
        self.issued += len(batches)
        self._flusher.flush()
        return self._accounts.all_written(batches)

    def _admitted(self, planned: Sequence[int], deadline_ns: int, now_ns: int) -> Sequence[int]:
        """Issue the calls that the gate turns away; the others are left."""
        if self._gate is None:
            return planned
        kept = self._gate.allowed(planned, deadline_ns, now_ns, self._under_way(self._gate))
        self.issued += len(planned) - len(kept)
        return kept

    def _under_way(self, gate: Gate, fresh: int = 0) -> int:
        """Attempts that are at a backend or wait for one, without so many calls that are just being issued."""
        calls = self.in_flight - fresh - gate.waiting
        return calls if self._attempts is None else self._attempts.under_way(calls)

    def _start_each(self, count: int, like: Batch) -> None:
        """Issue calls that have a batch each: each has a hash key of its own, or may have several attempts at once."""
        keys, racing, made = self._keys, self._racing, self._made
        picker = self._balancer.picker
        batches = []
        for _ in repeat(None, count):
            batch = made(like.queued_ns, like.deadline_ns, like.begun_ns)
            if keys is not None:
                batch.key = next(keys)
            batches.append(batch)
            if self._tries(batch):
                continue
            if picker is None:
                self._park_first(batch)
                continue
            peer = picker.pick(Call(batch.begun_ns, batch.key))
            peer.picks += 1
            if racing is not None:
                racing.follow(batch, peer)
            peer.target.send(batch)
        self._flusher.flush()
        self._accounts.all_written(batches)

    def _tries(self, batch: Batch) -> bool:
        """Send a new call to a peer that guards want to be tried, if there is one."""
        peer = trial(self._balancer.trials) if self._balancer.trials else None
        if peer is None:
            return False
        batch.trial_ns = batch.begun_ns
        if self._racing is not None:
            self._racing.follow(batch, peer)
        peer.target.send(batch)
        return True

    def _laden(self, queued_ns: int, deadline_ns: int, now_ns: int) -> Batch:
        """A new call with the next content, and the deadline of its method."""
        assert self._contents is not None
        content = next(self._contents)
        self._brought.key = content.key or b""
        if self._timeouts_ns:
            timeout_ns = self._timeouts_ns[content.method]
            deadline_ns = now_ns + timeout_ns if timeout_ns else FOREVER_NS
        return Laden(queued_ns, deadline_ns, now_ns, content)

    def _unsent(self, call: Batch) -> None:
        """A call is not issued; what it would have sent is for the next."""
        if self._contents is not None and call.content is not None:
            self._contents.put_back(call.content)

    def _drop(self, peer: Peer) -> None:
        peer.give_back()
        self._lanes[peer].dropped += 1

    def _park_first(self, batch: Batch) -> None:
        """A call was issued while no backend is ready."""
        if self._racing is not None:
            self._racing.follow(batch, None)
        self._park(batch.alone(), batch.begun_ns)

    @abstractmethod
    def _park(self, call: Batch, now_ns: int) -> None:
        """Let a call wait until a backend is ready."""
