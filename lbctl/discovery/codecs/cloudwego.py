"""What Kitex and Hertz both write: ``{"network":"tcp","address":"10.60.0.31:8888","weight":10,"tags":null}``."""

from __future__ import annotations

from typing import Final

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Draft
from lbctl.discovery.codecs.credentials import has_credentials
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.own_object import Document, is_claimed, own_object
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weight_edit import reweighed_member
from lbctl.discovery.flaws import Unusable

DEFAULT_WEIGHT: Final = 10
_TELLING: Final = frozenset({"address", "weight", "tags"})
_FATE: Final = "clients skip the key"


def read_draft(record: Record, claim: Claim, protocol: str | None) -> Draft | None:
    """Read the one instance of a key, None where the value is another layout's."""
    members = own_object(record, claim, lambda found: _is_known(found, record, claim), "network and address", _FATE)
    if members is None:
        return None
    return _draft(record, members, protocol)


def _is_known(document: Document, record: Record, claim: Claim) -> bool:
    """Anybody may have a network and an address to listen on: two more members tell, or one where the key does."""
    found = len(document.keys() & _TELLING)
    if "network" not in document or not found:
        return False
    return found > 1 or (is_claimed(record, claim) and not has_credentials(document))


def _draft(record: Record, members: Members, protocol: str | None) -> Draft:
    told = members.text_map("tags") | members.extras(network="network")
    address, network = members.text("address"), members.text("network")
    weight = members.weight("weight", DEFAULT_WEIGHT)
    if network and not network.startswith("tcp"):
        raise Unusable("not_tcp", f"the network is {network[:20]}, not tcp")
    endpoint = parse_address(address)
    return Draft(endpoint, weight, protocol, metadata=told, warnings=leaf_warnings(record, endpoint))


def reweigh(value: bytes, weight: int) -> bytes:
    """Spell the member ``weight``."""
    return reweighed_member(value, weight)
