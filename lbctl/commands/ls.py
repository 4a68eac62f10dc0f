"""``lbctl ls``: one read of the registry, the leases of what was found, and a health check of it if asked for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lbctl.discovery.directory import UNKNOWN, find, read, survey, with_large
from lbctl.discovery.elsewhere import elsewhere
from lbctl.discovery.expectation import Expectation, Missing, compare
from lbctl.discovery.listing import Aside, Listing, Rest
from lbctl.discovery.scan import Tell
from lbctl.etcd.client import Etcd, TimeToLive
from lbctl.model import Endpoint, Identity, Instance, Invalid, Registry, Service
from lbctl.suggestion import Again

if TYPE_CHECKING:
    from lbctl.rpc.access import Access
    from lbctl.rpc.health import Health

_LEASES_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Ls:
    """What to list. Without a service every service is listed; ``everything`` lists the keys of none, too.

    ``expected`` are the addresses that the service ought to have, None where nobody says.

    ``named_by`` is key or value where services are to be called by that. ``access_for`` says how an instance is called
    where health is checked; None calls all by plaintext. ``again`` spells commands that look in the same place.
    """

    service: str | None = None
    prefix: str | None = None
    layout: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    check: bool = False
    check_timeout_s: float = 1.0
    access_for: Callable[[Instance], Access] | None = None
    named_by: str = ""
    everything: bool = False
    expected: tuple[Endpoint, ...] | None = None
    again: Again = field(default_factory=Again)


async def run(etcd: Etcd, request: Ls, tell: Tell | None = None) -> Listing:
    """Read the registry; raises NotFound for a service that is not there, RegistryError where etcd does not answer."""
    everything, rest = await _read(etcd, request, tell)
    registry = _with_notes(select(everything, request), request)
    instances = _instances(registry)
    leases, health, expectation = await asyncio.gather(
        _leases(etcd, instances), _health(instances, request), _expectation(registry, request)
    )
    return Listing(registry, leases, health, request.check, rest, aside(everything, request), expectation)


def _with_notes(registry: Registry, request: Ls) -> Registry:
    """Say what stands where nobody may look for it, unless that is where the listing was asked for."""
    strays = elsewhere(registry.services) if request.prefix is None else ()
    return replace(registry, notes=(*registry.notes, *strays))


async def _read(etcd: Etcd, request: Ls, tell: Tell | None) -> tuple[Registry, Rest | None]:
    prefix, layout, named_by = request.prefix, request.layout, request.named_by
    if not request.everything:
        return await read(etcd, prefix, layout=layout, named_by=named_by, tell=tell), None
    found = await survey(etcd, prefix, layout=layout, named_by=named_by, tell=tell)
    return found.registry, Rest(found.possible, found.others, found.unread)


def select(registry: Registry, request: Ls) -> Registry:
    """Keep what was asked for: one service with the unusable keys beside it, and instances with every label."""
    services = tuple(each for each in registry.services if request.layout in (None, each.layout))
    invalid = tuple(each for each in registry.invalid if _is_of(request.layout, each))
    if request.service is not None:
        service = find(registry, request.service, request.layout, request.again)
        services = (service,)
        invalid = tuple(each for each in invalid if service.has_room_for(each.key))
    if request.labels:
        services = tuple(_with_labels(service, request.labels) for service in services)
        if request.service is None:
            services = tuple(service for service in services if service.instances)
    return with_large(replace(registry, services=services, invalid=invalid), registry.large)


def aside(registry: Registry, request: Ls) -> Aside | None:
    """Count what ``select`` leaves out as it is of other layouts; None where none was asked for."""
    if request.layout is None:
        return None
    invalid = [each for each in registry.invalid if not _is_of(request.layout, each)]
    if request.service is None:
        services = sum(each.layout != request.layout for each in registry.services)
    else:
        service = find(registry, request.service, request.layout, request.again)
        invalid = [each for each in invalid if service.has_room_for(each.key)]
        services = sum(each.layout != service.layout and each.prefix == service.prefix for each in registry.services)
    return Aside(services, Counter(each.layout for each in invalid))


def _is_of(layout: str | None, invalid: Invalid) -> bool:
    """Whether an unusable key is of the layout, or of one that nobody knows."""
    return layout is None or invalid.layout in (layout, UNKNOWN)


def _with_labels(service: Service, labels: Iterable[tuple[str, str]]) -> Service:
    kept = tuple(each for each in service.instances if all(_has(each, key, value) for key, value in labels))
    return replace(service, instances=kept)


def _has(instance: Instance, key: str, value: str) -> bool:
    """Whether the metadata has this value under the key, or under the same name that lbctl gave it (``@zone``)."""
    found = instance.metadata.get(key, instance.metadata.get(f"@{key}"))
    return found is not None and _spelled(found) == value


def _spelled(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


async def _leases(etcd: Etcd, instances: Iterable[Instance]) -> dict[int, TimeToLive]:
    """Ask once about each distinct lease; one that expired meanwhile is left out."""
    slots = asyncio.Semaphore(_LEASES_AT_ONCE)

    async def ask(lease: int) -> tuple[int, TimeToLive | None]:
        async with slots:
            return lease, await etcd.time_to_live(lease)

    wanted = sorted({each.lease for each in instances if each.lease})
    answers = await asyncio.gather(*(ask(lease) for lease in wanted))
    return {lease: left for lease, left in answers if left is not None}


async def _health(instances: list[Instance], request: Ls) -> dict[Identity, Health]:
    """Check every distinct address once, however many keys name it; the first of them says how it is called."""
    if not request.check:
        return {}
    from lbctl.rpc.access import plain
    from lbctl.rpc.health import check_all

    access_for, instances = request.access_for or plain, [each for each in instances if each.speaks_grpc]
    ways: dict[Endpoint, Access] = {each.endpoint: access_for(each) for each in reversed(instances)}
    answers = await check_all(ways, timeout_s=request.check_timeout_s)
    return {each.identity: answers[each.endpoint] for each in instances}


async def _expectation(registry: Registry, request: Ls) -> Expectation | None:
    """Compare with what is expected; who is not registered is asked for its health all the same."""
    if request.expected is None:
        return None
    found = compare(request.expected, _instances(registry), registry.invalid)
    if not request.check or not found.missing:
        return found
    from lbctl.rpc.access import plain
    from lbctl.rpc.health import check_all

    (service,) = registry.services
    access_for = request.access_for or plain
    ways = {each.endpoint: access_for(_as_if(service, each)) for each in found.missing}
    return replace(found, health=await check_all(ways, timeout_s=request.check_timeout_s))


def _as_if(service: Service, missing: Missing) -> Instance:
    """The instance that the backend would be, called as the others are."""
    secure = {each.secure for each in service.instances}
    alike = secure.pop() if len(secure) == 1 else None
    return Instance(str(missing.endpoint), service.name, service.layout, missing.endpoint, secure=alike)


def _instances(registry: Registry) -> list[Instance]:
    return [each for service in registry.services for each in service.instances]
