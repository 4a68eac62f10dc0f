"""The address alone: ``{service}/{anything}`` -> ``host:port``, as wonaming, registrator and many scripts write it."""

from __future__ import annotations

from lbctl.discovery.address import is_address, parse_address
from lbctl.discovery.codecs.base import COMMON_ROOTS, Claim, Codec, Draft, Found, Skip
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Keeper, Registration, Wanted
from lbctl.discovery.codecs.weak import answers, looks_like_json, place, stands_alone
from lbctl.discovery.flaws import Unusable


def parse(record: Record, claim: Claim) -> Found | Skip | None:
    """Read an address, and answer for text that should be one; a URL or JSON is somebody else's, if anybody's."""
    value = record.value
    if not value and is_address(record.leaf):
        return None
    if b"://" in value or looks_like_json(value):
        return None
    if _marks_a_folder(value) and record.has_children:
        return Skip("a folder's own key: there are keys below it")
    try:
        endpoint = parse_address(record.text())
    except Unusable as flaw:
        if answers(record, claim):
            raise _in_full(flaw) from None
        return None
    return Found((Draft(endpoint, metadata=_id(record), warnings=leaf_warnings(record, endpoint)),))


def _id(record: Record) -> dict[str, str]:
    return {} if stands_alone(record) or is_address(record.leaf) else {"@id": record.leaf}


def _marks_a_folder(value: bytes) -> bool:
    return not value or value.removeprefix(b"-").isdigit()


def _in_full(flaw: Unusable) -> Unusable:
    if flaw.code != "empty_value":
        return flaw
    return Unusable(flaw.code, f"{flaw.reason}, and the key does not end in an address")


def write(wanted: Wanted) -> Registration:
    """Spell an address under itself."""
    address = str(wanted.endpoint)
    return Registration(wanted.key("/services/", wanted.service, address), address.encode())


_KEEPER = Keeper(restores="some programs of this layout, as wonaming, put a key back that is gone")

CODEC = Codec(
    "plain",
    parse,
    form="{service}/{anything} -> {addr}",
    roots=COMMON_ROOTS,
    weak=True,
    write=write,
    keeper=_KEEPER,
    place=place,
)
