"""Dubbo, one key per interface and provider: ``/dubbo/{interface}/providers/{URL, percent-encoded}``.

The value is empty (Go) or the lease in decimal (Java): everything is in the URL, which is
``tri://10.0.0.1:20000/{interface}?weight=100&group=...&version=...``.
"""

from __future__ import annotations

import re
from typing import Final

from lbctl.discovery.address import check_control, is_address, parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found, Place, Skip, place_of
from lbctl.discovery.codecs.forms import decoded, parameters
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.text_weight import parse_text_weight
from lbctl.discovery.flaws import Unusable

_ROOT: Final = "/dubbo/"
_MARK: Final = "%3a%2f%2f"
_KEY = re.compile(
    r"/[^/]*/(?P<interface>[^/]*)/(?P<category>providers|consumers|routers|configurators)/[^/]+", re.DOTALL
)
_CATEGORY = re.compile(r"/[^/]+/[^/]+/(providers|consumers|routers|configurators)", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*", re.ASCII)
_OTHERS: Final = {
    "consumers": "a consumer, not an instance",
    "routers": "a routing rule, not an instance",
    "configurators": "an override of settings, not an instance",
}
_DIRECTORY = re.compile(rb"(-?[0-9]+)?", re.ASCII)  # Java writes the hash of the path
_DEFAULT_WEIGHT: Final = 100


def parse(record: Record, claim: Claim) -> Found | Skip | None:
    """Read the URL of a provider; the value says nothing."""
    if _is_directory(record):
        return Skip("a directory of Dubbo")
    key = _KEY.fullmatch(record.key)
    if key is None or not (_has_url(record) or claim.owned):
        return None
    if key["category"] in _OTHERS:
        return Skip(_OTHERS[key["category"]])
    decoded(key["interface"])
    return Found((_draft(decoded(record.leaf)),))


def place(record: Record, claim: Claim) -> Place:
    """A service is an interface, whatever its group and its version."""
    key = _KEY.fullmatch(record.key)
    if key is None:
        return place_of(record, claim)
    try:
        return Place(decoded(key["interface"]), record.folder)
    except Unusable:
        return Place(key["interface"], record.folder)


def _draft(url: str) -> Draft:
    check_control(url)
    scheme, mark, rest = url.partition("://")
    if not mark or not _SCHEME.fullmatch(scheme):
        raise Unusable("bad_address", "not a URL, percent-encoded, at the end of the key")
    location, _, query = rest.partition("?")
    authority = location.partition("/")[0].rpartition("@")[2]
    metadata = parameters(query)
    secure = True if metadata.get("ssl-enabled") == "true" else None
    weight, warnings = _weight(metadata.get("weight", ""))
    is_off = metadata.get("disabled") == "true" or metadata.get("enabled") == "false"
    status = "disabled" if is_off else None
    return Draft(parse_address(authority), weight, scheme, secure, metadata, status, warnings)


def _weight(text: str) -> tuple[int, tuple[str, ...]]:
    weight, warnings = parse_text_weight(text or None, _DEFAULT_WEIGHT)
    if weight < 0:
        raise Unusable("bad_weight", "weight is negative")
    return weight, warnings


def _has_url(record: Record) -> bool:
    return _MARK in record.leaf.lower()


def _is_directory(record: Record) -> bool:
    """Whether the key is only there to be above others: both writers put one for every folder."""
    if len(record.value) > 20 or not _DIRECTORY.fullmatch(record.value):
        return False
    key = record.key
    if _CATEGORY.fullmatch(key) or key == _ROOT.rstrip("/") or (key.startswith(_ROOT) and key.count("/") == 2):
        return True
    return not is_address(record.leaf) and not _has_url(record) and record.has_children


def reweigh(value: bytes, weight: int) -> bytes:
    """Refuse: the weight is in the key, and another key is another registration."""
    raise Unusable("no_weight", "its weight is a part of its key; Dubbo overrides it by a configurator")


CODEC = Codec(
    "dubbo-interface",
    parse,
    form="/{group}/{interface}/providers/{URL, percent-encoded} -> anything",
    reweigh=reweigh,
    roots=(_ROOT,),
    place=place,
)
