r"""Dubbo's services by application: ``/services/{application}/{host}:{port}`` -> a JSON object, by Go or by Java.

Go: ``{"ID":"10.81.0.1:20000","ServiceName":"demo","Host":"10.81.0.1","Port":20000,"Weight":0,"Enable":true,
"Healthy":true,"Metadata":{"dubbo.endpoints":"[{\"port\":20000,\"protocol\":\"tri\"}]"},"Tag":""}`` and more. Java:
``id serviceName host port enabled healthy metadata``. The endpoints are ports of the host.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lbctl.discovery.codecs import strict_json
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found
from lbctl.discovery.codecs.hosts import endpoint_at
from lbctl.discovery.codecs.json_edit import Edit, applied, inserted, member, part_at
from lbctl.discovery.codecs.leaf import leaf_warnings
from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.named import name_warnings
from lbctl.discovery.codecs.own_object import Document, is_claimed, own_object
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.flaws import Unusable

_DEFAULT_WEIGHT: Final = 100
_ENDPOINTS: Final = "dubbo.endpoints"
_FATE: Final = "Dubbo clients skip the key"


class _Spelling(NamedTuple):
    identifier: str
    service: str
    host: str
    port: str
    enabled: str
    healthy: str
    metadata: str


_GO: Final = _Spelling("ID", "ServiceName", "Host", "Port", "Enable", "Healthy", "Metadata")
_JAVA: Final = _Spelling("id", "serviceName", "host", "port", "enabled", "healthy", "metadata")


class _Listed(NamedTuple):
    port: int
    protocol: str | None


def parse(record: Record, claim: Claim) -> Found | None:
    """Read one process: an instance for each port it calls an endpoint."""
    needed = "ServiceName, Host and Port"
    members = own_object(record, claim, lambda found: _is_mine(found, record, claim), needed, _FATE)
    if members is None:
        return None
    spelling = _GO if _GO.service in members else _JAVA
    return Found(_drafts(record, members, spelling), members.text(spelling.service))


def _is_mine(document: Document, record: Record, claim: Claim) -> bool:
    """Any configuration may name a service, a host and a port, but does not say whether it is healthy."""
    spelling, keys = _GO if _GO.service in document else _JAVA, document.keys()
    found = len(keys & {spelling.host, spelling.port})
    says_how_it_is = bool(keys & {spelling.enabled, spelling.healthy})
    is_enough = (found == 2 and says_how_it_is) or (found > 0 and is_claimed(record, claim))
    return spelling.service in keys and is_enough


def _drafts(record: Record, members: Members, spelling: _Spelling) -> tuple[Draft, ...]:
    metadata = members.text_map(spelling.metadata)
    host, port = members.text(spelling.host), members.whole(spelling.port, "bad_port")
    listed, warnings = _listed(metadata.get(_ENDPOINTS, ""))
    if not listed and port is None:
        raise Unusable("no_port", "no port")
    warnings += leaf_warnings(record, endpoint_at(host, port)) if port else ()
    warnings += name_warnings(record, members.text(spelling.service))
    told, status = metadata | _extras(members, spelling), _status(members, spelling)
    weight = members.weight("Weight", _DEFAULT_WEIGHT) if spelling is _GO else _DEFAULT_WEIGHT
    return tuple(
        Draft(endpoint_at(host, each.port), weight, each.protocol, None, told, status, warnings)
        for each in listed or [_Listed(port or 0, None)]
    )


def _listed(text: str) -> tuple[list[_Listed], tuple[str, ...]]:
    """Read what is JSON in a text; Dubbo's clients, too, go on without it where it cannot be read."""
    if not text:
        return [], ()
    try:
        found = Members({_ENDPOINTS: strict_json.loads(text.encode("utf-8"))}, "the port is used").objects(_ENDPOINTS)
        return [_Listed(each.whole("port", "wrong_type") or 0, each.text("protocol") or None) for each in found], ()
    except Unusable as flaw:
        return [], (f"{_ENDPOINTS} is left out: {flaw.reason}",)


def _extras(members: Members, spelling: _Spelling) -> dict[str, str]:
    if spelling is _JAVA:
        return members.extras(id=_JAVA.identifier)
    return members.extras(id=_GO.identifier, tag="Tag", group="GroupName")


def _status(members: Members, spelling: _Spelling) -> str | None:
    if members.flag(spelling.enabled) is False:
        return "disabled"
    return "unhealthy" if members.flag(spelling.healthy) is False else None


def reweigh(value: bytes, weight: int) -> bytes:
    """Spell the member ``Weight``; Java's objects have none."""
    text = value.decode("utf-8")
    document = part_at(text)
    if _GO.service not in document.value:
        raise Unusable("no_weight", "Dubbo for Java writes no weights here")
    found, spelled = member(text, document, "Weight"), str(weight)
    edit = inserted(text, document, "Weight", spelled) if found is None else Edit(found.start, found.end, spelled)
    return applied(text, edit).encode("utf-8")


CODEC = Codec(
    "dubbo-app", parse, form="/services/{application}/{addr} -> JSON with serviceName, host and port", reweigh=reweigh
)
