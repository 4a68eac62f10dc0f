"""What is examined: some services of an etcd, read once, and what checks find out about them, each asked for once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

from lbctl.balance.policies.base import Policy
from lbctl.clock import Clock
from lbctl.discovery.backends import distinct
from lbctl.discovery.directory import find, read
from lbctl.discovery.names import name_of
from lbctl.doctor.etcd_tools import EtcdTools
from lbctl.errors import NotFound
from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint, Instance, Invalid, Registry, Service
from lbctl.redaction import masked_text
from lbctl.rpc.access import Access
from lbctl.suggestion import PLAIN, Again

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Order:
    """What to examine, how backends are reached, and what may be done for it.

    ``given`` backends are examined instead of the registry. ``probe`` calls are sent through ``policy``; with
    ``canary`` a key is written and removed; ``prometheus`` is the URL of a server to ask. ``again`` and ``tools`` spell
    the commands that findings suggest.
    """

    policy: Policy
    access_for: Callable[[Instance], Access]
    service: str | None = None
    prefix: str | None = None
    layout: str | None = None
    named_by: str = ""
    timeout_s: float = 1.0
    probe: int = 0
    canary: bool = False
    prometheus: str = ""
    queries: tuple[str, str] = ("", "")  # for CPU and requests, instead of the usual ones
    codes: frozenset[str] = frozenset()  # of the checks that are made
    given: tuple[Instance, ...] = ()
    again: Again = field(default_factory=Again)
    tools: EtcdTools = field(default_factory=EtcdTools)


class Case:
    """The services as one read found them; ``once`` keeps what is found out besides, until the block ends.

    Without ``etcd`` the services are the backends that were given.
    """

    def __init__(self, etcd: Etcd | None, order: Order, clock: Clock, rng: Random, registry: Registry) -> None:
        self.unread = ""  # why the registry could not be read, if that is so
        self._etcd = etcd
        self.order = order
        self.clock = clock
        self.rng = rng
        self.revision = registry.revision
        self.services = chosen(registry, order.service, order.layout, order.again)
        self.invalid = _beside(registry, self.services, order.service)
        self._all = registry.services
        self._homes = {(each.layout, each.key): service for service in self.services for each in service.instances}
        self._made: dict[object, asyncio.Task[Any]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._made.values():
            task.cancel()
        await asyncio.gather(*self._made.values(), return_exceptions=True)

    async def once(self, find_out: Callable[[Case], Coroutine[Any, Any, T]]) -> T:
        """What a function finds out about this case; it is run when the first one asks."""
        if find_out not in self._made:
            self._made[find_out] = asyncio.create_task(find_out(self))
        found: T = await asyncio.shield(self._made[find_out])
        return found

    @property
    def etcd(self) -> Etcd:
        """The etcd that is examined; only checks that need one ask for it."""
        assert self._etcd is not None
        return self._etcd

    @property
    def is_direct(self) -> bool:
        """Whether backends were given, and no etcd is asked."""
        return self._etcd is None

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Where etcd is, as the user said; nothing without one."""
        return () if self._etcd is None else self._etcd.endpoints

    def command(self, verb: str, whose: Service | Instance, *words: str, options: Sequence[str] = ()) -> str:
        """A command about a service, or the service of an instance, by a name that means it alone."""
        spell = self.order.again
        if self.is_direct:
            named = [whose] if isinstance(whose, Instance) else whose.instances
            return spell.command(verb, *words, options=("--backends", given_as(named), *options))
        service = self._homes[whose.layout, whose.key] if isinstance(whose, Instance) else whose
        name, layout = name_of(self._all, service)
        return spell.command(verb, name, *words, options=options, layout=layout)

    def named(self, instance: Instance) -> str | None:
        """What means one key in a command that may be shown: its address where the key holds a secret, None for none.

        An address under several keys means all of them.
        """
        if masked_text(instance.key) == instance.key:
            return instance.key
        home = self._homes[instance.layout, instance.key]
        alone = len({each.key for each in home.instances if each.endpoint == instance.endpoint}) == 1
        return instance.address if alone else None

    def removal(self, instance: Instance) -> str:
        """The command that takes one key away; where it cannot be shown, the one that lists keys as they are."""
        where = self.named(instance)
        if where is None:
            return self.command("ls", instance, options=("-o", "json"))
        return self.command("deregister", instance, where)

    def etcdctl(self, *words: str, endpoint: str = "") -> str:
        """A command of etcd's own tool, put to one endpoint or to all."""
        return self.order.tools.etcdctl([endpoint] if endpoint else self.endpoints, *words)

    @property
    def instances(self) -> Iterator[Instance]:
        """Every key of every service."""
        return (each for service in self.services for each in service.instances)

    @property
    def keys(self) -> Iterator[Instance]:
        """Every key of every service once: as the first of its instances that speaks gRPC, if any does."""
        for service in self.services:
            yield from one_of_each_key(service)

    @property
    def ways(self) -> dict[Endpoint, Access]:
        """How every address is reached that gRPC may be spoken at: as its first key says."""
        found: dict[Endpoint, Access] = {}
        for service in self.services:
            for each in distinct(each for each in service.instances if each.speaks_grpc):
                if each.endpoint not in found:
                    found[each.endpoint] = self.order.access_for(each)
        return found


def addressed(service: Service) -> tuple[Instance, ...]:
    """The instances that gRPC may be spoken at; all of them where there is none."""
    return tuple(each for each in service.instances if each.speaks_grpc) or service.instances


def one_of_each_key(service: Service) -> Iterable[Instance]:
    """One instance for every key of a service: the first that speaks gRPC, or else the first."""
    found: dict[str, Instance] = {}
    for each in service.instances:
        if each.key not in found or (each.speaks_grpc and not found[each.key].speaks_grpc):
            found[each.key] = each
    return found.values()


def blind(etcd: Etcd, order: Order, clock: Clock, rng: Random, why: str) -> Case:
    """What there is to examine where etcd does not let itself be read: its members."""
    case = Case(etcd, replace(order, service=None, probe=0, prometheus=""), clock, rng, Registry(0, ()))
    case.unread = why
    return case


def given_as(instances: Iterable[Instance]) -> str:
    """Backends as ``--backends`` takes them."""
    weights = ((each.address, each.effective_weight) for each in instances)
    return ",".join(address if weight == 1 else f"{address}={weight}" for address, weight in weights)


async def opened(etcd: Etcd | None, order: Order, clock: Clock, rng: Random) -> Case:
    """Read what is to be examined; raises NotFound for an unknown service, RegistryError where etcd does not answer."""
    if etcd is None:
        return Case(None, order, clock, rng, Registry(0, (Service("backends", "backends", "", order.given),)))
    registry = await read(etcd, order.prefix, layout=order.layout, named_by=order.named_by)
    return Case(etcd, order, clock, rng, registry)


def chosen(
    registry: Registry, name: str | None, layout: str | None = None, again: Again = PLAIN
) -> tuple[Service, ...]:
    """The services that a name means: all layouts that have it under one prefix, and what else is called the same.

    Raises what ``find`` does, with hints that ``again`` spells.
    """
    services = tuple(each for each in registry.services if layout in (None, each.layout))
    if name is None:
        return services
    exact = [each for each in services if name in (each.name, each.prefix, each.prefix.rstrip("/"))]
    if not exact:
        exact = [_found(registry, services, name, layout, again)]
    names, prefixes = {each.name for each in exact}, {each.prefix for each in exact}
    return tuple(each for each in services if each.name in names or each.prefix in prefixes)


def _found(registry: Registry, services: tuple[Service, ...], name: str, layout: str | None, again: Again) -> Service:
    """The service that an unclear name means; of several under one prefix the first one."""
    try:
        return find(registry, name, layout, again)
    except NotFound:
        alike = [each for each in services if each.name.rpartition("/")[2] == name]
        if alike and len({each.prefix for each in alike}) == 1:
            return alike[0]
        raise


def _beside(registry: Registry, services: tuple[Service, ...], name: str | None) -> tuple[Invalid, ...]:
    """The unusable keys: all of them, or those beside the services that were named."""
    if name is None:
        return registry.invalid
    return tuple(flaw for flaw in registry.invalid if any(each.has_room_for(flaw.key) for each in services))
