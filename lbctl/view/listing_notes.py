"""What is said about a listing besides the listing: warnings, and what an empty one means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from lbctl.discovery.backends import distinct
from lbctl.discovery.directory import LARGE_BYTES, normal_prefix
from lbctl.discovery.listing import MOST_LISTED, Aside, Listing
from lbctl.model import Service
from lbctl.suggestion import PLAIN, Again
from lbctl.view.expectation import expectation_words
from lbctl.view.services import in_rotation
from lbctl.view.text import clean, plural

_SELF_EVIDENT: Final = ("REFUSED", "TIMEOUT", "UNIMPLEMENTED")
_MOST: Final = 5  # reasons, or addresses with one, that are told


def notes(
    listing: Listing, *, asked: str | None, endpoints: Sequence[str], prefix: str | None = None, again: Again = PLAIN
) -> Iterator[str]:
    """Yield the lines for standard error.

    ``asked`` is how the one service was called that is listed, ``prefix`` the one that was asked for. ``again`` spells
    commands that look in the same place.
    """
    registry = listing.registry
    yield from _warnings(registry.services)
    yield from map(_too_many, filter(_is_large, registry.services))
    for note in registry.notes:
        yield f"note: {clean(note)}"
    if registry.large:
        yield f"note: {clean(_large(registry.large))}"
    if listing.aside is not None:
        yield from _other_layouts(listing.aside)
    if asked is not None:
        yield from _about(listing, registry.services[0], again.command("doctor", asked))
        yield from expectation_words(listing.expectation) if listing.expectation is not None else ()
    elif not registry.services:
        yield no_services(endpoints, prefix)
    if registry.foreign and asked is None and listing.rest is None:
        yield f"note: {plural(registry.foreign, 'other key')}; see: {again.command('ls', options=('--all',))}"


def not_shown(left_out: Mapping[tuple[str, ...], int], noun: str, *, wide: bool) -> str:
    """Say how many rows of which kinds are not shown, and what shows them, unless that is the case already."""
    total = sum(left_out.values())
    most = sorted(left_out.items(), key=lambda each: -each[1])
    kinds = [clean(" ".join(kind)) + (f": {number:,}" if most[1:] else "") for kind, number in most[:_MOST]]
    more = f"; and {len(most) - _MOST} more kinds" if most[_MOST:] else ""
    where = "" if wide else "; -o wide or -o json has them"
    return f"note: {plural(total, f'more {noun}')} not shown ({'; '.join(kinds)}{more}){where}"


def no_services(endpoints: Sequence[str], prefix: str | None) -> str:
    """Say where nothing was found; a prefix as it was taken, to the letter and with the separator at its end."""
    root = normal_prefix(prefix)
    where = "" if root is None else f' under "{root}"'
    return f"no services{where} in etcd {', '.join(endpoints)}"


def _warnings(services: Iterable[Service]) -> Iterator[str]:
    """Each warning once for all instances of a service that it is about."""
    for service in services:
        concerned: dict[str, list[str]] = {}
        for instance in service.instances:
            for warning in instance.warnings:
                concerned.setdefault(warning, []).append(instance.address)
        for warning, addresses in concerned.items():
            known = list(dict.fromkeys(addresses))
            more = f" and {len(known) - _MOST:,} more" if known[_MOST:] else ""
            yield f"warning: {clean(', '.join(known[:_MOST]))}{more}: {clean(warning)}"


def _other_layouts(aside: Aside) -> Iterator[str]:
    """What is not listed as it is of other layouts than the one asked for."""
    flaws = sum(aside.invalid.values())
    found = [plural(aside.services, "service")] if aside.services else []
    if flaws:
        kinds = ", ".join(f"{clean(layout)} {number:,}" for layout, number in sorted(aside.invalid.items()))
        found.append(f"{plural(flaws, 'unusable key')} ({kinds})")
    if found:
        yield f"note: not listed, as of other layouts: {' and '.join(found)}; see them without --layout"


def _large(values: Mapping[str, int]) -> str:
    """Say how large the values of registrations are that nobody reads to their ends."""
    key, size = max(values.items(), key=lambda each: each[1])
    count = "1 value has" if len(values) == 1 else f"{len(values):,} values have"
    return f"{count} more than {LARGE_BYTES // 1024} KiB ({size:,} bytes at {key}): not all of it is shown"


def _is_large(service: Service) -> bool:
    return len(service.instances) > MOST_LISTED


def _too_many(service: Service) -> str:
    keys = f"{clean(service.name)} has {len(service.instances):,} keys"
    return f"note: {keys}: listed are the newest of each address, {MOST_LISTED:,} at most"


def _about(listing: Listing, service: Service, look: str) -> Iterator[str]:
    if not service.instances:
        yield f'service "{clean(service.name)}" has no instance to show'
        return
    if any(each.weight is None for each in service.instances):
        yield "note: a weight in parentheses is not in the registry: balancers use 1"
    backends = distinct(service.instances)
    if len(backends) < len(service.instances):
        yield "note: an address with several keys is one backend, as the newest of them describes it"
    others = sorted({clean(str(each.protocol)) for each in backends if not each.speaks_grpc})
    if others:
        yield f"note: gRPC clients do not call what speaks {', '.join(others)}"
    if listing.checked:
        called = [each for each in backends if each.speaks_grpc]
        ready, total = sum(in_rotation(listing, each) for each in called), len(called)
        yield from _reasons(listing, service)
        yield f"{ready} of {total} ready" + ("" if ready == total else f"; {total - ready} need a look: {look}")


def _reasons(listing: Listing, service: Service) -> Iterator[str]:
    """Why instances cannot be called, where the word in the table does not say it all."""
    told = []
    for instance in service.instances:
        health = listing.health_of(instance)
        if health is not None and health.detail and health.status not in _SELF_EVIDENT:
            told.append(f"note: {clean(instance.address)} {clean(health.detail)}")
    yield from told[:_MOST]
    if told[_MOST:]:
        yield f"note: and {len(told) - _MOST} more"
