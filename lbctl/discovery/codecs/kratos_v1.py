"""Kratos v1 (bilibili): ``/{prefix}/{appid}/{hostname}`` -> a JSON object, put anew every 30 seconds.

``{"zone":"sh001","appid":"demo.service","hostname":"node-1","addrs":["grpc://10.41.0.1:9000"],"metadata":null,
"status":1}``
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.named import name_warnings
from lbctl.discovery.codecs.own_object import own_object
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Keeper
from lbctl.discovery.codecs.text_weight import parse_text_weight
from lbctl.discovery.codecs.transport_url import TransportUrl, usable_urls
from lbctl.discovery.codecs.weight_edit import reweighed_text_within

_DEFAULT_WEIGHT: Final = 10
_WAITING: Final = 2
_FATE: Final = "Kratos clients skip the key"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read one host: an instance for each address that its clients may use."""
    members = own_object(record, claim, lambda found: {"appid", "addrs"} <= found.keys(), "appid and addrs", _FATE)
    if members is None:
        return None
    return Found(_drafts(record, members), members.text("appid"))


def _drafts(record: Record, members: Members) -> tuple[Draft, ...]:
    metadata = members.text_map("metadata")
    told = metadata | members.extras(region="region", zone="zone", env="env", hostname="hostname", version="version")
    status = "waiting" if members.whole("status", "wrong_type") == _WAITING else None
    urls, left_out = usable_urls(members.texts("addrs"))
    weight, warnings = parse_text_weight(metadata.get("weight"), _DEFAULT_WEIGHT)
    weight = weight if weight > 0 else _DEFAULT_WEIGHT
    warnings += left_out + _superseded(urls) + name_warnings(record, members.text("appid"))
    return tuple(Draft(url.endpoint, weight, url.protocol, url.secure, told, status, warnings) for url in _called(urls))


def _called(urls: Sequence[TransportUrl]) -> list[TransportUrl]:
    """Of several gRPC addresses, clients call the last."""
    last = max((at for at, url in enumerate(urls) if url.protocol == "grpc"), default=None)
    return [url for at, url in enumerate(urls) if url.protocol != "grpc" or at == last]


def _superseded(urls: Sequence[TransportUrl]) -> tuple[str, ...]:
    count = len(urls) - len(_called(urls))
    return (f"{count} more gRPC addresses are left out: clients call the last",) if count else ()


def reweigh(value: bytes, weight: int) -> bytes:
    """Spell ``metadata.weight``, which is a text."""
    return reweighed_text_within(value, "metadata", weight)


_KEEPER = Keeper(rewrites="Kratos v1 registers anew every 30s, and writes its own value")

CODEC = Codec(
    "kratos-v1",
    parse,
    form="/{prefix}/{appid}/{hostname} -> JSON with appid and addrs",
    objects=True,
    roots=("/kratos_etcd/",),
    reweigh=reweigh,
    keeper=_KEEPER,
)
