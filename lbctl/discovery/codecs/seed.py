"""lbctl's own layout: ``/services/{service}/{addr}`` -> ``addr|weight``."""

from __future__ import annotations

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import COMMON_ROOTS, Claim, Codec, Draft, Found
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weight import parse_weight
from lbctl.discovery.flaws import Unusable

_BAR = b"|"
_JSON = (b"{", b"[{", b'["', b"[[")  # but "[fd00::1]:50051|5" is not


def parse(record: Record, claim: Claim) -> Found | None:
    """Read ``addr|weight``: any text with a bar."""
    if not claim.owned and (_BAR not in record.value or record.value.lstrip().startswith(_JSON)):
        return None
    address, weight = _split(record.text())
    endpoint = parse_address(address)
    number, warnings = parse_weight(weight)
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


CODEC = Codec("seed", parse, roots=COMMON_ROOTS, weak=True, reweigh=reweigh)
