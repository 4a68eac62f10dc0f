"""CloudWeGo Kitex: ``{prefix}/{service}/{addr}`` -> network, address, weight and tags; the prefix may be any, or empty.

``kitex/registry-etcd/echo/10.60.0.31:8888``. What the service speaks is not said: Thrift, or gRPC.
"""

from __future__ import annotations

from lbctl.discovery.codecs import cloudwego
from lbctl.discovery.codecs.base import Claim, Codec, Found, Place
from lbctl.discovery.codecs.record import Record

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


CODEC = Codec("kitex", parse, roots=("kitex/",), reweigh=cloudwego.reweigh, place=place)
