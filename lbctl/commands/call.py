"""``lbctl call``: find the backends, have a policy pick one, call it, and tell where the call went and why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import replace
from itertools import islice, repeat
from random import Random
from typing import Any

from lbctl.clock import Clock
from lbctl.commands.call_exchange import Exchange, Signal
from lbctl.commands.call_feeding import Input
from lbctl.commands.call_picking import Balanced, Chooser, Named
from lbctl.commands.call_target import CallRequest, Target, targeted
from lbctl.commands.calling import Calling
from lbctl.commands.hammer import Tell
from lbctl.commands.hash_keys import keys_of
from lbctl.commands.signals import Interrupts
from lbctl.errors import CannotCall, LbctlError
from lbctl.etcd.client import Etcd
from lbctl.leaving import leave_at_once
from lbctl.load.requests.content import Content
from lbctl.load.single import Called, Done, Show


async def run(
    etcd: Etcd | None, clock: Clock, request: CallRequest, show: Show, tell: Tell, given: Input | None = None
) -> Called:
    """Make the calls one after the other; what is ``given`` is the request, or the messages of a client that streams.

    Raises NotFound for an unknown service, backend or method, UsageError for a request that does not fit the method,
    CannotCall where no backend can be connected to or none describes the method, RegistryError. A call that fails is
    no error; what goes wrong behind the first that is kept is returned with those that were made.
    """
    calls: list[Done] = []
    called = Called(request.service, calls=calls)

    async def work(signal: Signal) -> None:
        nonlocal called
        async with targeted(etcd, request, clock, tell, given) as target:
            called = target.called(calls)
            exchange = Exchange(show, target.replies, clock, signal, keep=request.keep, judge=target.calling.judge)
            try:
                async for done in _calls(target, request, clock, exchange, signal):
                    if request.keep or (done.exit_status and not calls):
                        calls.append(done)
            except LbctlError as error:
                if not calls:
                    raise
                called = replace(called, error=error)

    signal = await interruptible(work)
    return replace(called, signal=signal)


async def interruptible(work: Callable[[Signal], Coroutine[Any, Any, None]]) -> int | None:
    """See the work through; a signal cancels it, and its number is returned. A second one ends the process.

    The work is given what tells the number of the signal, and may end as it likes once there is one.
    """
    this = asyncio.current_task()
    assert this is not None
    with Interrupts() as interrupts:
        interrupts.mean(this.cancel, lambda: leave_at_once(128 + (interrupts.first or 0)))
        try:
            await work(lambda: interrupts.first)
        except asyncio.CancelledError:
            if interrupts.first is None:
                raise
        if interrupts.first is not None:
            this.uncancel()
    return interrupts.first


async def _calls(
    target: Target, request: CallRequest, clock: Clock, exchange: Exchange, signal: Signal
) -> AsyncIterator[Done]:
    """Each call once it has ended, up to the one that a signal ends."""
    chooser = _chooser(target, request, clock)
    for content in contents_of(target.calling, request, clock):
        picked = chooser.pick(content.key)
        if picked is None:
            raise _nobody(target, request)
        base = target.request_to(picked.instance, request).of(content.messages, content.metadata)
        done = await exchange.call(picked, target.backends.caller(picked.instance), base, target.feeder)
        chooser.ended(done.reply)
        yield done
        if signal() is not None:
            return


def _nobody(target: Target, request: CallRequest) -> CannotCall:
    """Say why nobody can be picked: none is connected any more, or those that are have to be left alone."""
    name, ready = target.service.name, target.backends.ready
    if not ready:
        look = "" if request.backends else f"see: {request.where.command('health')}"
        return CannotCall(f'no backend of "{name}" is connected any more', look)
    return CannotCall(
        f'every backend of "{name}" that can be reached is out of the rotation',
        f"name one to call it all the same: --backend {ready[0].address}",
    )


def _chooser(target: Target, request: CallRequest, clock: Clock) -> Chooser:
    if request.backend is not None:
        return Named(target.backends.instances[0])
    used = [request.limits.used(each) for each in target.backends.instances]
    keys = keys_of(request.hash_key, request.seed, request.payload, target.calling, clock)
    return Balanced(request.policy, used, target.backends, keys, request.seed, clock)


def contents_of(calling: Calling, request: CallRequest, clock: Clock) -> Iterator[Content]:
    """What each call sends; raises UsageError for a request that is wrong."""
    if calling.feed is None:
        return repeat(calling.content, request.repeat or 1)
    from lbctl.load.requests.templates import Drawing

    contents = calling.feed.contents(Drawing(Random(f"requests {request.seed}"), clock))
    return islice(contents, request.repeat)
