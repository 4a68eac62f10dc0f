"""Keys of Ego and of early Jupiter: ``/{prefix}/{name}/providers/grpc://{addr}``, with the slashes of the URL raw."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Draft, Found, Place, Skip, place_of
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.protocols import spoken
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.service_info import FATE, read_service_info

_MARK: Final = "://"
_KEY = re.compile(
    r"(?P<folder>(?:.*/)?(?P<name>[^/]*)/(?P<kind>providers|governors|consumers|configurators|unknown)/)"
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://.*",
    re.DOTALL,
)
_OTHERS: Final = {
    "governors": "an HTTP governor, not gRPC",
    "consumers": "a consumer, not an instance",
    "configurators": "configuration of clients, not an instance",
    "unknown": "neither a provider nor anything else that is known",
}


class ProviderKey(NamedTuple):
    """The parts of such a key; ``folder`` is what all keys of a kind share."""

    folder: str
    name: str
    kind: str
    scheme: str


def split_key(record: Record) -> ProviderKey | None:
    """Take a key apart; None where it is another kind of key."""
    found = _KEY.fullmatch(record.key) if _MARK in record.key else None
    return ProviderKey(*found.group("folder", "name", "kind", "scheme")) if found else None


def place(record: Record, claim: Claim) -> Place:
    """Return the service that the key names; all its providers have one folder."""
    key = split_key(record)
    return Place(key.name, key.folder) if key else place_of(record, claim)


def provider(record: Record, key: ProviderKey) -> Found | Skip:
    """Read one server: clients dial the address in its value."""
    if key.kind in _OTHERS:
        return Skip(_OTHERS[key.kind])
    info = read_service_info(Members(record.members(), FATE))
    endpoint = parse_address(info.address)
    protocol, secure = spoken(key.scheme)
    metadata = info.metadata | {"@kind": key.kind}
    return Found(
        (Draft(endpoint, info.weight, protocol, secure, metadata, info.status, leaf_warnings(record, endpoint)),)
    )
