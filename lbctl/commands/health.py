"""``lbctl health``: what every backend says of itself by grpc.health.v1, once, or whenever it changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from lbctl.commands import ls
from lbctl.commands.ls_stream import Moment, stream
from lbctl.commands.signals import Interrupts
from lbctl.discovery.changes import Op
from lbctl.discovery.checkup import Checkup, Row, backends, rows
from lbctl.discovery.listing import Listing
from lbctl.errors import CannotCall, NotFound
from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint, Identity, Instance, Registry, Service
from lbctl.suggestion import Again

if TYPE_CHECKING:
    from lbctl.rpc.access import Access
    from lbctl.rpc.health import Health

Show = Callable[[Row], None]
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Whom to ask, and how. ``asked`` is the gRPC service whose health is wanted, "" for the server's own.

    ``given`` are backends that are asked instead of those in the registry; ``again`` spells commands that look there.
    """

    which: ls.Ls
    access_for: Callable[[Instance], Access]
    asked: str = ""
    timeout_s: float = 1.0
    interval_s: float = 1.0
    strict: bool = False
    given: tuple[Instance, ...] = ()
    again: Again = field(default_factory=Again)


async def run(etcd: Etcd | None, request: HealthCheck) -> Checkup:
    """Ask every backend once.

    Raises NotFound for a service that is not there or has no usable instance, CannotCall where none speaks gRPC; and so
    for all services together. That there is no service at all is an answer.
    """
    from lbctl.rpc.health import check_all

    registry = await registered(etcd, request)
    nobody = _nobody(registry.services, request.again.command("ls"))
    if nobody is not None:
        raise nobody
    found = tuple(backends(registry))
    ways: dict[Endpoint, Access] = {each.endpoint: request.access_for(each) for each in reversed(found)}
    answers = await check_all(ways, service=request.asked, timeout_s=request.timeout_s)
    return Checkup(registry.revision, rows(found, answers), request.asked, request.strict)


async def registered(etcd: Etcd | None, request: HealthCheck) -> Registry:
    """Read the services that are meant; without etcd they are the backends that were given."""
    if etcd is None:
        return Registry(0, (Service("backends", "backends", "", request.given),))
    registry = (await ls.run(etcd, replace(request.which, check=False))).registry
    if request.which.service is not None:
        nobody = _nobody(registry.services, request.again.command("ls", request.which.service))
        if nobody is not None:
            raise nobody
    return registry


def _nobody(services: Sequence[Service], look: str) -> NotFound | CannotCall | None:
    """Say that there is nobody to ask, although there are services; ``look`` is the command that shows why."""
    instances = [each for service in services for each in service.instances]
    if not services or any(each.speaks_grpc for each in instances):
        return None
    one = f'"{services[0].name}"' if len(services) == 1 else ""
    if not instances:
        unusable = f"service {one} has no" if one else f"none of {len(services):,} services has"
        return NotFound(f"{unusable} usable instances", f"see why: {look}")
    protocols = ", ".join(sorted({str(each.protocol) for each in instances}))
    return CannotCall(f"no instance of {one or f'{len(services):,} services'} speaks gRPC: {protocols}", f"see: {look}")


async def watch(etcd: Etcd | None, request: HealthCheck, rng: Random, show: Show, note: Note) -> int | None:
    """Show every backend's health when it is known and when it changes, as backends come and go, until a signal.

    Returns the number of that signal.
    """
    this = asyncio.current_task()
    assert this is not None
    with Interrupts() as interrupts:
        interrupts.mean(this.cancel)
        try:
            await _watch(etcd, request, rng, show, note)
        except asyncio.CancelledError:
            if interrupts.first is None:
                raise
            this.uncancel()
        return interrupts.first


async def _watch(etcd: Etcd | None, request: HealthCheck, rng: Random, show: Show, note: Note) -> None:
    registry = await registered(etcd, request)
    nobody = _nobody(registry.services, "")
    if nobody is not None:  # of no service by name: some may come
        note(f"{nobody}; waiting for others")
    async with asyncio.TaskGroup() as following:  # whatever one of them cannot cope with ends them all
        ward = _Ward(request, rng, show, following)
        for instance in backends(registry):
            ward.admit(instance)
        if etcd is None:
            await asyncio.Event().wait()
        else:
            await _follow(etcd, request, registry, ward, note)


async def _follow(etcd: Etcd, request: HealthCheck, registry: Registry, ward: _Ward, note: Note) -> None:
    def take(moment: Moment) -> None:
        if moment.notice:
            note(moment.notice)
        for change in moment.changes:
            if change.before is not None and change.op in (Op.LEFT, Op.MOVED):
                ward.dismiss(change.before)
            if change.after is not None and change.op is not Op.LEFT:
                ward.admit(change.after)

    await stream(etcd, Listing(registry), request.which, take)


async def _raised(failure: asyncio.Future[None]) -> None:
    await failure


class _Ward:
    """The backends that are followed: an address once, under whichever of its keys came first."""

    def __init__(self, request: HealthCheck, rng: Random, show: Show, following: asyncio.TaskGroup) -> None:
        self._request = request
        self._rng = rng
        self._show = show
        self._following = following
        self._known: dict[Identity, Instance] = {}
        self._tasks: dict[Endpoint, asyncio.Task[None]] = {}
        self._unshown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        following.create_task(_raised(self._unshown))

    def admit(self, instance: Instance) -> None:
        """Follow a backend, or know better what the registry says of it."""
        self._known[instance.identity] = instance
        endpoint = instance.endpoint
        if endpoint not in self._tasks:
            followed = self._followed(endpoint, self._request.access_for(instance))
            self._tasks[endpoint] = self._following.create_task(followed)

    def dismiss(self, instance: Instance) -> None:
        """Follow a backend no more, unless another key has its address."""
        self._known.pop(instance.identity, None)
        if all(known.endpoint != instance.endpoint for known in self._known.values()):
            task = self._tasks.pop(instance.endpoint, None)
            if task is not None:
                task.cancel()

    async def _followed(self, endpoint: Endpoint, access: Access) -> None:
        from lbctl.rpc.health_follow import HealthFollower

        def tell(health: Health) -> None:
            shown = {each.service: each for each in self._known.values() if each.endpoint == endpoint}
            try:
                for instance in shown.values():
                    self._show(Row(instance, health))
            except Exception as error:  # who calls this reads from a connection, and would take it for the end of that
                if not self._unshown.done():
                    self._unshown.set_exception(error)

        request = self._request
        await HealthFollower(
            endpoint,
            access,
            tell,
            service=request.asked,
            timeout_s=request.timeout_s,
            interval_s=request.interval_s,
            rng=self._rng,
        ).run()
