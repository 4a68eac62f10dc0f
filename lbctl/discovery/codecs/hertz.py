"""CloudWeGo Hertz: ``hertz/registry-etcd/{service}/{addr}`` -> the same as Kitex, for an HTTP server."""

from __future__ import annotations

from typing import Final

from lbctl.discovery.codecs import cloudwego
from lbctl.discovery.codecs.base import Claim, Codec, Found, Place, place_of
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Keeper

_PREFIX: Final = "hertz/registry-etcd/"
_ROOT: Final = "hertz/"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read one server under Hertz's prefix, which nobody can change."""
    if not record.key.startswith(_ROOT):
        return None
    draft = cloudwego.read_draft(record, claim, "http")
    return None if draft is None else Found((draft,))


def place(record: Record, claim: Claim) -> Place:
    """A service's name may have slashes: it is all of the folder after the prefix."""
    if not record.folder.startswith(_PREFIX):
        return place_of(record, claim)
    return Place(record.folder.removeprefix(_PREFIX).removesuffix("/"), record.folder)


_KEEPER = Keeper(restores="Hertz puts a key back that is gone")

CODEC = Codec(
    "hertz",
    parse,
    form="hertz/registry-etcd/{service}/{addr} -> JSON with network, address, weight and tags",
    objects=True,
    roots=(_ROOT,),
    reweigh=cloudwego.reweigh,
    keeper=_KEEPER,
    place=place,
)
