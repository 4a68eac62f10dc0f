"""``ServiceInfo``: the JSON object by which Jupiter and Ego describe a server."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from lbctl.discovery.codecs.members import Members
from lbctl.discovery.codecs.weight import parse_weight

FATE: Final = "clients leave the whole key out"
_DEFAULT_WEIGHT: Final = 100
_TOLD: Final = ("region", "zone", "version", "mode", "hostname", "deployment", "group", "appId")


class ServiceInfo(NamedTuple):
    """A server as it describes itself. What it leaves empty is left out of the metadata."""

    address: str
    weight: int
    status: str | None
    metadata: dict[str, Any]


def read_service_info(members: Members) -> ServiceInfo:
    """Read an object of which every member may be missing; raises Unusable where one has another type."""
    own = {name: value for name, value in members.text_map("metadata").items() if value}
    metadata = own | members.extras(**{name: name for name in _TOLD})
    weight = members.whole("weight", "bad_weight")
    checked = _DEFAULT_WEIGHT if weight is None else parse_weight(str(weight))[0]
    return ServiceInfo(members.text("address"), checked, _status(members), metadata)


def _status(members: Members) -> str | None:
    enabled, healthy = members.flag("enable"), members.flag("healthy")
    if enabled is False:
        return "disabled"
    return "unhealthy" if healthy is False else None
