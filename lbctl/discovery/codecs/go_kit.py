"""go-kit's ``sd/etcdv3`` as it is documented: ``/services/{service}/{anything}`` -> ``scheme://host:port``."""

from __future__ import annotations

from lbctl.discovery.codecs.base import COMMON_ROOTS, Claim, Codec, Draft, Found
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.schemes import has_scheme, parse_url
from lbctl.discovery.codecs.weak import answers, place
from lbctl.discovery.flaws import Unusable


def parse(record: Record, claim: Claim) -> Found | None:
    """Read a URL whose scheme is one that calls are made by; any other is somebody's configuration."""
    if not has_scheme(record.value[:16].decode("ascii", "replace")):
        return None
    try:
        url = parse_url(record.text())
    except Unusable:
        if answers(record, claim):
            raise
        return None
    metadata = {"@path": f"/{url.path}"} if url.path else {}
    warnings = leaf_warnings(record, url.endpoint)
    return Found((Draft(url.endpoint, None, url.protocol, url.secure, metadata, warnings=warnings),))


CODEC = Codec(
    "go-kit", parse, form="{service}/{anything} -> {scheme}://{addr}", roots=COMMON_ROOTS, weak=True, place=place
)
