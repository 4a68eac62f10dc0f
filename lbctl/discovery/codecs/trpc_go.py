"""tRPC-Go: ``{prefix}/{service}/{host}-{port}-{pid}`` -> a JSON object; the default prefix begins with a space.

``{"name":"trpc.test.Echo","id":"10.160.0.2-8000-12","address":"10.160.0.2:8000","metadata":null,"weight":1}``. A slash
in a name is a dash in its key.
"""

from __future__ import annotations

from typing import Final

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.named import name_warnings
from lbctl.discovery.codecs.own_object import Document, is_claimed, own_object
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weight_edit import reweighed_member
from lbctl.discovery.flaws import Unusable

_DEFAULT_WEIGHT: Final = 1
_FATE: Final = "tRPC-Go clients fail for the whole service"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read one server of a service."""
    members = own_object(record, claim, lambda found: _is_mine(found, record, claim), "name, id and address", _FATE)
    if members is None:
        return None
    return Found((_draft(record, members),), members.text("name"))


def _is_mine(document: Document, record: Record, claim: Claim) -> bool:
    """A person has a name, an id and an address as well, but no weight beside metadata."""
    keys = document.keys()
    return {"name", "id", "address"} <= keys and ({"weight", "metadata"} <= keys or is_claimed(record, claim))


def _draft(record: Record, members: Members) -> Draft:
    told = members.text_map("metadata") | members.extras(id="id")
    name, address = members.text("name"), members.text("address")
    if (members.whole("weight", "bad_weight") or 0) < 0:
        raise Unusable("bad_weight", "weight is negative")
    weight = members.weight("weight", _DEFAULT_WEIGHT)
    warnings = name_warnings(record, name, name.replace("/", "-"))
    return Draft(parse_address(address), weight, metadata=told, warnings=warnings)


def reweigh(value: bytes, weight: int) -> bytes:
    """Spell the member ``weight``."""
    return reweighed_member(value, weight)


CODEC = Codec(
    "trpc-go",
    parse,
    form="{prefix}/{service}/{host}-{port}-{pid} -> JSON with name, id and address",
    objects=True,
    roots=(" trpc/registry/services/",),
    reweigh=reweigh,
)
