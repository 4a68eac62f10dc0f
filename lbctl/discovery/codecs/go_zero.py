"""go-zero's ``core/discov``: ``{key}/{id}`` -> ``host:port``; the id is that of the first lease, or configured."""

from __future__ import annotations

import re

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weak import looks_like_json
from lbctl.discovery.flaws import Unusable

_MOST_DIGITS = 19
_LEASE_DIGITS = range(15, 20)
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
    return len(record.leaf) in _LEASE_DIGITS and _LIKE_AN_ADDRESS.fullmatch(record.value) is not None


def _is_of_others(value: bytes) -> bool:
    return b"|" in value or b"://" in value or looks_like_json(value)


CODEC = Codec("go-zero", parse)
