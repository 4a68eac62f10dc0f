"""SkyDNS, which CoreDNS reads: ``/skydns/local/cluster/orders/node1`` is ``node1.orders.cluster.local``, in JSON.

The record is ``{"host":"10.0.0.1","port":50051,"weight":5}``, everything optional.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found, Place, Skip
from lbctl.discovery.codecs.hosts import endpoint_at
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.weight import parse_weight
from lbctl.discovery.codecs.weight_edit import check_positive, reweighed_member
from lbctl.discovery.flaws import Unusable

_NAME: Final = "skydns"
_ROOT: Final = "/skydns/"
_PRIORITY: Final = 10
_WEIGHT: Final = 100
_FATE: Final = "CoreDNS answers no query for its domain"


def parse(record: Record, claim: Claim) -> Found | Skip | None:
    """Read a record that a client can dial: one that has a port. A weight of 0 is none."""
    labels = _labels(record, claim)
    if labels is None:
        return None
    reason = _why_none(labels)
    if reason:
        return Skip(reason)
    return _found(Members(record.members(), _FATE), _domain(labels))


def place(record: Record, claim: Claim) -> Place:
    """A service is the domain that its records are below."""
    labels = _labels(record, claim) or []
    return Place(_domain(labels[:-1]) if all(labels) else "", record.folder)


def reweigh(value: bytes, weight: int) -> bytes:
    """Replace the member ``weight``, or add one."""
    check_positive(weight, _WEIGHT)
    return reweighed_member(value, weight)


def _labels(record: Record, claim: Claim) -> list[str] | None:
    """The labels of the domain, the top one first; None for a key of another tree."""
    key = record.key
    if key.startswith(_ROOT):
        return key.removeprefix(_ROOT).split("/")
    return key.lstrip("/").split("/")[1:] if claim.is_known_as(_NAME) else None


def _domain(labels: list[str]) -> str:
    return ".".join(reversed(labels))


def _why_none(labels: list[str]) -> str:
    if labels[:1] == ["arpa"]:
        return "a reverse record (PTR)"
    if labels == ["config"]:
        return "SkyDNS's own configuration"
    return "a name server of the zone (NS)" if ("dns", "ns") in pairwise(labels) else ""


def _found(members: Members, domain: str) -> Found | Skip:
    host, port, weight = members.text("host"), members.whole("port", "bad_port"), members.whole("weight", "bad_weight")
    if members.flag("mail"):
        return Skip("a mail exchanger (MX)")
    if not host and members.text("text"):
        return Skip("a text (TXT)")
    if not host:
        raise Unusable("no_address", "no host")
    if port is None:
        raise Unusable("no_port", "a record without a port cannot be dialled")
    endpoint = endpoint_at(host.removesuffix("."), port)
    metadata = {"@name": domain} | _extras(members)
    return Found((Draft(endpoint, parse_weight(str(weight))[0] if weight else None, metadata=metadata),))


def _extras(members: Members) -> dict[str, Any]:
    told: dict[str, Any] = {"@priority": members.whole("priority", "wrong_type") or _PRIORITY}
    ttl = members.whole("ttl", "wrong_type")
    return told | ({"@ttl": ttl} if ttl else {}) | members.extras(group="group")


CODEC = Codec(
    _NAME,
    parse,
    form="/skydns/{labels of the name, last first} -> JSON with host and port",
    roots=(_ROOT,),
    reweigh=reweigh,
    place=place,
)
