"""Results in the formats that programs read: one document, or one record per line, never a colour or a unit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Container, Iterable, Iterator, Sequence

from lbctl.discovery.listing import Listing, listed_instances, shares
from lbctl.model import Instance, Service
from lbctl.view.figures import Document, lease_id, ratio
from lbctl.view.text import clean

_COLUMNS = (
    "service", "layout", "key", "address", "weight", "share", "health", "rtt_ms", "lease_id", "lease_ttl_s",
    "lease_granted_s", "create_revision", "mod_revision", "status", "protocol", "secure",
)  # fmt: skip


def as_json(document: Document, *, dense: Container[str] = ()) -> str:
    """Spell a document over several lines; of what is ``dense`` each entry has one, however much is in it."""
    entries = [
        f"{json.dumps(key)}: {_dense_json(value) if key in dense else _indented(value)}"
        for key, value in document.items()
    ]
    return _tame("{\n  " + ",\n  ".join(entries) + "\n}" if entries else "{}")


def as_json_value(value: object) -> str:
    """Spell any JSON over several lines."""
    return _tame(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def _indented(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).replace("\n", "\n  ")


def _dense_json(value: object) -> str:
    if isinstance(value, dict) and value:
        lines = (f"{json.dumps(key, ensure_ascii=False)}: {_in_a_line(entry)}" for key, entry in value.items())
        return "{\n    " + ",\n    ".join(lines) + "\n  }"
    if isinstance(value, list) and value:
        return "[\n    " + ",\n    ".join(map(_in_a_line, value)) + "\n  ]"
    return _in_a_line(value)


def _in_a_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def as_json_text(value: object) -> str:
    """Spell any JSON in one line, with blanks as people write it."""
    return _tame(_in_a_line(value))


def as_json_line(document: Document) -> str:
    """Spell a document in one line."""
    return _tame(json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def _tame(text: str) -> str:
    """Escape what JSON lets through and would steer a terminal: C1 controls, DEL, marks of direction."""
    if _is_tame(text):
        return text
    return "".join(char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text).replace(
        "\x7f", "\\u007f"
    )


def _is_tame(text: str) -> bool:
    return text.replace("\n", "").isprintable()


def as_yaml(document: Document, *, dense: Container[str] = ()) -> str:
    """Spell a document as YAML; the keys stay in their order, and innermost parts of what is ``dense`` on a line."""
    text = _yaml(document, dense, unicode=True)
    return text if _is_tame(text) else _yaml(document, dense, unicode=False)


def _yaml(document: Document, dense: Container[str], *, unicode: bool) -> str:
    import yaml

    parts = [
        yaml.safe_dump(
            {key: value},
            sort_keys=False,
            allow_unicode=unicode,
            width=1_000_000,
            default_flow_style=None if key in dense else False,
        )
        for key, value in document.items()
    ]
    return "".join(parts).rstrip("\n")


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]], *, headers: bool = True) -> str:
    """Spell rows as comma-separated values (RFC 4180, but lines end with a newline); None is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if headers:
        writer.writerow(header)
    writer.writerows([_csv_value(value) for value in row] for row in rows)
    return buffer.getvalue().rstrip("\n")


def _csv_value(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not value.isprintable():
        return clean(value, 10 * len(value))
    return "" if value is None else value


def listing_csv(listing: Listing, *, headers: bool = True) -> str:
    """Spell a listing as one record per instance."""
    rows = [row for service in listing.registry.services for row in _records(listing, service)]
    return as_csv(_COLUMNS, rows, headers=headers)


def listing_names(listing: Listing, *, instances: bool) -> str:
    """Spell bare names of services, or bare addresses of instances, one per line."""
    services = listing.registry.services
    names = (
        [each.address for service in services for each in service.instances]
        if instances
        else [s.name for s in services]
    )
    return "\n".join(clean(name, 10 * len(name)) for name in dict.fromkeys(names))


def _records(listing: Listing, service: Service) -> Iterator[Sequence[object]]:
    share = shares(service)
    for instance in listed_instances(service):
        yield _record(listing, service, instance, share[instance.identity])


def _record(listing: Listing, service: Service, instance: Instance, share: float) -> Sequence[object]:
    lease, health = listing.lease_of(instance), listing.health_of(instance)
    return (
        service.name,
        service.layout,
        instance.key,
        instance.address,
        instance.weight,
        ratio(share),
        str(health.status) if health else None,
        None if health is None or health.rtt_s is None else round(health.rtt_s * 1e3, 3),
        lease_id(instance.lease) if instance.lease else None,
        lease.ttl if lease else None,
        lease.granted if lease else None,
        instance.create_revision,
        instance.mod_revision,
        instance.status,
        instance.protocol,
        instance.secure,
    )
