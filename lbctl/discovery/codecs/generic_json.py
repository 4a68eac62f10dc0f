"""JSON as tutorials and scripts write it: an address, or host and port apart, and perhaps name, version and weight."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from lbctl.discovery.address import is_address, parse_address
from lbctl.discovery.codecs.base import COMMON_ROOTS, Claim, Codec, Draft, Found
from lbctl.discovery.codecs.credentials import has_credentials
from lbctl.discovery.codecs.hosts import endpoint_at
from lbctl.discovery.codecs.json_edit import Edit, Part, applied, member, part_at
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.schemes import Url, has_scheme, parse_url
from lbctl.discovery.codecs.weak import answers, looks_like_json, place
from lbctl.discovery.codecs.weight import parse_weight
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

_ADDRESSES: Final = ("addr", "address", "endpoint", "target", "hostport")
_HOSTS: Final = ("host", "ip", "addr", "address")
_EXTRAS: Final = ("id", "version", "env", "region", "zone", "group")
_UNDEFINED: Final = b"undefined"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read an object that has an address; one with credentials is an application's configuration."""
    if not looks_like_json(record.value):
        return None
    try:
        if record.value.strip() == _UNDEFINED:
            raise Unusable("unknown_layout", "what JavaScript spells where there is no value")
        document = {name.lower(): value for name, value in record.members().items()}  # as Go's readers do
        if has_credentials(document) or _leads_elsewhere(document):
            return None
        url, name, metadata = _url(document), _text(document, "name"), _metadata(document)
        weight, warnings = _weight(document, metadata)
    except Unusable:
        if answers(record, claim):
            raise
        return None
    warnings = leaf_warnings(record, url.endpoint) + warnings
    draft = Draft(url.endpoint, weight, url.protocol, url.secure, metadata | _extras(document, url), warnings=warnings)
    return Found((draft,), name or None, _prefix(record, name))


def _leads_elsewhere(document: Mapping[str, Any]) -> bool:
    """Whether an address is a URL of a database or the like."""
    texts = (document.get(name) for name in {*_ADDRESSES, *_HOSTS})
    return any(isinstance(text, str) and "://" in text and not has_scheme(text) for text in texts)


def _url(document: Mapping[str, Any]) -> Url:
    address, port = _first(document, _ADDRESSES), document.get("port")
    host = _first(document, _HOSTS)
    if port is not None and host is not None and not (address and is_address(address)):
        return Url(_joined(host, port))
    if address is None:
        raise Unusable("no_address", "JSON without an address")
    return parse_url(address) if has_scheme(address) else Url(parse_address(address))


def _joined(host: str, port: object) -> Endpoint:
    if isinstance(port, bool) or not isinstance(port, int | str):
        raise Unusable("wrong_type", "port is neither a number nor text")
    return endpoint_at(host, port)


def _first(document: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := _text(document, name)) is not None), None)


def _text(document: Mapping[str, Any], name: str) -> str | None:
    found = document.get(name)
    if found is not None and not isinstance(found, str):
        raise Unusable("wrong_type", f"{name} is not a string")
    return found


def _metadata(document: Mapping[str, Any]) -> dict[str, Any]:
    found = document.get("metadata")
    if found is None:
        return {}
    return dict(found) if isinstance(found, dict) else {"@metadata": found}


def _extras(document: Mapping[str, Any], url: Url) -> dict[str, str]:
    extras = {f"@{name}": found for name in _EXTRAS if isinstance(found := document.get(name), str) and found}
    return extras | ({"@path": f"/{url.path}"} if url.path else {})


def _weight(document: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[int | None, tuple[str, ...]]:
    found = document.get("weight", metadata.get("weight"))
    if found is None:
        return None, ()
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        raise Unusable("wrong_type", "weight is neither a number nor text")
    return parse_weight(found if isinstance(found, str) else json.dumps(found))


def _prefix(record: Record, name: str | None) -> str | None:
    """The folder of the name, where the key's folder is one of its versions: ``/user/1.0.0/`` is in ``/user/``."""
    above = record.folder.removesuffix("/").rpartition("/")[0] + "/"
    return above if name and above.endswith(f"/{name}/") else None


def reweigh(value: bytes, weight: int) -> bytes:
    """Replace the weight in the spelling it has, a number or a text."""
    text = value.decode("utf-8")
    document = part_at(text)
    found = _member(text, document, "weight")
    if found is None and (metadata := _member(text, document, "metadata")) and isinstance(metadata.value, dict):
        found = member(text, metadata, "weight")
    if found is None:
        raise Unusable("no_weight", "the value has no weight")
    spelled = f'"{weight}"' if isinstance(found.value, str) else str(weight)
    return applied(text, Edit(found.start, found.end, spelled)).encode("utf-8")


def _member(text: str, of: Part, name: str) -> Part | None:
    spelled = next((found for found in reversed(list(of.value)) if found.lower() == name), name)
    return member(text, of, spelled)


CODEC = Codec(
    "json",
    parse,
    form="{service}/{anything} -> JSON with an address, or with host and port",
    roots=COMMON_ROOTS,
    weak=True,
    reweigh=reweigh,
    place=place,
)
