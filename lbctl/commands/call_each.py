"""``lbctl call --each``: the same call to every backend, and where their replies differ."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from lbctl.clock import Clock
from lbctl.commands.call import contents_of, interruptible
from lbctl.commands.call_exchange import Exchange, Signal
from lbctl.commands.call_feeding import Input
from lbctl.commands.call_target import CallRequest, Target, targeted
from lbctl.commands.hammer import Tell
from lbctl.errors import UsageError
from lbctl.etcd.client import Etcd
from lbctl.load.agreement import Agreement, Asked, grouped
from lbctl.load.requests.content import Content
from lbctl.load.single import Answer, Done, Picked
from lbctl.model import Instance
from lbctl.wire.request import Headers

_AT_ONCE: Final = 32
_LATE: Final = ("CANCELLED", "its turn had not come")


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
) -> tuple[Agreement | None, int | None]:
    """Call every backend of the service; returns what came of it, and the number of the signal that ended it.

    After a signal that are the replies that had come, or None where the calls had not begun. Raises as ``call.run``
    does, and UsageError for more than one request.
    """
    found: Agreement | None = None

    async def work(signal: Signal) -> None:
        nonlocal found
        async with targeted(etcd, replace(request, keep=True), clock, tell, given) as target:
            asked = await _asked(target, request, clock, signal)
            called = target.called()
            parts = (called.service, called.method, called.kind, called.described_by)
            found = Agreement(*parts, asked, grouped(asked, ignored), tuple(ignored))

    signal = await interruptible(work)
    return found, signal


async def _asked(target: Target, request: CallRequest, clock: Clock, signal: Signal) -> tuple[Asked, ...]:
    """What each made of the call, in the order of the backends; a signal ends those that go on."""
    content = _one(target, request, clock)
    exchange = Exchange(_Silent(), target.replies, clock, signal, keep=True, judge=target.calling.judge)
    turn = asyncio.Semaphore(_AT_ONCE)

    async def ask(instance: Instance) -> Asked:
        obstacle = target.backends.obstacles.get(instance.identity)
        if obstacle is not None:
            return Asked(instance, obstacle=(str(obstacle.kind), obstacle.text))
        async with turn:
            base = target.request_to(instance, request).of(content.messages, content.metadata)
            return Asked(instance, await exchange.call(Picked(instance, 1), target.backends.caller(instance), base))

    tasks = {instance: asyncio.create_task(ask(instance)) for instance in target.backends.instances}
    try:
        await asyncio.gather(*tasks.values())
    except asyncio.CancelledError:  # which the tasks have got, too
        if signal() is None:
            raise
        await asyncio.wait(tasks.values())
    return tuple(Asked(each, obstacle=_LATE) if task.cancelled() else task.result() for each, task in tasks.items())


def _one(target: Target, request: CallRequest, clock: Clock) -> Content:
    """What all are sent."""
    first = list(islice(contents_of(target.calling, request, clock), 2))
    if len(first) > 1:
        raise UsageError("--each sends one request to every backend, and several are given", "give one of them")
    return first[0]
