"""lbctl's own layout: ``/services/{service}/{addr}`` -> ``addr|weight``."""

from __future__ import annotations

from lbctl.discovery.address import check_text, is_address, parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, leaf_of
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.weight import parse_weight
from lbctl.discovery.flaws import Unusable

_BAR = b"|"
_JSON = (b"{", b"[{", b'["', b"[[")  # but "[fd00::1]:50051|5" is not


def parse(key: str, value: bytes, claim: Claim) -> tuple[Draft, ...] | None:
    """Read ``addr|weight``; any text with a bar is a weak sign, so the key has to speak for it too."""
    if not claim.owned and not (_looks_right(value) and (claim.rooted or is_address(leaf_of(key)))):
        return None
    address, weight = _split(_text(value))
    endpoint = parse_address(address)
    number, warnings = parse_weight(weight)
    return (Draft(endpoint, number, warnings=leaf_warnings(key, endpoint) + warnings),)


def _looks_right(value: bytes) -> bool:
    return _BAR in value and not value.lstrip().startswith(_JSON)


def _text(value: bytes) -> str:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise Unusable("bad_encoding", "value is not UTF-8") from None
    if not text.strip():
        raise Unusable("empty_value", "value is only white space" if text else "value is empty")
    check_text(text)
    return text


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


CODEC = Codec("seed", parse, roots=("/services/",), reweigh=reweigh)
