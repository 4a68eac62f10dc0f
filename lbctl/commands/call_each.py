"""``lbctl call --each``: the same call to every backend, and where their replies differ."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from lbctl.clock import Clock
from lbctl.commands.call import contents_of, interruptible
from lbctl.commands.call_exchange import Exchange
from lbctl.commands.call_feeding import Input
from lbctl.commands.call_target import CallRequest, Target, targeted
from lbctl.commands.hammer import Tell
from lbctl.errors import CannotCall, UsageError
from lbctl.etcd.client import Etcd
from lbctl.load.agreement import Agreement, Asked, grouped
from lbctl.load.requests.content import Content
from lbctl.load.single import Answer, Done, Picked
from lbctl.model import Instance
from lbctl.wire.request import Headers

_AT_ONCE: Final = 32


class _Silent:
    """Shows nothing: all is told when everybody has answered."""

    def begun(self, picked: Picked, metadata: Headers, sensitive: frozenset[bytes]) -> None: ...

    async def answered(self, answer: Answer) -> None: ...

    def ended(self, done: Done) -> None: ...


async def run_each(
    etcd: Etcd | None,
    clock: Clock,
    request: CallRequest,
    ignored: Sequence[str],
    tell: Tell,
    given: Input | None = None,
) -> Agreement | int:
    """Call every backend of the service; returns the number of the signal where one came before all had answered.

    Raises as ``call.run`` does, and UsageError for more than one request.
    """
    found: Agreement | None = None

    async def work() -> None:
        nonlocal found
        async with targeted(etcd, replace(request, keep=True), clock, tell, given) as target:
            found = await _asked(target, request, clock, ignored)

    signal = await interruptible(work)
    if found is None:
        assert signal is not None
        return signal
    return found


async def _asked(target: Target, request: CallRequest, clock: Clock, ignored: Sequence[str]) -> Agreement:
    content = _one(target, request, clock)
    exchange = Exchange(_Silent(), target.replies, clock, keep=True, judge=target.calling.judge)
    turn = asyncio.Semaphore(_AT_ONCE)

    async def ask(instance: Instance) -> Asked:
        obstacle = target.backends.obstacles.get(instance.identity)
        if obstacle is not None:
            return Asked(instance, obstacle=(str(obstacle.kind), obstacle.text))
        async with turn:
            base = target.request_to(instance, request).of(content.messages, content.metadata)
            try:
                return Asked(instance, await exchange.call(Picked(instance, 1), target.backends.caller(instance), base))
            except CannotCall as error:
                return Asked(instance, obstacle=("UNREADABLE", str(error)))

    asked = tuple(await asyncio.gather(*map(ask, target.backends.instances)))
    called = target.called()
    parts = (called.service, called.method, called.kind, called.described_by)
    return Agreement(*parts, asked, grouped(asked, ignored), tuple(ignored))


def _one(target: Target, request: CallRequest, clock: Clock) -> Content:
    """What all are sent."""
    first = list(islice(contents_of(target.calling, request, clock), 2))
    if len(first) > 1:
        raise UsageError("--each sends one request to every backend, and several are given", "give one of them")
    return first[0]
