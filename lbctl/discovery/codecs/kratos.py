"""Kratos v2 and v3, and sponge and eagle, which write the same: ``{namespace}/{name}/{id}`` -> a JSON object.

``{"id":"1","name":"orders","version":"v1","metadata":{"weight":"20"},"endpoints":["grpc://10.40.0.11:9000"]}``: one
endpoint for each transport of the process. TLS is the scheme ``grpcs``, up to v2.4 also ``?isSecure=true``.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.named import names
from lbctl.discovery.codecs.own_object import Document, is_claimed, own_object
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Registration, Wanted, compact
from lbctl.discovery.codecs.text_weight import parse_text_weight
from lbctl.discovery.codecs.transport_url import TransportUrl, usable_urls
from lbctl.discovery.codecs.weight_edit import reweighed_text_within
from lbctl.discovery.flaws import Unusable

_DEFAULT_WEIGHT: Final = 100
_ROOT: Final = "/microservices/"
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})  # as Go reads them
_FATE: Final = "Kratos clients fail for the whole service"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read one process: an instance for each of its endpoints."""
    members = own_object(record, claim, lambda found: _is_mine(found, record, claim), "name and endpoints", _FATE)
    if members is None:
        return None
    return Found(_drafts(record, members), members.text("name"))


def _is_mine(document: Document, record: Record, claim: Claim) -> bool:
    """Others name endpoints, too: go-micro's are objects and have nodes beside them, a configuration's have no id."""
    if not {"name", "endpoints"} <= document.keys() or "nodes" in document:
        return False
    endpoints, name = document["endpoints"], document["name"]
    if isinstance(endpoints, list) and any(isinstance(each, dict) for each in endpoints):
        return False
    return "id" in document or is_claimed(record, claim) or (isinstance(name, str) and names(record, name))


def _drafts(record: Record, members: Members) -> tuple[Draft, ...]:
    metadata = members.text_map("metadata")
    name, extras = members.text("name"), members.extras(id="id", version="version")
    endpoints = members.texts("endpoints")
    if not names(record, name):
        raise Unusable("name_mismatch", f"the value's name is {name}, not the key's; clients skip it")
    urls, left_out = usable_urls(endpoints, fatal={"scheme_missing"})
    weight, warnings = _weight(metadata)
    return tuple(_draft(url, weight, metadata | extras, left_out + warnings) for url in urls)


def _draft(url: TransportUrl, weight: int, metadata: dict[str, str], warnings: tuple[str, ...]) -> Draft:
    asks_for_tls = dict(reversed(parse_qsl(url.query))).get("isSecure") in _TRUE
    if asks_for_tls and not url.secure:
        warnings += ("?isSecure=true: Kratos 2.5 and later reads the scheme alone, and would call it without TLS",)
    return Draft(url.endpoint, weight, url.protocol, url.secure or asks_for_tls, metadata, warnings=warnings)


def _weight(metadata: dict[str, str]) -> tuple[int, tuple[str, ...]]:
    weight, warnings = parse_text_weight(metadata.get("weight"), _DEFAULT_WEIGHT)
    if weight < 0:
        raise Unusable("bad_weight", "weight is negative")
    return weight, warnings


def reweigh(value: bytes, weight: int) -> bytes:
    """Spell ``metadata.weight``, which is a text."""
    return reweighed_text_within(value, "metadata", weight)


def write(wanted: Wanted) -> Registration:
    """Spell an instance with one gRPC endpoint; weights are text in its metadata, and left out where none is wanted."""
    weight = {} if wanted.weight is None else {"weight": str(wanted.weight)}
    value = {
        "id": wanted.identifier,
        "name": wanted.service,
        "version": "",
        "metadata": {**weight, **wanted.metadata},
        "endpoints": [f"grpc://{wanted.endpoint}"],
    }
    return Registration(wanted.key(_ROOT, wanted.service, wanted.identifier), compact(value))


CODEC = Codec(
    "kratos",
    parse,
    form="{namespace}/{name}/{id} -> JSON with name and endpoints",
    objects=True,
    roots=(_ROOT,),
    reweigh=reweigh,
    write=write,
)
