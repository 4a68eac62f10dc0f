"""Services that stand outside of the folder in which the clients of their layout look by default."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from lbctl.discovery.codecs import CODECS
from lbctl.model import Service

_HOMES: Final = {codec.name: codec.roots for codec in CODECS if codec.roots and not codec.weak}
_MOST: Final = 3  # prefixes that are told


def elsewhere(services: Iterable[Service]) -> Iterator[str]:
    """Yield a line per layout of which services stand where a client with the default settings does not look."""
    strays: defaultdict[str, list[str]] = defaultdict(list)
    for service in services:
        homes = _HOMES.get(service.layout)
        if homes and service.instances and not service.prefix.startswith(homes):
            strays[service.layout].append(service.prefix)
    for layout, prefixes in sorted(strays.items()):
        more = f" and {len(prefixes) - _MOST} more" if len(prefixes) > _MOST else ""
        found, usual = ", ".join(map(repr, prefixes[:_MOST])), " or ".join(map(repr, _HOMES[layout]))
        yield f"{layout} under {found}{more}: its clients look under {usual} unless they are told otherwise"
