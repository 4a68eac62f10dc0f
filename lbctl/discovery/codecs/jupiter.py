"""Jupiter from 0.7.1 on: ``grpc:{name}:v1:{mode}/{addr}`` -> ``{"Op":0,"Addr":"...","MetadataX":{ServiceInfo}}``."""

from __future__ import annotations

import re
from typing import Final

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found, Place, place_of
from lbctl.discovery.codecs.json_edit import Edit, applied, inserted, member, part_at
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.protocols import spoken
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.service_info import FATE, read_service_info
from lbctl.discovery.codecs.weight_edit import weight_edit
from lbctl.discovery.flaws import Unusable

_FOLDER = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*):(?P<name>[^:/]*):(?P<version>v[0-9]+):(?P<mode>[^:/]*)/", re.ASCII)
_METADATA: Final = ("MetadataX", "Metadata")
_DELETED: Final = 1


def parse(record: Record, claim: Claim) -> Found | None:
    """Read one server; clients take its address from the key and nothing else."""
    folder = _FOLDER.fullmatch(record.folder)
    if folder is None:
        return None
    return Found((_draft(record, Members(record.members(), FATE), folder),))


def place(record: Record, claim: Claim) -> Place:
    """Return the service that the key names; another version or mode of it has a folder of its own."""
    folder = _FOLDER.fullmatch(record.folder)
    return Place(folder["name"], record.folder) if folder else place_of(record, claim)


def reweigh(value: bytes, weight: int) -> bytes:
    """Replace the weight in the description of the server; where there is none, add one."""
    text = value.decode("utf-8")
    document = part_at(text)
    parts = [part for name in _METADATA if (part := member(text, document, name))]
    described = next((part for part in parts if part.value), None)
    if described:
        edit = weight_edit(text, described, weight)
    elif parts:  # there, and empty
        edit = Edit(parts[0].start, parts[0].end, f'{{"weight":{weight}}}')
    else:
        edit = inserted(text, document, _METADATA[0], f'{{"weight":{weight}}}')
    return applied(text, edit).encode("utf-8")


def _draft(record: Record, members: Members, folder: re.Match[str]) -> Draft:
    _check_operation(members)
    info = read_service_info(_described(members))
    endpoint, in_value = parse_address(record.leaf), members.text("Addr")
    protocol, secure = spoken(folder["scheme"])
    metadata = info.metadata | {"@version": folder["version"], "@mode": folder["mode"]}
    warning = f"key says {record.leaf}, value says {in_value}; clients use the key"
    warnings = () if in_value in {"", record.leaf} else (warning,)
    return Draft(endpoint, info.weight, protocol, secure, metadata, info.status, warnings)


def _check_operation(members: Members) -> None:
    operation = members.whole("Op", "wrong_type") or 0
    if not 0 <= operation <= 255:
        raise Unusable("wrong_type", f"Op does not fit a byte; {FATE}")
    if operation == _DELETED:
        raise Unusable("tombstone", "Op is 1: marked as deleted, and clients leave it out")


def _described(members: Members) -> Members:
    """The server's own description, whatever the version of the writer calls it."""
    return Members(next((found for name in _METADATA if (found := members.mapping(name))), {}), FATE)


CODEC = Codec(
    "jupiter",
    parse,
    form="{scheme}:{name}:{version}:{mode}/{addr} -> JSON with Op and Addr",
    reweigh=reweigh,
    unheeded="clients of Jupiter go by the address, and heed no weight",
    place=place,
)
