"""``lbctl hammer``: find the backends, find the method, put the load on them, and return what was measured."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from lbctl.clock import Clock
from lbctl.commands.screen import Screen
from lbctl.commands.signals import Interrupts
from lbctl.discovery.directory import Update, find, follow, read
from lbctl.errors import CannotCall, LbctlError, NotFound
from lbctl.etcd.client import Etcd
from lbctl.load.plan import Plan, Task
from lbctl.load.run import Run
from lbctl.model import Endpoint, Instance, Service
from lbctl.rpc.options import ConnectionOptions
from lbctl.stats.report import Report
from lbctl.wire.request import Request

_SCHEMA_TIMEOUT_S: Final = 3.0
_PROBE_TIMEOUT_S: Final = 1.0
_SHOWN: Final = 5  # backends that are named in an error
_FULL_METHOD: Final = re.compile(r"/?(?P<service>[\w.]+)/(?P<method>\w+)")
_AUTHORITY: Final = re.compile(r"[A-Za-z0-9._~-]+(:\d+)?")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Hammer:
    """One run as it was asked for.

    ``backends`` replaces the registry; ``raw`` is the request's message as bytes, and with a full method skips server
    reflection too; ``data`` is the message as JSON text, ``source`` what that text is called in errors.
    """

    service: str
    method: str | None
    policy: str
    plan: Plan
    seed: int
    data: str | None = None
    source: str = "request"
    raw: bytes | None = None
    backends: tuple[Instance, ...] = ()
    prefix: str | None = None
    layout: str | None = None
    authority: str | None = None
    connect_timeout_s: float = 10.0
    grace_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is over; ``signal`` is the number of the signal that ended it, if one did.

    There is no report where the signal came before the first call.
    """

    report: Report | None
    signal: int | None


async def run(etcd: Etcd | None, clock: Clock, request: Hammer, screen: Screen, say: Say) -> Finished:
    """Run the load to its end and return the report.

    Raises NotFound for an unknown service or method, UsageError for a bad request message, CannotCall when no backend
    can be connected to or none describes its methods, RegistryError where etcd does not answer at the beginning.
    Without ``etcd`` the backends of the request are used.
    """
    this = asyncio.current_task()
    assert this is not None
    with Interrupts() as interrupts:
        interrupts.mean(this.cancel)  # nothing was sent yet: there is nothing to wait for
        try:
            return Finished(await _run(etcd, clock, request, screen, say, interrupts), interrupts.first)
        except asyncio.CancelledError:
            if interrupts.first is None:
                raise
            this.uncancel()
            return Finished(None, interrupts.first)


async def _run(
    etcd: Etcd | None, clock: Clock, request: Hammer, screen: Screen, say: Say, interrupts: Interrupts
) -> Report:
    service = await _service(etcd, request)
    method, message = await _method(request, service, say)
    load = Run(_task(request, service, method, message), clock)
    try:
        async with _followed(etcd, service, load):
            say(f"connecting to {_backends(service)} ...")
            await load.backends.settled()
            await _require_one(load, service)
            interrupts.mean(load.stop, load.abort)
            async with screen.showing(load.report, load.hand):
                await load.drive()
            interrupts.mean()  # it has ended; what is left to do is quick, and must not be lost
        return load.report()
    finally:
        await load.aclose()


def _task(request: Hammer, service: Service, method: str, message: bytes) -> Task:
    return Task(
        service=service.name,
        method=method,
        policy=request.policy,
        seed=request.seed,
        plan=request.plan,
        request_for=_requests(request, service, method, message),
        connection=ConnectionOptions(connect_timeout_s=request.connect_timeout_s),
        grace_s=request.grace_s,
    )


async def _service(etcd: Etcd | None, request: Hammer) -> Service:
    if etcd is None:
        return Service(request.service, "backends", "", request.backends)
    service = find(await read(etcd, request.prefix), request.service, request.layout)
    if not service.instances:
        raise _unusable(service)
    return service


def _unusable(service: Service) -> NotFound:
    return NotFound(f'service "{service.name}" has no usable instances', f"see why: lbctl ls {service.name}")


async def _method(request: Hammer, service: Service, say: Say) -> tuple[str, bytes]:
    """The full name of the method and the message to send."""
    full = _FULL_METHOD.fullmatch(request.method or "")
    if request.raw is not None and full is not None:
        return f"{full['service']}/{full['method']}", request.raw
    from lbctl.rpc.message import encode
    from lbctl.rpc.reflection import load_method

    endpoints = list(dict.fromkeys(instance.endpoint for instance in service.instances))
    found = await load_method(
        endpoints,
        request.method,
        timeout_s=_SCHEMA_TIMEOUT_S,
        service=service.name,
        registered=bool(service.prefix),
    )
    if found.note:
        say(found.note)
    if request.raw is not None:
        return found.method.full_name, request.raw
    return found.method.full_name, encode(found.method, request.data, source=request.source)


def _requests(request: Hammer, service: Service, method: str, message: bytes) -> Callable[[Instance], Request]:
    """The request each backend is sent: discovered ones by the service's name, direct ones by their address."""
    named = request.authority
    if named is None and not request.backends and _AUTHORITY.fullmatch(service.name):
        named = service.name

    def of(instance: Instance) -> Request:
        return Request(f"/{method}", message, named or instance.endpoint.authority, request.plan.timeout_ns)

    return of


def _backends(service: Service) -> str:
    count = len(service.instances)
    return f"{count} backend{'' if count == 1 else 's'} of {service.name}"


async def _require_one(load: Run, service: Service) -> None:
    """Refuse to begin where nothing can be called."""
    if not load.backends.count:
        raise _unusable(service)
    failures = load.backends.failures()
    if len(failures) < load.backends.count:
        return
    shown = list(failures.items())[:_SHOWN]
    reasons = "; ".join(await asyncio.gather(*(_explained(address, reason) for address, reason in shown)))
    rest = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    none = f'none of the {len(failures)} backends of "{service.name}" can be called'
    one = f'the only backend of "{service.name}" cannot be called'
    raise CannotCall(
        f"{one if len(failures) == 1 else none}: {reasons}{rest}",
        "is it running, and is this its gRPC port?"
        + (f" lbctl ls {service.name} shows what is registered" if service.prefix else ""),
    )


async def _explained(address: str, reason: str) -> str:
    """Why a backend cannot be called. A server that hangs up on plaintext gives no reason: a look at it may tell."""
    from lbctl.rpc.probe import Kind, probe

    host, _, port = address.rpartition(":")
    found = await probe(Endpoint(host.strip("[]"), int(port)), _PROBE_TIMEOUT_S)
    return f"{address} {found.text if found is not None and found.kind in (Kind.TLS, Kind.HTTP1) else reason}"


@asynccontextmanager
async def _followed(etcd: Etcd | None, service: Service, load: Run) -> AsyncIterator[None]:
    """The run follows the registry while the block lasts; a lost registry is an event, and the last state stays."""
    if etcd is None:
        load.apply(service.instances)
        load.note("joined", None, f"{_backends(service)} given by --backends")
        yield
        return
    begun = asyncio.Event()
    following = asyncio.create_task(_follow(etcd, service, load, begun))
    beginning = asyncio.create_task(begun.wait())
    try:
        await asyncio.wait([following, beginning], return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
        yield
    finally:
        for task in (following, beginning):
            task.cancel()
            with suppress(asyncio.CancelledError, LbctlError):
                await task


async def _follow(etcd: Etcd, service: Service, load: Run, begun: asyncio.Event) -> None:
    try:
        async with aclosing(follow(etcd, service)) as updates:
            async for update in updates:
                _take(update, load)
                if not begun.is_set():
                    # Where etcd was lost again already, the service as it was read has to do.
                    load.apply(_in_order(update.service.instances))
                    load.note("joined", None, f"resolved {service.prefix}: {_backends(update.service)}")
                    begun.set()
    except LbctlError as error:
        if not begun.is_set():
            raise
        load.note("resync", None, f"registry no longer followed: {error}", "bad")


def _take(update: Update, load: Run) -> None:
    if update.notice is not None:
        lost = update.notice.kind == "lost"
        load.note("resync", None, f"registry {update.notice.kind}: {update.notice.text}", "bad" if lost else "good")
    if update.synced:
        load.apply(_in_order(update.service.instances))


def _in_order(instances: Sequence[Instance]) -> Sequence[Instance]:
    return sorted(instances, key=lambda instance: instance.identity)
