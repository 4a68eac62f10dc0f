"""lbctl's own layout: ``/services/{service}/{addr}`` -> ``addr|weight``."""

from __future__ import annotations

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import COMMON_ROOTS, Claim, Codec, Draft, Found
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Registration, Wanted
from lbctl.discovery.codecs.weak import answers, looks_like_json, place
from lbctl.discovery.codecs.weight import parse_weight
from lbctl.discovery.flaws import Unusable

_ROOT = "/services/"
_BAR = b"|"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read ``addr|weight``: any text with a bar."""
    value = record.value
    is_text = _BAR in value and not looks_like_json(value)
    if not is_text and (not claim.owned or b"://" in value):
        return None
    try:
        address, weight = _split(record.text())
        endpoint = parse_address(address)
        number, warnings = parse_weight(weight)
    except Unusable:
        if answers(record, claim):
            raise
        return None
    return Found((Draft(endpoint, number, warnings=leaf_warnings(record, endpoint) + warnings),))


def _split(text: str) -> tuple[str, str]:
    address, bar, weight = text.partition("|")
    if not bar:
        parse_address(address)  # a bad address is the better reason
        raise Unusable("unknown_layout", "no |weight after the address")
    if "|" in weight:
        raise Unusable("bad_weight", "more than one |")
    return address, weight


def reweigh(value: bytes, weight: int) -> bytes:
    """Replace what stands after the bar."""
    return value[: value.index(_BAR) + 1] + str(weight).encode()


def write(wanted: Wanted) -> Registration:
    """Spell ``addr|weight``, weight 1 unless there is another."""
    address, weight = str(wanted.endpoint), 1 if wanted.weight is None else wanted.weight
    return Registration(wanted.key(_ROOT, wanted.service, address), f"{address}|{weight}".encode())


CODEC = Codec(
    "seed",
    parse,
    form="/services/{service}/{addr} -> {addr}|{weight}",
    roots=COMMON_ROOTS,
    weak=True,
    reweigh=reweigh,
    write=write,
    place=place,
)
