"""CloudWeGo Kitex: ``{prefix}/{service}/{addr}`` -> network, address, weight and tags; the prefix may be any, or empty.

``kitex/registry-etcd/echo/10.60.0.31:8888``. What the service speaks is not said: Thrift, or gRPC.
"""

from __future__ import annotations

from lbctl.discovery.codecs import cloudwego
from lbctl.discovery.codecs.base import Claim, Codec, Found, Place
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Keeper, Registration, Wanted, compact

_HERTZ = "hertz/"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read one server; under Hertz's prefix it is one of Hertz."""
    if record.key.startswith(_HERTZ):
        return None
    draft = cloudwego.read_draft(record, claim, None)
    return None if draft is None else Found((draft,))


def place(record: Record, claim: Claim) -> Place:
    """A service's name has no slash: it is the last part of the folder, whatever the prefix."""
    return Place(record.folder.removesuffix("/").rpartition("/")[2], record.folder)


def write(wanted: Wanted) -> Registration:
    """Spell a server with Kitex's own prefix; an IPv6 address has its brackets, which Kitex leaves out."""
    address, weight = str(wanted.endpoint), cloudwego.DEFAULT_WEIGHT if wanted.weight is None else wanted.weight
    value = {"network": "tcp", "address": address, "weight": weight, "tags": dict(wanted.metadata) or None}
    return Registration(wanted.key("kitex/registry-etcd/", wanted.service, address), compact(value))


CODEC = Codec(
    "kitex",
    parse,
    form="{prefix}/{service}/{addr} -> JSON with network, address, weight and tags",
    objects=True,
    roots=("kitex/",),
    reweigh=cloudwego.reweigh,
    write=write,
    keeper=Keeper(restores="Kitex puts a key back that is gone"),
    place=place,
)
