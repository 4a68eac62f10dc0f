"""tRPC-Cpp: ``/{name}/{host}/{port}`` -> ``{"meta":{}}``; a prefix is part of the name, ``blue_trpc.test.Echo``.

Host and port are in the key alone. Nothing keeps the keys alive: they stay until somebody deletes them.
"""

from __future__ import annotations

import re

from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found, Place, place_of
from lbctl.discovery.codecs.hosts import endpoint_at
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

_KEY = re.compile(r"(?P<folder>.*/(?P<name>[^/]*)/)(?P<host>[^/]+)/(?P<port>[0-9]+)", re.DOTALL)


def parse(record: Record, claim: Claim) -> Found | None:
    """Read the key of an object that has ``meta`` and nothing else."""
    key = _KEY.fullmatch(record.key)
    if key is None or record.document is None or record.document.keys() != {"meta"}:
        return None
    meta = record.document["meta"]
    if not isinstance(meta, dict):
        return None
    told = {name: value for name, value in meta.items() if isinstance(value, str)}
    ignored = ("what is no text in meta is left out, as clients do",) if told != meta else ()
    return Found((Draft(_endpoint(key), metadata=told, warnings=ignored),))


def _endpoint(key: re.Match[str]) -> Endpoint:
    if len(key["port"]) > 5:
        raise Unusable("bad_port", "the key ends in a number that is no port")
    return endpoint_at(key["host"], int(key["port"]))


def place(record: Record, claim: Claim) -> Place:
    """A service is the part of the key before host and port."""
    key = _KEY.fullmatch(record.key)
    return Place(key["name"], key["folder"]) if key else place_of(record, claim)


CODEC = Codec("trpc-cpp", parse, form="/{name}/{host}/{port} -> JSON with meta alone", place=place)
