"""What backends tell of their load beside the calls: reports on a stream of their own, and answers to probes.

Each backend that is asked gets one more connection for that, so that nothing of it is counted as load. It is made when
it is needed first, and closed when the backend leaves.

    the policy wants     a backend gets
    reports out of band  one OpenRcaService/StreamCoreMetrics for as long as it is listed; a server that does not offer
                         it is told of once and left alone, any other end is tried again after a growing delay
    probes               one grpc.health.v1 Check; while that is on its way, and until 10 ms after it was sent, further
                         probes are answered by the answer before, if that came within the last 100 ms; answers say
                         until when that is so, and a policy that goes by it need not ask
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from random import Random
from typing import Any, Final

from lbctl.balance.balancer import Balancer
from lbctl.balance.load_report import LOAD_REPORT, LoadReport, decoded, from_metadata
from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Policy
from lbctl.balance.policies.weighted_round_robin import reporting_period_s
from lbctl.balance.probes import PROBE_EVERY_NS, ProbeReply
from lbctl.clock import Clock
from lbctl.load.plan import Task
from lbctl.model import Code, Instance, Origin, Reply
from lbctl.rpc.access import Access
from lbctl.rpc.backoff import Backoff
from lbctl.rpc.caller import Caller
from lbctl.rpc.health import CHECK_PATH
from lbctl.rpc.obstacle import told
from lbctl.rpc.orca import stream_core_metrics
from lbctl.wire.limits import Limits

PROBE_LIMIT_S: Final = 1.0
STILL_TRUE_NS: Final = 100_000_000
_ANSWERED: Final = frozenset({Code.OK, Code.UNIMPLEMENTED})  # a server without health checks has answered all the same

Note = Callable[[str, str | None, str, str], None]  # kind, backend, text, level
AccessFor = Callable[[Instance], Access]


class _Line:
    """The side connection to one backend, and what goes on over it."""

    def __init__(self, access: Access, instance: Instance) -> None:
        self.metadata = access.metadata
        self.caller: Caller = access.caller(instance.endpoint)
        self.probing = False
        self.next_probe_ns = 0
        self.answer: ProbeReply | None = None
        self.answered_ns = 0
        self.heard = False  # a report came since the stream was begun
        self._entered = asyncio.create_task(self.caller.__aenter__())
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let this go on until it is done, or the line is closed."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """End everything that goes on here."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._entered
        await self.caller.__aexit__(None, None, None)


class LoadReports:
    """Asks, and hands what comes to the balancer's picker, as long as the policy is the one it was asked for."""

    def __init__(self, balancer: Balancer, access_for: AccessFor, clock: Clock, rng: Random, note: Note) -> None:
        self._balancer = balancer
        self._access_for = access_for
        self._now = clock.now_ns
        self._rng = rng
        self._note = note
        self._lines: dict[Peer, _Line] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._over = False

    def joined(self, peer: Peer) -> None:
        """The registry lists a backend."""
        policy = self._balancer.policy
        period_s = reporting_period_s(policy)
        if period_s is not None:
            line = self._line(peer)
            line.start(self._follow(peer, line, policy, period_s))

    def left(self, peer: Peer) -> None:
        """The registry lists it no longer."""
        line = self._lines.pop(peer, None)
        if line is not None:
            closing = asyncio.create_task(line.aclose())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def probe(self, peer: Peer) -> None:
        """Ask a backend how it is; nothing is waited for."""
        if self._over:
            return
        line, now, policy = self._line(peer), self._now(), self._balancer.policy
        if not line.probing and now >= line.next_probe_ns:
            line.probing, line.next_probe_ns = True, now + PROBE_EVERY_NS
            line.start(self._probe(peer, line, policy))
        elif line.answer is not None and now - line.answered_ns <= STILL_TRUE_NS:
            self._hand_over(peer, policy, line.answer)

    async def aclose(self) -> None:
        """Ask nobody anything any more."""
        self._over = True
        for peer in [*self._lines]:
            self.left(peer)
        await asyncio.gather(*self._closing)

    def _line(self, peer: Peer) -> _Line:
        line = self._lines.get(peer)
        if line is None:
            line = self._lines[peer] = _Line(self._access_for(peer.instance), peer.instance)
        return line

    async def _follow(self, peer: Peer, line: _Line, policy: Policy, period_s: float) -> None:
        """Keep a stream of reports until the server turns out not to offer any."""
        backoff = Backoff(self._rng)

        def take(data: bytes) -> None:
            line.heard = True
            report = decoded(data)
            if report is not None:
                self._hand_over(peer, policy, report)

        said = ""
        while True:
            line.heard = False
            reply = await stream_core_metrics(line.caller, period_s, take, line.metadata)
            by_server = reply.origin in (Origin.SERVER, Origin.HTTP)
            if by_server and reply.code is Code.UNIMPLEMENTED:
                self._note("policy", peer.instance.address, "does not report load out of band", "bad")
                return
            if by_server and told(reply) != said:  # that a connection is lost others tell
                said = told(reply)
                self._note("policy", peer.instance.address, f"load reports out of band ended: {said}", "bad")
            if line.heard:
                backoff.reset()
            await asyncio.sleep(backoff.next())

    async def _probe(self, peer: Peer, line: _Line, policy: Policy) -> None:
        try:
            if await line.caller.connected(timeout_s=PROBE_LIMIT_S) is not None:
                return
            began_ns = self._now()
            result = await line.caller.unary(CHECK_PATH, b"", timeout_s=PROBE_LIMIT_S, metadata=line.metadata)
            took_ns = self._now() - began_ns
        finally:
            line.probing = False
        if result.reply.code in _ANSWERED and result.reply.origin is Origin.SERVER:
            answer = answer_of(result.reply, peer.in_flight, took_ns)
            line.answer, line.answered_ns = answer._replace(until_ns=line.next_probe_ns), self._now()
            self._hand_over(peer, policy, line.answer)

    def _hand_over(self, peer: Peer, policy: Policy, report: LoadReport | ProbeReply) -> None:
        if self._balancer.policy is policy:  # another one would not know what to make of it
            self._balancer.reported(peer, report, self._now())


def answer_of(reply: Reply, in_flight: int, took_ns: int) -> ProbeReply:
    """What a probe's reply says: the server's figures where its trailers have them, else our own."""
    report = from_metadata(reply.metadata)
    named = report.named_metrics if report is not None else {}
    rif, latency_ms = named.get("rif", -1.0), named.get("latency_ms", -1.0)
    return ProbeReply(
        int(rif) if 0 <= rif < 1e9 else in_flight,
        int(latency_ms * 1e6) if 0 <= latency_ms < 1e9 else took_ns,
        stated=0 <= latency_ms < 1e9,
    )


def wants_trailers(policy: Policy) -> bool:
    """Whether the policy goes by reports in the trailers of its calls."""
    return LOAD_REPORT in policy.wants and reporting_period_s(policy) is None


def beside(task: Task) -> AccessFor:
    """How the backends of a run are asked: with what its calls need, over one connection of their own."""

    def access(instance: Instance) -> Access:
        request, options = task.request_for(instance), task.connection
        return Access(
            task.secure_for(instance),
            request.authority,
            request.metadata,
            request.sensitive,
            replace(options, connections=1, limits=Limits(load_reports=True)),
        )

    return access
