"""An engine with everything around it but a clock and a network that run by themselves, and what must always hold."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.breakers import MaxRequests, MaxRequestsOptions
from lbctl.balance.policies.table import POLICIES
from lbctl.load.accounts import Accounts
from lbctl.load.admission import Gate
from lbctl.load.attempts import REPLAY_BUFFER
from lbctl.load.backends import Backends
from lbctl.load.batch import Batch
from lbctl.load.engine import Engine
from lbctl.load.engines import ENGINES, Dialling
from lbctl.load.loops import ClosedLoop, OpenLoop, loop_for
from lbctl.load.pacing.schedule import steady
from lbctl.load.plan import Plan, Repeating
from lbctl.load.repeating import attempts_of
from lbctl.model import Endpoint, Event, Instance
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.subchannel import Subchannel
from lbctl.rpc.transport import Connectivity
from lbctl.stats.tally import Tally
from lbctl.wire.limits import Limits
from lbctl.wire.request import Request
from tests.fakes import FakeAlarm, FakeClock, MemoryHost, MemoryNetwork, ServerEnd, turns
from tests.wire import frames as h2

TINY = 10  # octets of a header list that no request fits in
NOTHING_AGAIN = Repeating()


def instance(number: int, weight: int | None = 1, *, host: int | None = None, status: str | None = None) -> Instance:
    """The instance of key ``/services/echo/NUMBER``, at the memory host of the same number unless told otherwise."""
    endpoint = Endpoint("127.0.0.1", number if host is None else host)
    return Instance(f"/services/echo/{number}", "echo", "seed", endpoint, weight, status=status)


def plan(
    concurrency: int = 1, requests: int | None = None, *, timeout_s: float = 5.0, duration_s: float | None = None
) -> Plan:
    return Plan(concurrency, requests, duration_s, timeout_s)


def paced(
    rps: float,
    requests: int | None = None,
    *,
    most: int = 10_000,
    concurrency: int = 0,
    timeout_s: float = 5.0,
    duration_s: float | None = None,
) -> Plan:
    """An open loop."""
    return Plan(concurrency, requests, duration_s, timeout_s, steady(rps), most)


def request(timeout_s: float = 5.0) -> Request:
    return Request("/pkg.Svc/Method", b"x", "echo", round(timeout_s * 1e9))


class FakeRing:
    """The one alarm of further attempts, which rings when it is told to."""

    def __init__(self) -> None:
        self.due_ns: int | None = None
        self.ended = False
        self._ring: Callable[[], None] = lambda: None

    def made(self, _now: Callable[[], int], ring: Callable[[], None]) -> Any:  # noqa: ANN401  # an Alarm in shape
        self._ring = ring
        return self

    def set(self, at_ns: int) -> None:
        self.due_ns = at_ns if self.due_ns is None else min(self.due_ns, at_ns)

    def cancel(self) -> None:
        self.due_ns = None

    def end(self) -> None:
        self.due_ns, self.ended = None, True

    def ring(self, now_ns: int) -> None:
        """Ring until nothing is due any more."""
        while self.due_ns is not None and self.due_ns <= now_ns:
            self.due_ns = None
            self._ring()


class Rig:
    """``hosts(n)`` answers nothing by itself: tests say ``rig.end(n).answer()``."""

    def __init__(
        self,
        load: Plan,
        policy: str = "round_robin",
        *,
        seed: int = 1,
        retry: bool = True,
        repeating: Repeating = NOTHING_AGAIN,
        most_requests: int | None = None,
        wanted: Request | None = None,
    ) -> None:
        self.plan = load
        self.clock = FakeClock()
        self.network = MemoryNetwork()
        self.flusher = Flusher()
        self.tally = Tally()
        self.balancer = Balancer(POLICIES[policy], Random(seed))
        self.accounts = Accounts(self.tally, self.clock)
        self.most_attempts = repeating.hedging.max_attempts if repeating.hedging is not None else 1
        self.most_repeated = repeating.retry.max_attempts if repeating.retry is not None else self.most_attempts
        self.ring = FakeRing()
        self.attempts = attempts_of(repeating, Random(seed), self.clock, self.ring.made)
        self.most_requests = most_requests
        self.gate: Gate | None = None
        if most_requests is not None:
            self.gate = Gate(self.balancer, [MaxRequests(MaxRequestsOptions(most_requests))])
        self.engine = Engine(
            self.balancer,
            self.accounts,
            self.flusher,
            self.clock,
            timeout_ns=load.timeout_ns,
            retry=retry,
            attempts=self.attempts,
            gate=self.gate,
        )
        self.alarm = FakeAlarm(self.clock)
        self.loop = loop_for(load, self.engine, self.clock, self.alarm.made)
        self.events: list[Event] = []
        self.idle = 0
        self.subchannels: list[Subchannel] = []
        sent = wanted or request(load.timeout_s)
        dialling = Dialling(
            lambda _: sent,
            self.flusher,
            self.clock,
            Random(seed),
            options=ConnectionOptions(limits=Limits(replay=REPLAY_BUFFER if repeating.hedging is not None else 0)),
            network=self.network.as_network(),
        )
        self.backends = Backends(
            self.balancer, self.engine, self.tally, ENGINES["wire"], dialling, self._note, lambda: 0.0
        )
        self.balancer.on_change = self.engine.repicked
        self.loop.on_idle = self._idle

    def _note(self, kind: str, backend: str | None, text: str, level: str = "info") -> None:
        self.events.append(Event(0.0, kind, backend, text, level))

    def _idle(self) -> None:
        self.idle += 1

    # ---- acting ------------------------------------------------------------------------------------------------------

    def host(self, number: int) -> MemoryHost:
        return self.network.host(number)

    def end(self, number: int) -> ServerEnd:
        """The newest connection to that host."""
        return self.host(number).end

    async def apply(self, *instances: Instance) -> None:
        """Follow a snapshot and let its connections be made."""
        for each in instances:
            self.network.host(each.endpoint.port)
        self.backends.apply(instances)
        for lane in self.backends.lanes.values():
            subchannel = lane.subchannel
            assert isinstance(subchannel, Subchannel)
            if subchannel not in self.subchannels:
                self.subchannels.append(subchannel)
        await turns()
        self.check()

    async def begin(self, *numbers: int) -> None:
        """Connect to these backends, all of weight 1, and start the load."""
        await self.apply(*(instance(number) for number in numbers))
        self.loop.begin()
        self.check()

    async def do(self, act: Callable[[], object]) -> None:
        """Act, let what follows happen, and check everything before and after that."""
        self._ring()
        act()
        self.check()
        await turns()
        self._ring()
        self.check()

    def _ring(self) -> None:
        """The alarms of further attempts and of an open loop ring as long as something is due."""
        for _ in range(10_000):
            self.ring.ring(self.clock.now_ns())
            before = self.engine.issued
            if not self.alarm.ring():
                return
            assert self.engine.issued - before <= 128  # never more than that in one turn
        raise AssertionError("it never stops")

    async def pass_(self, seconds: float) -> None:
        """Let time pass in one go; an open loop sends what has become due."""
        self.clock.advance(seconds)
        await self.do(lambda: None)

    def cancel(self) -> None:
        """End the load now, as a run does."""
        self.loop.close()
        self.engine.cancel()

    async def expire(self, seconds: float) -> None:
        """Let time pass, then look for deadlines as a run does."""
        self.clock.advance(seconds)
        await self.do(lambda: self.engine.expire(self.clock.now_ns()))

    async def finish(self) -> None:
        """Let the load end: everybody is reachable and answers everything."""
        if self.loop.paused:
            self.loop.resume()
        for _ in range(200):
            self.clock.advance(0.01)
            self._ring()
            for host in self.network.hosts.values():
                host.mode, host.settings, host.greeting = "accept", {}, b""
                host.give_up()
                for end in host.ends:
                    end.transport.read_on()
                    end.say(h2.settings({h2.MAX_CONCURRENT_STREAMS: 1000, h2.MAX_HEADER_LIST_SIZE: 1 << 20}))
                    end.answer(1000)
                    end.say(*(h2.trailers(stream, 13) for stream in end.begun))
            self.network.sleep.wake()
            self.loop.refill()
            await turns()
            self.check()
            if not self.engine.in_flight and (self.loop.closed or self.engine.issued == self.plan.requests):
                return
        raise AssertionError(f"{self.engine.in_flight} calls never ended")

    async def aclose(self) -> None:
        await self.backends.aclose()
        await turns()

    # ---- what must hold ----------------------------------------------------------------------------------------------

    def held(self, subchannel: Subchannel) -> list[Batch]:
        """Every call that is at this backend, one entry a call."""
        calls: list[object] = [call for call, _ in subchannel._parked]
        for link in subchannel._links:
            session = link.session
            calls += [*session.open.values(), *(call for call, _ in session.waiting)]
            baskets = (session.done, session.replies, session.refused, session.unsent, session.committed)
            if session.peer.max_header_list == TINY:  # calls end at once, and start others: one round a turn
                calls += [call for call, _ in session.replies]
            else:
                assert not any(baskets), f"calls left in the baskets of {subchannel}: {baskets}"
        assert all(isinstance(call, Batch) for call in calls)
        return [call for call in calls if isinstance(call, Batch)]

    def check(self) -> None:
        """The books agree with each other, and with where the calls really are."""
        self._check_in_flight()
        self._check_counts()
        self._check_wire()
        self._check_progress()

    def _check_in_flight(self) -> None:
        engine = self.engine
        assert not self.flusher.dirty
        assert not self.flusher.started
        held = {subchannel: self.held(subchannel) for subchannel in self.subchannels}
        under_way = [*(call for calls in held.values() for call in calls), *engine._parked]
        turned_away = [call for call, _ in self.gate._pending] if self.gate is not None else []
        anywhere = [*under_way, *turned_away]
        races = {call.attempt.race for call in anywhere if call.attempt is not None} - {None}
        alone = sum(call.attempt is None or call.attempt.race is None for call in anywhere)
        waiting = len(self.attempts.held) if self.attempts is not None else 0
        assert engine.in_flight == alone + len(races) + waiting
        assert not any(call.attempt.is_over for call in under_way if call.attempt is not None)
        if self.attempts is not None:
            hedges = sum(call.attempt is not None and call.attempt.race is not None for call in turned_away)
            assert self.attempts.under_way(engine.in_flight - len(turned_away)) == len(under_way) + hedges
        assert self.most_requests is None or len(under_way) <= self.most_requests
        assert all(call.attempt.number < self.most_repeated for call in under_way if call.attempt is not None)
        for lane in self.backends.lanes.values():
            mine = [s for s in self.subchannels if s.endpoint == lane.instance.endpoint]
            others = [
                other
                for other in self.backends.lanes.values()
                if other is not lane and other.instance.endpoint == lane.instance.endpoint
            ]
            if not others:  # two keys may share an address
                assert lane.peer.in_flight == sum(len(held[subchannel]) for subchannel in mine)
        unwritten = sum(not call.written_ns for calls in held.values() for call in calls)
        attempts = sum(lane.peer.sent for lane in self.backends.lanes.values())
        assert attempts - unwritten == self.tally.wait.total

    def _check_counts(self) -> None:
        engine, tally = self.engine, self.tally
        rows = [lane.row for lane in self.backends.lanes.values()]
        assert engine.completed == tally.ok + tally.errors + tally.cancelled
        assert tally.ok == tally.latency.total == tally.service_time.total == sum(row.ok for row in rows)
        assert tally.ok == sum(row.latency.total for row in rows)
        assert tally.errors == sum(group.count for group in tally.error_groups())
        assert sum(tally.codes.values()) == tally.ok + tally.errors
        for histogram in (tally.latency, tally.service_time, tally.wait):
            assert histogram.total == sum(histogram.counts)
        assert tally.service_time.total_us <= tally.latency.total_us
        assert self.plan.requests is None or engine.issued <= self.plan.requests
        assert all(row.latency.total == row.ok for row in rows)

    def _check_wire(self) -> None:
        ends = [end for host in self.network.hosts.values() for end in host.ends]
        written, seen = self.tally.wait.total, sum(end.heads for end in ends)
        # Of what a peer that does not read was sent, nobody knows how much it has.
        links = [link for subchannel in self.subchannels for link in subchannel._links]
        held = [call for link in links for call in link.session.open.values() if not call.written_ns]  # type: ignore[attr-defined]
        # A call that is hedged is cancelled with all its attempts.
        assert written <= seen <= written + len(held) + self.tally.cancelled * self.most_attempts
        for end in ends:
            assert not end.ledger.violations

    def _check_progress(self) -> None:
        """Nothing that could go on stands still."""
        engine = self.engine
        assert not engine._parked or self.balancer.picker is None
        for subchannel in self.subchannels:
            assert not subchannel._parked or subchannel.state is Connectivity.READY, subchannel
        loop = self.loop
        if isinstance(loop, OpenLoop):
            self._check_schedule(loop)
        if self.plan.schedule is None and not loop.closed and not loop.paused and engine.issued != self.plan.requests:
            assert isinstance(loop, ClosedLoop)
            assert loop.refills_due or engine.in_flight >= loop.concurrency

    def _check_schedule(self, loop: OpenLoop) -> None:
        """Every call that came due was sent or dropped, and what comes next is waited for."""
        assert loop._planned == self.engine.issued + loop.dropped == loop._delays.total
        assert loop.dropped >= sum(lane.dropped for lane in self.backends.lanes.values())
        goes_on = not (loop.closed or loop.paused) and loop._planned != self.plan.requests
        assert (self.alarm.due_ns is not None) == goes_on
        assert self.alarm.due_ns is None or self.alarm.due_ns >= self.clock.now_ns()
