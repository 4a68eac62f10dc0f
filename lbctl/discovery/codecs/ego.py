"""Ego: ``/ego/{name}/providers/{scheme}://{addr}`` -> the JSON object ``ServiceInfo``."""

from __future__ import annotations

from typing import Final

from lbctl.discovery.codecs import jupiter_v0
from lbctl.discovery.codecs.base import Claim, Codec, Found, Skip
from lbctl.discovery.codecs.provider_key import place, provider, split_key
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weight_edit import reweighed_member

_NAME: Final = "ego"


def parse(record: Record, claim: Claim) -> Found | Skip | None:
    """Read a provider under any prefix; what else servers put beside their providers is no instance."""
    key = split_key(record)
    if key is None or (claim.layout != _NAME and jupiter_v0.is_mine(record, claim)):
        return None
    return provider(record, key)


CODEC = Codec(
    _NAME,
    parse,
    form="/ego/{name}/providers/{scheme}://{addr} -> JSON",
    roots=("/ego/",),
    reweigh=reweighed_member,
    unheeded="clients of Ego go by the address, and heed no weight",
    place=place,
)
