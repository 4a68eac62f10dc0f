"""go-zero's ``core/discov``: ``{key}/{id}`` -> ``host:port``; the id is that of the first lease, or configured."""

from __future__ import annotations

import re

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.record import Record, is_lease_id
from lbctl.discovery.codecs.registration import Keeper, Registration, Wanted
from lbctl.discovery.codecs.weak import looks_like_json
from lbctl.discovery.flaws import Unusable

_MOST_DIGITS = 19
_LIKE_AN_ADDRESS = re.compile(rb"\S*:\S*\s*|\d+(\.\d+){3}\s*", re.ASCII)


def parse(record: Record, claim: Claim) -> Found | None:
    """Read the address of a key that ends in a decimal id; a value that is none is a defect where the key tells."""
    if not record.folder or not _is_id(record.leaf) or _is_of_others(record.value):
        return None
    try:
        endpoint = parse_address(record.text())
    except Unusable:
        if claim.owned or _is_surely_an_instance(record):
            raise
        return None
    return Found((Draft(endpoint, protocol="grpc", metadata={"@id": record.leaf}),))


def _is_id(leaf: str) -> bool:
    return leaf.isascii() and leaf.isdigit() and len(leaf) <= _MOST_DIGITS and leaf[0] != "0"


def _is_surely_an_instance(record: Record) -> bool:
    """Whether the id is the key's own lease, or may be an older one and the value is something like an address."""
    if record.leaf == str(record.entry.lease):
        return True
    return is_lease_id(record.leaf) and _LIKE_AN_ADDRESS.fullmatch(record.value) is not None


def _is_of_others(value: bytes) -> bool:
    return b"|" in value or b"://" in value or looks_like_json(value)


def write(wanted: Wanted) -> Registration:
    """Spell an address under the id of its lease; raises Unusable without one."""
    if not wanted.lease:
        raise Unusable("no_lease", "a key of go-zero is named by its lease")
    return Registration(wanted.key("", wanted.service, str(wanted.lease)), str(wanted.endpoint).encode())


_KEEPER = Keeper(restores="go-zero puts a key back as soon as it is deleted")

CODEC = Codec("go-zero", parse, form="{key}/{decimal id} -> {addr}", write=write, keeper=_KEEPER)
