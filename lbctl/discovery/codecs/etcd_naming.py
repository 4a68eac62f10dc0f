"""etcd's own Go naming (``clientv3/naming``): ``{target}/{anything}`` -> ``{"Op":0,"Addr":"...","Metadata":...}``."""

from __future__ import annotations

import json
from typing import Any

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs import strict_json
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.json_edit import Edit, Part, applied, carried_out, first_item, inserted, member, part_at
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Registration, Wanted, compact
from lbctl.discovery.codecs.weight import parse_weight
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

# Spelled with capitals by the writer; anything else is some other JSON layout.
_FIELDS = frozenset({"Op", "Addr", "Metadata", "MetadataX"})
_DELETED = 1
_MAX_UNWRAP = 3


def parse(record: Record, claim: Claim) -> Found | None:
    """Read an endpoint update; the field names are a strong sign, so the key does not matter."""
    document = record.members() if claim.owned else record.document
    if document is None:
        return None
    if not document.keys() <= _FIELDS or not document.keys() & {"Op", "Addr"}:
        if claim.owned:
            raise Unusable("unknown_layout", "JSON without Op, Addr and Metadata alone")
        return None
    return Found((_draft(record, document),))


def _draft(record: Record, document: dict[str, Any]) -> Draft:
    _check_operation(document.get("Op", 0))
    endpoint = _endpoint(document.get("Addr"))
    metadata = _metadata(document.get("Metadata", document.get("MetadataX")))
    weight, warnings = _weight(metadata)
    return Draft(endpoint, weight, metadata=metadata, warnings=leaf_warnings(record, endpoint) + warnings)


def _check_operation(operation: object) -> None:
    if isinstance(operation, bool) or not isinstance(operation, int) or not 0 <= operation <= 255:
        raise Unusable("wrong_type", "Op is not a number that fits; Go clients skip the whole value")
    if operation == _DELETED:
        raise Unusable("tombstone", "Op is 1: marked as deleted, yet some clients still dial it")


def _endpoint(address: object) -> Endpoint:
    if address is None:
        raise Unusable("no_address", "no Addr")
    if not isinstance(address, str):
        raise Unusable("wrong_type", "Addr is not a string; Go clients skip the whole value")
    if not address:
        raise Unusable("no_address", "Addr is empty")
    return parse_address(address)


def _metadata(found: object) -> dict[str, Any]:
    """Return the writer's own map; JSON inside a string is unwrapped, a bare value becomes ``@metadata``."""
    for _ in range(_MAX_UNWRAP):
        if not isinstance(found, str) or (inner := _unwrapped(found)) is None:
            break
        found = inner
    if found is None:
        return {}
    return dict(found) if isinstance(found, dict) else {"@metadata": found}


def _unwrapped(text: str) -> object | None:
    """Return what a string holds where that is an object or another string; a plain word stays a word."""
    try:
        inner = strict_json.loads(text.encode("utf-8", "replace"))
    except Unusable:
        return None
    return inner if isinstance(inner, str | dict) else None


def _weight(metadata: dict[str, Any]) -> tuple[int | None, tuple[str, ...]]:
    """Read ``Metadata.weight``: a number, its text, or the first of a list (gRPC metadata maps to lists)."""
    found = metadata.get("weight")
    if isinstance(found, list) and found:
        found = found[0]
    if found is None:
        return None, ()
    if isinstance(found, int | float) and not isinstance(found, bool):
        return parse_weight(json.dumps(found))
    return parse_weight(found if isinstance(found, str) else json.dumps(found))


def reweigh(value: bytes, weight: int) -> bytes:
    """Replace ``Metadata.weight`` in the spelling it has, a number or a text; where there is none, add a number."""
    text = value.decode("utf-8")
    document = part_at(text)
    metadata = member(text, document, "Metadata") or member(text, document, "MetadataX")
    if metadata is None:
        edit = inserted(text, document, "Metadata", f'{{"weight":{weight}}}')
    else:
        edit = _metadata_edit(text, metadata, weight, _MAX_UNWRAP)
    return applied(text, edit).encode("utf-8")


def _metadata_edit(text: str, metadata: Part, weight: int, unwrap: int) -> Edit:
    if metadata.value is None:
        return Edit(metadata.start, metadata.end, f'{{"weight":{weight}}}')
    if isinstance(metadata.value, str) and unwrap and _unwrapped(metadata.value) is not None:
        inner = metadata.value
        return carried_out(text, metadata, _metadata_edit(inner, part_at(inner), weight, unwrap - 1))
    if not isinstance(metadata.value, dict):
        raise Unusable("no_weight", "Metadata is not an object: it has no place for a weight")
    found = member(text, metadata, "weight")
    if found is None:
        return inserted(text, metadata, "weight", str(weight))
    if isinstance(found.value, list) and found.value:
        found = first_item(text, found)
    return Edit(found.start, found.end, f'"{weight}"' if isinstance(found.value, str) else str(weight))


def write(wanted: Wanted) -> Registration:
    """Spell an update that adds an address; the layout has no weight of its own, so one travels in the metadata."""
    address, weight = str(wanted.endpoint), {} if wanted.weight is None else {"weight": wanted.weight}
    value = {"Op": 0, "Addr": address, "Metadata": {**weight, **wanted.metadata} or None}
    return Registration(wanted.key("", wanted.service, address), compact(value))


CODEC = Codec(
    "etcd-naming",
    parse,
    form="{target}/{anything} -> JSON with Op, Addr and Metadata alone",
    objects=True,
    reweigh=reweigh,
    write=write,
)
