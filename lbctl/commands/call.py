"""``lbctl call``: find the backends, have a policy pick one, call it, and tell where the call went and why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final

from lbctl.balance.keys import Source as KeySource
from lbctl.balance.policies.base import Policy
from lbctl.clock import Clock
from lbctl.commands.call_backends import CallBackends
from lbctl.commands.call_exchange import Exchange, Feeding
from lbctl.commands.call_picking import Balanced, Chooser, Named
from lbctl.commands.call_replies import Replies
from lbctl.commands.called_service import called_service
from lbctl.commands.calling import Calling, Payload, described, kind_of, undescribed
from lbctl.commands.finding import learn
from lbctl.commands.hammer import Tell
from lbctl.commands.hash_keys import keys_of
from lbctl.commands.reach import Reach, Reaching, ready_for
from lbctl.commands.rewriting import Where
from lbctl.commands.signals import Interrupts
from lbctl.discovery.backends import distinct
from lbctl.discovery.weight_limits import WeightLimits
from lbctl.errors import CannotCall, NotFound
from lbctl.etcd.client import Etcd
from lbctl.leaving import leave_at_once
from lbctl.load.requests.content import Content
from lbctl.load.single import Called, Done, Show
from lbctl.model import Instance, Service
from lbctl.rpc.obstacle import listed
from lbctl.rpc.options import ConnectionOptions
from lbctl.suggestion import Again
from lbctl.wire.request import Request

if TYPE_CHECKING:
    from lbctl.rpc.schemas.described_files import DescribedFiles
    from lbctl.rpc.schemas.reflection import Found

_SCHEMA_TIMEOUT_S: Final = 3.0
_KNOWN: Final = 5  # addresses that an error names


@dataclass(frozen=True, slots=True)
class CallRequest:
    """Calls as they were asked for.

    ``backend`` is the address or key of the only one that is called; else ``policy`` picks. ``repeat`` None makes one
    call for each request that is given. ``keep``: what comes back is in the result. ``defaults``: replies are shown
    with fields that are not set.
    """

    service: str
    method: str
    policy: Policy
    seed: int
    payload: Payload = field(default_factory=Payload)
    backend: str | None = None
    hash_key: KeySource | None = None
    timeout_s: float = 20.0
    repeat: int | None = None
    keep: bool = False
    defaults: bool = False
    reach: Reach = field(default_factory=Reach)
    connection: ConnectionOptions = field(default_factory=ConnectionOptions)
    backends: tuple[Instance, ...] = ()
    limits: WeightLimits = field(default_factory=WeightLimits)
    prefix: str | None = None
    layout: str | None = None
    named_by: str = ""
    again: Again = field(default_factory=Again)
    schema: DescribedFiles | None = field(default=None, repr=False)

    @property
    def where(self) -> Where:
        """Which service is meant, and where to look for it."""
        return Where(self.service, self.prefix, self.layout, self.named_by, self.again)


@dataclass(frozen=True, slots=True)
class Target:
    """What is called, found once: backends that are connected to, how they are reached, and the call."""

    service: Service
    backends: CallBackends
    reaching: Reaching
    calling: Calling
    replies: Replies
    described_by: str = ""

    def request_to(self, instance: Instance, request: CallRequest) -> Request:
        """What a call to this backend sends, before its content."""
        payload = request.payload
        return Request(
            f"/{self.calling.method}",
            self.calling.message,
            self.reaching.names.authority(instance),
            round(request.timeout_s * 1e9),
            metadata=payload.metadata,
            scheme="https" if request.reach.wants_tls(instance) else "http",
            stream=self.calling.stream,
            gzip=payload.gzip,
            sensitive=payload.sensitive,
        )

    def called(self, calls: Sequence[Done] = ()) -> Called:
        """What the calls come to."""
        return Called(self.service.name, self.calling.method, kind_of(self.calling), self.described_by, calls)


async def run(
    etcd: Etcd | None, clock: Clock, request: CallRequest, show: Show, tell: Tell, feeding: Feeding | None = None
) -> Called:
    """Make the calls one after the other; with ``feeding`` the messages of a client that streams come from there.

    Raises NotFound for an unknown service, backend or method, UsageError for a request that does not fit the method,
    CannotCall where no backend can be connected to or none describes the method, RegistryError. A call that fails is
    no error.
    """
    calls: list[Done] = []
    called = Called(request.service)

    async def work() -> None:
        nonlocal called
        async with targeted(etcd, request, tell) as target:
            called = target.called(calls)
            await _call(target, request, clock, show, calls, feeding)

    signal = await interruptible(work)
    return Called(called.service, called.method, called.kind, called.described_by, calls, signal)


async def interruptible(work: Callable[[], object]) -> int | None:
    """See the work through; a signal cancels it, and its number is returned. A second one ends the process."""
    this = asyncio.current_task()
    assert this is not None
    with Interrupts() as interrupts:
        interrupts.mean(this.cancel, lambda: leave_at_once(128 + (interrupts.first or 0)))
        try:
            await work()  # type: ignore[misc]
        except asyncio.CancelledError:
            if interrupts.first is None:
                raise
            this.uncancel()
    return interrupts.first


@asynccontextmanager
async def targeted(etcd: Etcd | None, request: CallRequest, tell: Tell) -> AsyncIterator[Target]:
    """Find what is called, and stay connected while the block lasts; raises what ``run`` does before its first call."""
    ready = ready_for(request.reach)
    service = await called_service(etcd, request.where, request.backends)
    payload = request.payload
    reaching = Reaching(
        request.reach,
        ready,
        discovered=not request.backends,
        metadata=payload.metadata,
        sensitive=payload.sensitive,
        options=request.connection,
    )
    async with CallBackends(_meant(service, request), reaching) as backends:
        for each in backends.instances:
            tell.detail(reaching.told(each))
        await backends.settle()
        if not backends.ready:
            raise backends.refusal(service, request.service, request.again)
        if backends.obstacles:
            known = {each.address: each.identity for each in backends.instances}
            left_out = {address: backends.obstacles[key] for address, key in known.items() if key in backends.obstacles}
            tell.note(f"note: left out: {listed(left_out)}")
        yield await _described(request, service, backends, reaching, tell)


def _meant(service: Service, request: CallRequest) -> Sequence[Instance]:
    """The backends that may be called, in key order, an address once."""
    known = sorted(distinct(service.instances), key=lambda each: each.identity)
    if request.backend is None:
        return known
    found = [each for each in service.instances if request.backend in (each.address, each.key)]
    if not found:
        addresses = ", ".join(each.address for each in known[:_KNOWN])
        raise NotFound(
            f'"{service.name}" has no backend {request.backend}',
            f"it has: {addresses}; any other address: --backends {request.backend}",
        )
    return found[:1]


async def _described(
    request: CallRequest, service: Service, backends: CallBackends, reaching: Reaching, tell: Tell
) -> Target:
    calling = undescribed(request.payload, request.method) if request.schema is None else None
    if calling is not None:
        return Target(service, backends, reaching, calling, Replies(None, None))
    found = await _found(request, service, backends, tell)
    await learn(found, request.payload)
    calling = described(request.payload, found.method)
    replies = Replies(found.method, found.source, defaults=request.defaults)
    return Target(service, backends, reaching, calling, replies, found.protocol)


async def _found(request: CallRequest, service: Service, backends: CallBackends, tell: Tell) -> Found:
    """The method as files or a backend describe it; of backends those that may be called come first."""
    from lbctl.rpc.schemas.reflection import load_method

    ready = backends.ready
    access = {each.endpoint: backends.access[each.identity] for each in ready}
    found = await load_method(
        list(access),
        request.method,
        timeout_s=_SCHEMA_TIMEOUT_S,
        service=service.name,
        registered=bool(service.prefix),
        access_for=access.__getitem__,
        named=request.service,
        again=request.again,
        source=request.schema,
    )
    if found.backend is not None:
        tell.detail(f"method described by {found.backend}, reflection {found.protocol}")
    return found


async def _call(
    target: Target, request: CallRequest, clock: Clock, show: Show, calls: list[Done], feeding: Feeding | None
) -> None:
    exchange = Exchange(show, target.replies, clock, keep=request.keep, judge=target.calling.judge)
    chooser = _chooser(target, request, clock)
    for content in contents_of(target.calling, request, clock):
        picked = chooser.pick(content.key)
        if picked is None:
            raise _nobody(target, request)
        base = target.request_to(picked.instance, request).of(content.messages, content.metadata)
        done = await exchange.call(picked, target.backends.caller(picked.instance), base, feeding)
        chooser.ended(done.reply)
        calls.append(done)


def _nobody(target: Target, request: CallRequest) -> CannotCall:
    """Say why nobody can be picked: none is connected any more, or those that are have to be left alone."""
    name, ready = target.service.name, target.backends.ready
    if not ready:
        return CannotCall(f'no backend of "{name}" is connected any more', f"see: {request.where.command('health')}")
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
        return iter((calling.content,) * (request.repeat or 1))
    from lbctl.load.requests.templates import Drawing

    contents = calling.feed.contents(Drawing(Random(f"requests {request.seed}"), clock))
    return islice(contents, request.repeat)
