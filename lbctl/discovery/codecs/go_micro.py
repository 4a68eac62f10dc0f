"""go-micro: ``/micro/registry/{service}/{node}`` -> a JSON object of the service with one node.

``{"name":"greeter","version":"latest","metadata":null,"endpoints":[],"nodes":[{"metadata":{"protocol":"grpc"},
"id":"greeter-1","address":"10.70.0.41:38211"}]}``. Up to v1.7 a node's port was apart, and the keys began with
``/micro-registry/``. A slash in a name is a dash in its key.
"""

from __future__ import annotations

from typing import Final

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.hosts import endpoint_at
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.named import name_warnings
from lbctl.discovery.codecs.own_object import Document, is_claimed, own_object
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Registration, Wanted, compact
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

_ROOT: Final = "/micro/registry/"
_FATE: Final = "go-micro clients drop the value in silence"


def parse(record: Record, claim: Claim) -> Found | None:
    """Read the nodes of a value, as a rule one."""
    members = own_object(record, claim, lambda found: _is_mine(found, record, claim), "name and nodes", _FATE)
    if members is None:
        return None
    return Found(_drafts(record, members), members.text("name"))


def _is_mine(document: Document, record: Record, claim: Claim) -> bool:
    """Anybody may have a name and nodes, as APISIX does: endpoints tell, or one more member where the key does, too."""
    keys = document.keys()
    tells = "endpoints" in keys or (bool(keys & {"version", "metadata"}) and is_claimed(record, claim))
    return {"name", "nodes"} <= keys and tells


def _drafts(record: Record, members: Members) -> tuple[Draft, ...]:
    service, version = members.text_map("metadata"), members.extras(version="version")
    name = members.text("name")
    nodes = members.objects("nodes")
    if not nodes:
        raise Unusable("no_nodes", "no nodes")
    warnings = name_warnings(record, name, name.replace("/", "-"))
    return tuple(_draft(node, service, version, warnings) for node in nodes)


def _draft(node: Members, service: dict[str, str], version: dict[str, str], warnings: tuple[str, ...]) -> Draft:
    metadata = service | node.text_map("metadata")
    told = metadata | node.extras(id="id") | version
    return Draft(_endpoint(node), protocol=metadata.get("protocol") or None, metadata=told, warnings=warnings)


def _endpoint(node: Members) -> Endpoint:
    address, port = node.text("address"), node.whole("port", "bad_port") or 0
    return endpoint_at(address, port) if address and port else parse_address(address)


def write(wanted: Wanted) -> Registration:
    """Spell a service with one node, which is a gRPC server of go-micro's."""
    own = {"broker": "http", "protocol": "grpc", "registry": "etcd", "server": "grpc", "transport": "grpc"}
    identifier = f"{wanted.service}-{wanted.identifier}"
    node = {"metadata": {**own, **wanted.metadata}, "id": identifier, "address": str(wanted.endpoint)}
    value = {"name": wanted.service, "version": "latest", "metadata": None, "endpoints": [], "nodes": [node]}
    key = wanted.key(_ROOT, *(part.replace("/", "-") for part in (wanted.service, identifier)))
    return Registration(key, compact(value))


CODEC = Codec(
    "go-micro",
    parse,
    form="/micro/registry/{service}/{node} -> JSON with name and nodes",
    objects=True,
    roots=(_ROOT, "/micro-registry/"),
    write=write,
)
