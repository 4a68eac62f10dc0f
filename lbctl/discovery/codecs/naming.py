"""The name of a service as its instances' values state it, whatever the layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lbctl.discovery.codecs.record import Record

_NAMES: Final = ("name", "service", "servicename", "service_name", "appid", "app")
_MAPS: Final = ("metadata", "metadatax", "tags", "meta")


def name_in(record: Record) -> str | None:
    """Return the name that a JSON value, or a map of metadata in it, has for its service; None where it has none."""
    document = record.document
    return None if document is None else _name_of(document)


def _name_of(document: Mapping[str, Any]) -> str | None:
    members = {name.lower(): value for name, value in document.items()}
    maps = [members, *({n.lower(): v for n, v in m.items()} for m in map(members.get, _MAPS) if isinstance(m, dict))]
    names = (each.get(name) for each in maps for name in _NAMES)
    return next((name for name in names if isinstance(name, str) and name), None)
