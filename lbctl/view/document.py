"""Registry results as plain dicts: the documents of docs/reference/. Keys may be added, never renamed."""

from __future__ import annotations

from datetime import datetime

from lbctl.discovery.listing import Aside, Listing, Rest, first_of_each, kind_of, listed_instances, shares
from lbctl.discovery.reading import Explanation
from lbctl.model import Event, Instance, Invalid, Service
from lbctl.view.expectation import expectation_document
from lbctl.view.figures import Document, lease_id, ratio, seconds_of, stamp
from lbctl.view.metadata import metadata_document
from lbctl.view.run_document import run_document

__all__ = ["explanation_document", "run_document", "services_document", "watch_document"]

SERVICES = "lbctl.services/v1"
WATCH = "lbctl.watch/v1"
EXPLANATION = "lbctl.explanation/v1"


def services_document(listing: Listing) -> Document:
    """Return the services document of ``ls -o json``."""
    registry = listing.registry
    invalid, left_out = first_of_each(registry.invalid, kind_of)
    return {
        "schema": SERVICES,
        "revision": registry.revision,
        "services": [_service(listing, service) for service in registry.services],
        "invalid": [_invalid(each) for each in invalid],
        "invalid_left_out": left_out.total(),
        "other_keys": registry.foreign,
        **({} if listing.aside is None else {"other_layouts": _aside(listing.aside)}),
        **({} if listing.expectation is None else {"expected": expectation_document(listing.expectation)}),
        **({} if listing.rest is None else _rest(listing, listing.rest)),
    }


def _rest(listing: Listing, rest: Rest) -> Document:
    kept, left_out = first_of_each(rest.others, lambda other: other.why)
    others = ({"key": each.key.decode("utf-8", "backslashreplace"), "why": each.why} for each in kept)
    unread = ({"where": each.where, "keys": each.keys, "why": each.why} for each in rest.unread)
    return {
        "possible": [_service(listing, service) for service in rest.possible],
        "others": list(others),
        "others_left_out": left_out.total(),
        "unread": list(unread),
    }


def _aside(aside: Aside) -> Document:
    return {"services": aside.services, "invalid": sum(aside.invalid.values())}


def explanation_document(explanation: Explanation) -> Document:
    """Return the document of ``ls --explain -o json``."""
    return {
        "schema": EXPLANATION,
        "revision": explanation.revision,
        "key": explanation.key,
        "rules": [{"rule": each.rule, "outcome": each.outcome, "why": each.why} for each in explanation.trials],
    }


def _service(listing: Listing, service: Service) -> Document:
    share, listed = shares(service), listed_instances(service)
    return {
        "name": service.name,
        "layout": service.layout,
        "prefix": service.prefix,
        "instances": [_instance(listing, each, share[each.identity]) for each in listed],
        "left_out": len(service.instances) - len(listed),
    }


def _instance(listing: Listing, instance: Instance, share: float) -> Document:
    health = listing.health_of(instance)
    return {
        **described(instance),
        "share": ratio(share),
        "lease": _lease(listing, instance),
        "create_revision": instance.create_revision,
        "mod_revision": instance.mod_revision,
        "health": str(health.status) if health else None,
        "rtt_ms": None if health is None or health.rtt_s is None else round(health.rtt_s * 1e3, 3),
        "warnings": list(instance.warnings),
    }


def described(instance: Instance) -> Document:
    """Return what the registry itself says about an instance, in the normal form of every layout."""
    return {
        "key": instance.key,
        "address": instance.address,
        "weight": instance.weight,
        "protocol": instance.protocol,
        "secure": instance.secure,
        **metadata_document(instance.metadata),
        "status": instance.status,
    }


def _lease(listing: Listing, instance: Instance) -> Document | None:
    if not instance.lease:
        return None
    known = listing.lease_of(instance)
    return {
        "id": lease_id(instance.lease),
        "ttl_s": known.ttl if known else None,
        "granted_s": known.granted if known else None,
    }


def _invalid(invalid: Invalid) -> Document:
    return {"key": invalid.key, "layout": invalid.layout, "code": invalid.code, "reason": invalid.reason}


def watch_document(
    event: Event,
    at: datetime,
    service: str,
    revision: int,
    instance: Instance | None = None,
    *,
    stale_s: float | None = None,
) -> Document:
    """Return one line of ``watch -o jsonl``; ``instance`` is the one the event is about, as it is now.

    ``stale_s`` is None while the registry is followed, else for how long it has been lost.
    """
    return {
        "schema": WATCH,
        "at": stamp(at, milliseconds=True),
        "t_s": seconds_of(event.t_s),
        "service": service,
        "revision": revision,
        "synced": stale_s is None,
        "stale_s": None if stale_s is None else seconds_of(stale_s),
        "kind": event.kind,
        "backend": event.backend,
        "text": event.text,
        "instance": None if instance is None else _known(instance),
    }


def _known(instance: Instance) -> Document:
    return {
        **described(instance),
        "create_revision": instance.create_revision,
        "mod_revision": instance.mod_revision,
        "lease": lease_id(instance.lease) if instance.lease else None,
    }
