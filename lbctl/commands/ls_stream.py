"""``lbctl ls -w``: what changes in a listing, for ever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import NamedTuple

from lbctl.commands.ls import Ls, select
from lbctl.discovery.backends import distinct
from lbctl.discovery.catalog import Catalog
from lbctl.discovery.changes import Change, compare, diff
from lbctl.discovery.directory import follow, follow_keys, normal_prefix
from lbctl.discovery.listing import Listing, shares
from lbctl.etcd.client import Etcd
from lbctl.etcd.events import Changes, Lost, Resumed, Resync, Snapshot
from lbctl.model import Endpoint, Identity, Instance, Registry, Service

_Spot = tuple[str, str, str, Endpoint]  # layout, prefix and name of a service, and an address of it


class Moment(NamedTuple):
    """What changed in the listed services at one revision; or news about the connection, in words.

    ``kept`` are keys of backends that left which are still there, and the layout that has each now, "" for none.
    """

    revision: int
    changes: tuple[Change, ...] = ()
    shares: Mapping[Identity, float] = {}
    notice: str = ""
    kept: Mapping[str, str] = {}


async def stream(etcd: Etcd, listing: Listing, request: Ls, show: Callable[[Moment], None]) -> None:
    """Show every later change of what was listed, for ever; without a service, also of services that appear."""
    if request.service is None:
        await _stream_all(etcd, listing.registry, request, show)
        return
    before, backends = listing.registry, _Backends(listing.registry)
    async with aclosing(follow(etcd, before.services[0], request.layout, request.named_by)) as updates:
        async for update in updates:
            if update.notice is not None:
                show(Moment(update.revision, notice=update.notice.text))
            after = replace(before, services=(update.service,), invalid=update.invalid, revision=update.revision)
            after = select(after, replace(request, service=None))
            show(backends.take(after)._replace(kept=update.kept))


async def _stream_all(etcd: Etcd, before: Registry, request: Ls, show: Callable[[Moment], None]) -> None:
    backends = _Backends(before)
    root = normal_prefix(request.prefix)
    catalog = Catalog(root or "", rooted=root is not None, preferred=request.layout or "", named_by=request.named_by)
    async with aclosing(follow_keys(etcd, request.prefix)) as events:
        async for event in events:
            if isinstance(event, Lost | Resumed):
                show(Moment(backends.revision, notice=_news(event)))
                continue
            _apply(catalog, event)
            services, invalid, foreign = catalog.read()
            after = select(Registry(event.revision, services, invalid, foreign), request)
            show(backends.take(after))


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


class _Backends:
    """The backends of a listing: a row is about an address, and keeps its name while other keys of it come and go."""

    def __init__(self, listed: Registry) -> None:
        self._listed = listed
        self._known = {
            _spot(service, each): each for service in listed.services for each in distinct(service.instances)
        }

    @property
    def revision(self) -> int:
        """That of the listing as it was last told."""
        return self._listed.revision

    def take(self, listed: Registry) -> Moment:
        """Return what is different in a newer listing."""
        share: dict[Identity, float] = {}
        before = self._known
        now: dict[_Spot, Instance] = {}
        for service in listed.services:
            backends = tuple(self._named(service, each) for each in distinct(service.instances))
            share |= shares(replace(service, instances=backends))
            now |= {_spot(service, each): each for each in backends}
        gone = [each for spot, each in before.items() if spot not in now]
        new = [each for spot, each in now.items() if spot not in before]
        stays = (compare(before[spot], each) for spot, each in now.items() if spot in before)
        came_and_went, broken = diff(gone, new), diff((), (), self._listed.invalid, listed.invalid)
        self._listed, self._known = listed, now
        return Moment(listed.revision, (*came_and_went, *filter(None, stays), *broken), share)

    def _named(self, service: Service, instance: Instance) -> Instance:
        known = self._known.get(_spot(service, instance))
        return instance if known is None else replace(instance, key=known.key)


def _spot(service: Service, instance: Instance) -> _Spot:
    return service.layout, service.prefix, service.name, instance.endpoint
