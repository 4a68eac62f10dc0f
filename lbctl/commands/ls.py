"""``lbctl ls``: one read of the registry, the leases of what was found, and a health check of it if asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.changes import Change, diff
from lbctl.discovery.directory import find, follow, follow_keys, normal_prefix, read, survey
from lbctl.discovery.elsewhere import elsewhere
from lbctl.discovery.listing import Listing, Rest, shares
from lbctl.discovery.scan import Tell
from lbctl.etcd.client import Etcd, TimeToLive
from lbctl.etcd.events import Changes, Lost, Resumed, Resync, Snapshot
from lbctl.model import Endpoint, Identity, Instance, Registry, Service

if TYPE_CHECKING:
    from lbctl.rpc.access import Access
    from lbctl.rpc.health import Health

_LEASES_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Ls:
    """What to list. Without a service every service is listed; ``everything`` lists the keys of none, too.

    ``named_by`` is key or value where services are to be called by that. ``access_for`` says how an instance is called
    where health is checked; None calls all by plaintext.
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


async def run(etcd: Etcd, request: Ls, tell: Tell | None = None) -> Listing:
    """Read the registry; raises NotFound for a service that is not there, RegistryError where etcd does not answer."""
    registry, rest = await _read(etcd, request, tell)
    registry = _with_notes(select(registry, request), request)
    instances = _instances(registry)
    leases, health = await asyncio.gather(_leases(etcd, instances), _health(instances, request))
    return Listing(registry, leases, health, request.check, rest)


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
    invalid = tuple(each for each in registry.invalid if request.layout in (None, each.layout))
    if request.service is not None:
        service = find(registry, request.service, request.layout)
        services = (service,)
        invalid = tuple(each for each in invalid if service.has_room_for(each.key))
    if request.labels:
        services = tuple(_with_labels(service, request.labels) for service in services)
        if request.service is None:
            services = tuple(service for service in services if service.instances)
    return replace(registry, services=services, invalid=invalid)


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


class Moment(NamedTuple):
    """What changed in the listed services at one revision; or news about the connection, in words."""

    revision: int
    changes: tuple[Change, ...] = ()
    shares: Mapping[Identity, float] = {}
    notice: str = ""


async def stream(etcd: Etcd, listing: Listing, request: Ls, show: Callable[[Moment], None]) -> None:
    """Show every later change of what was listed, for ever; without a service, also of services that appear."""
    if request.service is None:
        await _stream_all(etcd, listing.registry, request, show)
        return
    before = listing.registry
    async with aclosing(follow(etcd, before.services[0], request.layout, request.named_by)) as updates:
        async for update in updates:
            if update.notice is not None:
                show(Moment(update.revision, notice=update.notice.text))
            after = replace(before, services=(update.service,), invalid=update.invalid, revision=update.revision)
            after = select(after, replace(request, service=None))
            show(_moment(before, after))
            before = after


async def _stream_all(etcd: Etcd, before: Registry, request: Ls, show: Callable[[Moment], None]) -> None:
    root = normal_prefix(request.prefix)
    catalog = Catalog(root or "", rooted=root is not None, preferred=request.layout or "", named_by=request.named_by)
    async with aclosing(follow_keys(etcd, request.prefix)) as events:
        async for event in events:
            if isinstance(event, Lost | Resumed):
                show(Moment(before.revision, notice=_news(event)))
                continue
            _apply(catalog, event)
            services, invalid, foreign = catalog.read()
            after = select(Registry(event.revision, services, invalid, foreign), request)
            show(_moment(before, after))
            before = after


def _news(event: Lost | Resumed) -> str:
    if isinstance(event, Lost):
        return f"etcd {event.endpoint}: {event.reason}; what was printed may be old"
    return f"etcd {event.endpoint} is back, synced at revision {event.revision}"


def _apply(catalog: Catalog, event: Snapshot | Changes | Resync) -> None:
    if isinstance(event, Snapshot):
        for entry in event.entries:
            catalog.put(entry)
        return
    for change in event.changes:
        if change.entry is None:
            catalog.remove(change.key)
        else:
            catalog.put(change.entry)


def _moment(before: Registry, after: Registry) -> Moment:
    known, now = _instances(before), _instances(after)
    share = {identity: part for service in after.services for identity, part in shares(service).items()}
    return Moment(after.revision, diff(known, now, before.invalid, after.invalid), share)


def _instances(registry: Registry) -> list[Instance]:
    return [each for service in registry.services for each in service.instances]
