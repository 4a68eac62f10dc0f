"""OpenIM v2, and others of its family: ``openim:///{service}/{addr}`` -> ``addr``."""

from __future__ import annotations

import re
from typing import Final

from lbctl.discovery.address import is_address, parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found, Place, Skip, place_of
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.record import Record

_NAME: Final = "openim-v2"
_ROOT: Final = "openim:///"
_FOLDER = re.compile(r"(?P<schema>[A-Za-z][A-Za-z0-9+.-]*):///(?P<service>[^/]*)/", re.ASCII)


def parse(record: Record, claim: Claim) -> Found | Skip | None:
    """Read one server; the second key, by which a server can be called alone, is not another one."""
    folder = _split(record)
    if folder is None or not _speaks(record, claim):
        return None
    if folder["service"].endswith(f":{record.leaf}"):
        return Skip("another name of the same server")
    endpoint = parse_address(record.text())
    metadata = {"@schema": folder["schema"]}
    return Found((Draft(endpoint, metadata=metadata, warnings=leaf_warnings(record, endpoint)),))


def place(record: Record, claim: Claim) -> Place:
    """Return the service that the key names."""
    folder = _split(record)
    return Place(folder["service"], record.folder) if folder else place_of(record, claim)


def _split(record: Record) -> re.Match[str] | None:
    return _FOLDER.fullmatch(record.folder) if ":///" in record.folder else None


def _speaks(record: Record, claim: Claim) -> bool:
    """Whether the key is more than some URL."""
    return record.key.startswith(_ROOT) or claim.owned or claim.is_known_as(_NAME) or is_address(record.leaf)


CODEC = Codec(_NAME, parse, form="openim:///{service}/{addr} -> {addr}", roots=(_ROOT,), place=place)
