"""Whatever backends, registry and user do, in whatever order: every call is somewhere, and ends exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lbctl.balance.policies.table import POLICIES
from lbctl.balance.service_config import Throttling
from lbctl.balance.service_methods import HedgingPolicy, RetryPolicy
from lbctl.load.plan import Repeating
from lbctl.load.throttle import Allowance
from lbctl.model import Code, Identity
from lbctl.wire.request import Stream
from tests.fakes import EVERYTHING, ServerEnd, turns
from tests.load.rig import TINY, Rig, instance, paced, plan, request
from tests.wire import frames as h2

NUMBERS = st.integers(1, 3)
CODES = frozenset({Code.UNAVAILABLE, Code.NOT_FOUND, Code.INTERNAL})
RETRY = RetryPolicy(3, 20_000_000, 200_000_000, 2.0, CODES)
THROTTLING = Throttling(6000, 300)
AGAIN = {
    "nothing": Repeating(),
    "retry": Repeating(retry=RETRY),
    "throttled": Repeating(retry=RETRY, throttling=THROTTLING, budget=Allowance(0.3, 0.0, 1.0)),
    "hedging": Repeating(hedging=HedgingPolicy(3, 10_000_000, CODES)),
    "at once": Repeating(hedging=HedgingPolicy(2, 0, CODES), throttling=THROTTLING),
}
KINDS = {
    "unary": None,
    "server stream": Stream(client=False, server=True, messages=(b"x",)),
    "client stream": Stream(client=True, server=False, messages=(b"x", b"yz"), count=3),
}
ANSWERS: dict[str, Callable[[int], bytes]] = {
    "ok": h2.reply,
    "error": lambda stream: h2.trailers_only(stream, 5),
    "refused": lambda stream: h2.rst(stream, h2.REFUSED_STREAM),
    "reset": lambda stream: h2.rst(stream, h2.INTERNAL_ERROR),
    "cut off": lambda stream: h2.rst(stream, h2.CANCEL),
    "half": h2.okh,
    "pushed back": lambda stream: h2.trailers_only(stream, 14, ("grpc-retry-pushback-ms", "40")),
    "unwanted": lambda stream: h2.trailers_only(stream, 14, ("grpc-retry-pushback-ms", "-1")),
}


class AnyLoad(RuleBasedStateMachine):
    """Three hosts, an engine, and everything that can happen to them; the rig checks after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.problems: list[dict[str, Any]] = []
        self.runner.get_loop().set_exception_handler(lambda _, context: self.problems.append(context))
        self.rig: Rig

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self.runner.run(work)

    def do(self, act: Callable[[], object]) -> None:
        self.rig.clock.advance(0.000_050)
        self.run(self.rig.do(act))

    def ends(self, number: int) -> list[ServerEnd]:
        return self.rig.host(number).open

    @initialize(
        concurrency=st.integers(1, 8),
        requests=st.none() | st.integers(0, 60),
        policy=st.sampled_from(sorted(POLICIES)),
        timed=st.booleans(),
        rps=st.none() | st.sampled_from([0.5, 300.0, 20_000.0]),
        most=st.integers(1, 20),
        again=st.sampled_from(sorted(AGAIN)),
        bound=st.none() | st.integers(1, 6),
        kind=st.sampled_from(sorted(KINDS)),
    )
    def begin(
        self,
        concurrency: int,
        requests: int | None,
        policy: str,
        timed: bool,
        rps: float | None,
        most: int,
        again: str,
        bound: int | None,
        kind: str,
    ) -> None:
        timeout_s = 5.0 if timed else 0.0
        load = plan(concurrency, requests, timeout_s=timeout_s)
        if rps is not None:
            load = paced(rps, requests, most=most, timeout_s=timeout_s, concurrency=concurrency % 4 * 5)
        wanted = replace(request(timeout_s), stream=KINDS[kind])
        self.run(self._begin(Rig(load, policy, repeating=AGAIN[again], most_requests=bound, wanted=wanted)))

    async def _begin(self, rig: Rig) -> None:
        self.rig = rig
        await rig.begin(1, 2)

    @rule(number=NUMBERS, count=st.integers(1, 4), how=st.sampled_from(sorted(ANSWERS)))
    def answer(self, number: int, count: int, how: str) -> None:
        for end in self.ends(number):
            self.do(lambda end=end: end.answer(count, ANSWERS[how]))  # type: ignore[misc]

    @rule(number=NUMBERS, last=st.none() | st.sampled_from([0, 1, 5, EVERYTHING]), reply_first=st.booleans())
    def goaway(self, number: int, last: int | None, reply_first: bool) -> None:
        for end in self.ends(number)[-1:]:
            if reply_first:
                self.do(lambda end=end: end.answer(1))  # type: ignore[misc]
            self.do(lambda end=end: end.goaway(last))  # type: ignore[misc]

    @rule(number=NUMBERS, reset=st.booleans())
    def drop(self, number: int, reset: bool) -> None:
        for end in self.ends(number):
            self.do(lambda end=end: end.drop(ConnectionResetError() if reset else None))  # type: ignore[misc]

    @rule(number=NUMBERS)
    def break_the_protocol(self, number: int) -> None:
        for end in self.ends(number)[-1:]:
            self.do(lambda end=end: end.say(h2.frame(h2.PUSH_PROMISE, 4, 1, b"\0\0\0\2")))  # type: ignore[misc]

    @rule(number=NUMBERS, streams=st.sampled_from([0, 1, 2, 1000]))
    def limit(self, number: int, streams: int) -> None:
        self.rig.host(number).settings = {h2.MAX_CONCURRENT_STREAMS: streams}
        for end in self.ends(number)[-1:]:
            self.do(lambda end=end: end.say(h2.settings({h2.MAX_CONCURRENT_STREAMS: streams})))  # type: ignore[misc]

    @rule(number=NUMBERS, size=st.sampled_from([TINY, 1 << 20]))
    def limit_headers(self, number: int, size: int) -> None:
        for end in self.ends(number)[-1:]:
            self.do(lambda end=end: end.say(h2.settings({h2.MAX_HEADER_LIST_SIZE: size})))  # type: ignore[misc]

    @rule(number=NUMBERS, mode=st.sampled_from(["accept", "accept", "refuse", "hang"]))
    def become(self, number: int, mode: str) -> None:
        self.rig.host(number).mode = mode

    @rule(number=NUMBERS, stalled=st.booleans())
    def stall(self, number: int, stalled: bool) -> None:
        for end in self.ends(number):
            if stalled:
                end.transport.stalled = True
            else:
                self.do(end.transport.read_on)

    @rule()
    def retry(self) -> None:
        self.do(self.rig.network.sleep.wake)

    @rule()
    def lose_patience(self) -> None:
        for subchannel in self.rig.subchannels:
            if subchannel._seat._patience is not None:
                self.do(lambda subchannel=subchannel: subchannel._seat._step_down("took long"))  # type: ignore[misc]

    @rule(chosen=st.sets(NUMBERS), weights=st.lists(st.integers(0, 3), min_size=3, max_size=3))
    def register(self, chosen: set[int], weights: list[int]) -> None:
        self.run(self.rig.apply(*(instance(number, weights[number - 1]) for number in sorted(chosen))))

    @rule(seconds=st.sampled_from([0.001, 0.01, 0.1, 1.5, 6.0]))
    def time_passes(self, seconds: float) -> None:
        self.run(self.rig.expire(seconds))

    @rule(number=NUMBERS)
    def drain(self, number: int) -> None:
        one = instance(number)
        if Identity(one.key, one.endpoint) in self.rig.backends.lanes:
            self.do(lambda: self.rig.backends.drain(one.key, one.address))

    @rule(policy=st.sampled_from(sorted(POLICIES)))
    def switch(self, policy: str) -> None:
        self.do(lambda: self.rig.balancer.switch(POLICIES[policy]))

    @rule()
    def pause_and_resume(self) -> None:
        loop = self.rig.loop
        self.do(loop.resume if loop.paused else loop.pause)

    @rule(factor=st.sampled_from([0.5, 0.8, 1.25, 2.0]))
    def scale(self, factor: float) -> None:
        loop = self.rig.loop
        if (loop.rps or 0.0) * factor < 40_000 and loop.concurrency * factor < 24:
            self.do(lambda: loop.scale(factor))

    @invariant()
    def the_loop_had_nothing_to_complain_about(self) -> None:
        assert not self.problems

    def teardown(self) -> None:
        try:
            if hasattr(self, "rig"):
                self.run(self._end())
            assert not self.problems
        finally:
            self.runner.close()

    async def _end(self) -> None:
        rig = self.rig
        if rig.engine.issued % 2:
            rig.loop.close()
            await rig.apply(instance(1), instance(2), instance(3))
            for lane in rig.backends.lanes.values():
                rig.balancer.drain(lane.peer, False)
            await rig.finish()
        else:
            rig.cancel()
        await turns()
        rig.check()
        assert rig.engine.in_flight == 0
        assert rig.idle
        for host in rig.network.hosts.values():
            for end in host.open:
                end.transport.read_on()  # or closing would wait for it
        await rig.aclose()
        rig.check()
        assert len(asyncio.all_tasks()) == 1
        assert all(end.transport.over for host in rig.network.hosts.values() for end in host.ends)


TestAnyLoad = AnyLoad.TestCase
TestAnyLoad.settings = settings(max_examples=40, stateful_step_count=30, suppress_health_check=list(HealthCheck))
