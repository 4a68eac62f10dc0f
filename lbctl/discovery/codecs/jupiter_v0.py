"""Jupiter up to 0.7.0: ``/jupiter/{name}/providers/{scheme}://{addr}`` -> the JSON object ``ServiceInfo``."""

from __future__ import annotations

from typing import Final

from lbctl.discovery.codecs.base import Claim, Codec, Found, Skip
from lbctl.discovery.codecs.provider_key import place, provider, split_key
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weight_edit import reweighed_member

_NAME: Final = "jupiter-v0"
_ROOT: Final = "/jupiter/"


def parse(record: Record, claim: Claim) -> Found | Skip | None:
    """Read a provider; Ego's keys have the same shape."""
    key = split_key(record)
    return provider(record, key) if key and is_mine(record, claim) else None


def is_mine(record: Record, claim: Claim) -> bool:
    """Tell a key from Ego's: by its root, and elsewhere by the application that only Jupiter names."""
    if claim.layout == _NAME or record.key.startswith(_ROOT):
        return True
    return not record.key.startswith("/ego/") and "appId" in (record.document or {})


CODEC = Codec(
    _NAME,
    parse,
    form="/jupiter/{name}/providers/{scheme}://{addr} -> JSON",
    roots=(_ROOT,),
    reweigh=reweighed_member,
    unheeded="clients of Jupiter go by the address, and heed no weight",
    place=place,
)
