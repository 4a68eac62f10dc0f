"""The address in the key alone: ``{service}/{host:port}`` -> nothing."""

from __future__ import annotations

from lbctl.discovery.address import is_address, parse_address
from lbctl.discovery.codecs.base import COMMON_ROOTS, Claim, Codec, Draft, Found
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weak import place, stands_alone


def parse(record: Record, claim: Claim) -> Found | None:
    """Read a key that ends in an address and has no value."""
    if record.value or not is_address(record.leaf) or stands_alone(record):
        return None
    return Found((Draft(parse_address(record.leaf)),))


CODEC = Codec("key-only", parse, form="{service}/{addr} -> nothing", roots=COMMON_ROOTS, weak=True, place=place)
