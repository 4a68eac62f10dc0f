"""What ``lbctl call`` calls: the backends of a service, connected to, and the method, as somebody describes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lbctl.balance.keys import Source as KeySource
from lbctl.balance.policies.base import Policy
from lbctl.clock import Clock
from lbctl.commands.call_backends import CallBackends
from lbctl.commands.call_feeding import Feeder, Input, whole
from lbctl.commands.call_replies import Replies
from lbctl.commands.called_service import called_service
from lbctl.commands.calling import Calling, Payload, described, kind_of, undescribed
from lbctl.commands.finding import learn
from lbctl.commands.hammer import Tell
from lbctl.commands.named_backend import named_backend
from lbctl.commands.reach import Reach, Reaching, ready_for
from lbctl.commands.rewriting import Where
from lbctl.discovery.backends import distinct
from lbctl.discovery.weight_limits import WeightLimits
from lbctl.errors import UsageError
from lbctl.etcd.client import Etcd
from lbctl.load.single import Called, Done
from lbctl.model import Instance, Service
from lbctl.rpc.messages.resolver import resolver_of
from lbctl.rpc.obstacle import listed
from lbctl.rpc.options import ConnectionOptions
from lbctl.suggestion import Again
from lbctl.wire.request import Request

if TYPE_CHECKING:
    from lbctl.rpc.schemas.described_files import DescribedFiles
    from lbctl.rpc.schemas.reflection import Found

DEFAULT_TIMEOUT_NS: Final = 20_000_000_000
_SCHEMA_TIMEOUT_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class CallRequest:
    """Calls as they were asked for.

    ``backend`` names the only one that is called; else ``policy`` picks. ``repeat`` None makes one
    call for each request that is given. ``each``: all backends are called, also those that cannot be connected to.
    ``timeout_s`` 0 is no deadline, and None 20 seconds, or none where messages are sent as somebody writes them.
    ``keep``: what comes back is in the result. ``defaults``: replies are shown with fields that are not set. ``reads``:
    replies are decoded.
    """

    service: str
    method: str
    policy: Policy
    seed: int
    payload: Payload = field(default_factory=Payload)
    backend: str | None = None
    hash_key: KeySource | None = None
    timeout_s: float | None = None
    repeat: int | None = None
    each: bool = False
    keep: bool = False
    defaults: bool = False
    reads: bool = True
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
    feeder: Feeder | None = None

    @property
    def timeout_ns(self) -> int:
        """The deadline where nobody gave one."""
        return 0 if self.feeder is not None else DEFAULT_TIMEOUT_NS

    def request_to(self, instance: Instance, request: CallRequest) -> Request:
        """What a call to this backend sends, before its content."""
        payload = request.payload
        return Request(
            f"/{self.calling.method}",
            self.calling.message,
            self.reaching.names.authority(instance),
            self.timeout_ns if request.timeout_s is None else round(request.timeout_s * 1e9),
            metadata=payload.metadata,
            scheme="https" if request.reach.wants_tls(instance) else "http",
            stream=self.calling.stream,
            gzip=payload.gzip,
            sensitive=payload.sensitive,
        )

    def called(self, calls: Sequence[Done] = ()) -> Called:
        """What the calls come to."""
        return Called(self.service.name, self.calling.method, kind_of(self.calling), self.described_by, calls)


@asynccontextmanager
async def targeted(
    etcd: Etcd | None, request: CallRequest, clock: Clock, tell: Tell, given: Input | None = None
) -> AsyncIterator[Target]:
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
        if backends.obstacles and not request.each:
            known = {each.address: each.identity for each in backends.instances}
            left_out = {address: backends.obstacles[key] for address, key in known.items() if key in backends.obstacles}
            tell.note(f"note: left out: {listed(left_out)}")
        described_by = _Describing(request, service, backends, reaching, clock, tell)
        yield await described_by.target(given)


def _meant(service: Service, request: CallRequest) -> Sequence[Instance]:
    """The backends that may be called, in key order, an address once."""
    if request.backend is None:
        return sorted(distinct(service.instances), key=lambda each: each.identity)
    return [named_backend(service, request.backend)]


@dataclass(frozen=True, slots=True)
class _Describing:
    """Finds what the method is, and makes the call of it."""

    request: CallRequest
    service: Service
    backends: CallBackends
    reaching: Reaching
    clock: Clock
    tell: Tell

    async def target(self, given: Input | None) -> Target:
        """The target; an input is read here, or where its messages are sent one by one, by the target's feeder."""
        request, parts = self.request, (self.service, self.backends, self.reaching)
        calling = undescribed(request.payload, request.method) if request.schema is None else None
        if calling is not None:
            return Target(*parts, calling, Replies(None, None))
        found = await self._found()
        payload, feeder = request.payload, None
        if given is not None and found.method.client_streaming and not request.each:
            feeder = self._feeder(given, found)
            payload = replace(payload, raw=b"")
        elif given is not None and given.asked:
            payload = payload.with_text(await whole(given), given.source)
        await learn(found, payload)
        replies = Replies(found.method, found.source, defaults=request.defaults, reads=request.reads)
        return Target(*parts, described(payload, found.method), replies, found.protocol, feeder)

    def _feeder(self, given: Input, found: Found) -> Feeder:
        request, wish = self.request, self.request.payload.streaming
        several = "--repeat" if request.repeat is not None else ""
        counted = "--stream-messages" if wish.messages is not None else "--stream-interval" if wish.interval_s else ""
        keyed = request.hash_key is not None and request.hash_key.kind == "field"
        odd = several or counted or ("--hash-key field:..." if keyed else "")
        if odd:
            why = f"{odd}: the messages come from {given.source} while the call lasts"
            raise UsageError(why, "give them all at once: -d JSON, or -d @FILE")
        if given.forgives:
            self.tell.note("a message a line, as JSON; Ctrl-D ends them, Ctrl-C cancels the call")
        elif not given.asked:
            self.tell.note(f"reading messages from {given.source} (-d gives others, </dev/null an empty one)")
        resolver = resolver_of(found.source, found.method)
        return Feeder(given, found.method, resolver, request.payload.given, request.seed, self.clock)

    async def _found(self) -> Found:
        """The method as files or a backend describe it; those that cannot be called are not asked."""
        from lbctl.rpc.schemas.reflection import load_method

        request, service = self.request, self.service
        access = {each.endpoint: self.backends.access[each.identity] for each in self.backends.ready}
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
            self.tell.detail(f"method described by {found.backend}, reflection {found.protocol}")
        return found
