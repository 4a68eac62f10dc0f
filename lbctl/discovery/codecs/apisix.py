"""Apache APISIX: ``/apisix/upstreams/{id}``, and upstreams inside of routes and services -> JSON, many nodes in each.

``nodes`` is ``{"10.0.0.1:50051": 5}`` or ``[{"host":"10.0.0.1","port":50051,"weight":5}]``. Keys and credentials stand
in the same tree: of what is no upstream nothing is read.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from lbctl.discovery.address import parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found, Place, Skip
from lbctl.discovery.codecs.hosts import endpoint_at
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.protocols import spoken
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Keeper
from lbctl.discovery.codecs.weight import parse_weight
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

_NAME: Final = "apisix"
_TREE: Final = "/apisix/"
_KINDS: Final = ("upstreams", "services", "routes", "stream_routes")
_KEY = re.compile(rf"(?:.*/)?(?P<kind>{'|'.join(_KINDS)})/(?P<id>[^/]*)", re.DOTALL)
_PORTS: Final = {"http": 80, "grpc": 80, "https": 443, "grpcs": 443}
_SWITCHED_OFF: Final = 0
_FATE: Final = "APISIX drops the whole of it"


class _Node(NamedTuple):
    endpoint: Endpoint
    weight: int
    metadata: dict[str, Any]


def parse(record: Record, claim: Claim) -> Found | Skip | None:
    """Read every node of an upstream; one bad node makes the whole of it bad, as APISIX has it."""
    is_home = record.key.startswith(_TREE)
    if not is_home and not claim.is_known_as(_NAME):
        return None
    key = _KEY.fullmatch(record.key)
    if key is None:
        return Skip("APISIX configuration, not an upstream") if is_home else None
    if record.value == b"init_dir" or not key["id"]:
        return Skip("a directory of APISIX")
    return _found(record.members(), key["kind"], key["id"])


def place(record: Record, claim: Claim) -> Place:
    """An upstream is one key, and a service by itself: called by its id, unless it has a name."""
    return Place(record.leaf, record.key)


def _found(document: dict[str, Any], kind: str, identity: str) -> Found | Skip:
    if kind != "upstreams" and document.get("upstream") is None:
        return Skip(f"one of APISIX's {kind.replace('_', ' ')} without an upstream of its own")
    outer = Members(document, _FATE)
    upstream = document if kind == "upstreams" else outer.mapping("upstream")
    scheme = Members(upstream, _FATE).text("scheme") or ("tcp" if kind == "stream_routes" else "http")
    protocol, secure = spoken(scheme)
    status = "disabled" if outer.whole("status", "wrong_type") == _SWITCHED_OFF else None
    drafts = (
        Draft(node.endpoint, node.weight, protocol, secure, node.metadata | {"@id": identity}, status)
        for node in _nodes(upstream, _PORTS.get(scheme))
    )
    return Found(tuple(drafts), Members(upstream, _FATE).text("name") or outer.text("name") or None)


def _nodes(upstream: dict[str, Any], default_port: int | None) -> list[_Node]:
    members = Members(upstream, _FATE)
    if members.text("service_name"):
        source = members.text("discovery_type") or "a service discovery"
        raise Unusable("indirect", f"the nodes come from {source}, not from etcd")
    nodes = upstream.get("nodes")
    if not nodes:
        raise Unusable("no_nodes", "no nodes")
    if isinstance(nodes, dict):
        return [_Node(_address(name, default_port), _weight(weight), {}) for name, weight in nodes.items()]
    if isinstance(nodes, list):
        return [_node(node, default_port) for node in nodes]
    raise Unusable("wrong_type", f"nodes is neither an object nor a list; {_FATE}")


def _node(node: object, default_port: int | None) -> _Node:
    if not isinstance(node, dict):
        raise Unusable("wrong_type", f"a node is not an object; {_FATE}")
    members = Members(node, _FATE)
    port, priority = members.whole("port", "bad_port"), members.whole("priority", "wrong_type")
    metadata = dict(members.mapping("metadata"))
    if priority is not None:
        metadata["@priority"] = priority
    endpoint = _endpoint(members.text("host"), default_port if port is None else port)
    return _Node(endpoint, _weight(node.get("weight")), metadata)


def _address(text: str, default_port: int | None) -> Endpoint:
    has_port = ":" in text and not text.endswith("]")
    return parse_address(text) if has_port else _endpoint(text, default_port)


def _endpoint(host: str, port: int | None) -> Endpoint:
    if port is None:
        raise Unusable("no_port", "no port, and none goes with the scheme")
    return endpoint_at(host, port)


def _weight(found: object) -> int:
    if found is None:
        raise Unusable("bad_weight", "a node without a weight")
    if isinstance(found, bool) or not isinstance(found, int):
        raise Unusable("bad_weight", f"weight is not an integer; {_FATE}")
    return parse_weight(str(found))[0]


def reweigh(value: bytes, weight: int) -> bytes:
    """Refuse: APISIX checks what is written through its Admin API, and keeps it in files and memory besides."""
    raise Unusable("no_weight", "APISIX takes weights through its Admin API")


CODEC = Codec(
    _NAME,
    parse,
    form="/apisix/upstreams/{id} -> JSON with nodes",
    reweigh=reweigh,
    keeper=Keeper(restores="routes of APISIX that use it fail without it; its Admin API is where it is changed"),
    roots=tuple(f"{_TREE}{kind}/" for kind in _KINDS),
    place=place,
)
