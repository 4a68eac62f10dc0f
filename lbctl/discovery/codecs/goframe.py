"""GoFrame: ``/{head}/{deployment}/{namespace}/{name}/{version}/{addr},{addr}`` -> metadata alone, a JSON object."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from lbctl.discovery.address import is_address, parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found, Place, place_of
from lbctl.discovery.codecs.credentials import has_credentials
from lbctl.discovery.codecs.protocols import spoken
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weight import parse_weight
from lbctl.discovery.codecs.weight_edit import reweighed_member
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

_NAME: Final = "goframe"
_ROOT: Final = "/service/"
_SLASHES: Final = 5
_KEY = re.compile(
    r"(?P<prefix>/*(?P<head>[^/]+)/(?P<deployment>[^/]+)/(?P<namespace>[^/]+)/(?P<name>[^/]*)/(?P<version>[^/]+)/)"
    r"(?P<endpoints>[^/]+)(/.*)?",
    re.DOTALL,
)
_EXTRAS: Final = ("head", "deployment", "namespace", "version")
# Metadata never say where the server is: an object that does is some other layout's.
_ADDRESSES: Final = frozenset(("addr", "address", "endpoint", "endpoints", "target", "hostport", "host", "ip", "nodes"))


def parse(record: Record, claim: Claim) -> Found | None:
    """Read all addresses of one server, which has one per network it is in."""
    key = _split(record)
    if key is None or not _is_mine(record, key, claim):
        return None
    document = record.members() if record.value else {}
    endpoints = [_endpoint(text) for text in key["endpoints"].split(",")]
    weight, warnings = _weight(document.get("weight"))
    protocol, secure = _spoken(document)
    metadata = document | {f"@{part}": key[part] for part in _EXTRAS}
    return Found(tuple(Draft(each, weight, protocol, secure, metadata, warnings=warnings) for each in endpoints))


def place(record: Record, claim: Claim) -> Place:
    """A service is one version of a name, in one namespace of one deployment."""
    key = _split(record)
    return Place(key["name"], key["prefix"]) if key else place_of(record, claim)


def reweigh(value: bytes, weight: int) -> bytes:
    """Replace the member ``weight`` of the metadata, or add one."""
    return reweighed_member(value or b"{}", weight)


def _split(record: Record) -> re.Match[str] | None:
    return _KEY.fullmatch(record.key) if record.key.count("/") >= _SLASHES else None


def _is_mine(record: Record, key: re.Match[str], claim: Claim) -> bool:
    """Whether key and value together say so: by itself, a long key or an object of anything is nothing special."""
    is_expected = claim.owned or claim.is_known_as(_NAME)
    is_home = is_expected or record.key.startswith(_ROOT)
    if not record.value:
        return is_home
    if not record.looks_like_object:  # text after an address is an address gone wrong: the plain layout says so
        return is_expected and not is_address(record.leaf)
    document = record.document
    if document is None or any(name.lower() in _ADDRESSES for name in document):
        return is_home and document is None
    return is_home or (all(map(is_address, key["endpoints"].split(","))) and not has_credentials(document))


def _endpoint(text: str) -> Endpoint:
    endpoint = parse_address(text)
    if text.startswith("["):
        raise Unusable("bad_address", "an IPv6 address: clients panic over it")
    return endpoint


def _weight(found: object) -> tuple[int | None, tuple[str, ...]]:
    if found is None:
        return None, ()
    return parse_weight(found if isinstance(found, str) else json.dumps(found))


def _spoken(document: dict[str, Any]) -> tuple[str | None, bool | None]:
    scheme, insecure = document.get("protocol"), document.get("insecure")
    protocol, in_tls = spoken(scheme) if isinstance(scheme, str) and scheme else (None, False)
    if isinstance(insecure, bool):
        return protocol, not insecure
    return protocol, in_tls or None


CODEC = Codec(
    _NAME,
    parse,
    form="/{head}/{deployment}/{namespace}/{name}/{version}/{addr},... -> JSON",
    roots=(_ROOT,),
    reweigh=reweigh,
    place=place,
)
