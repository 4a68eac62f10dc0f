"""One of a service's backends by what somebody calls it: address, key, id, host or port."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from lbctl.discovery.backends import distinct
from lbctl.errors import NotFound
from lbctl.model import Instance, Service

_KNOWN: Final = 5  # addresses that an error names
_ALIKE: Final = 0.85
_SHORTEST: Final = 4  # characters of an id that is cut short


def named_backend(service: Service, name: str) -> Instance:
    """The backend that is meant; of several keys of one address the first.

    An id may be cut short, an address may not: with a digit less it is somebody else's. Raises NotFound where there is
    none, or where several addresses are called so.
    """
    known = service.instances
    found = (
        [each for each in known if name in (each.address, each.key)]
        or [each for each in known if name in _parts(each)]
        or [each for each in known if len(name) >= _SHORTEST and _id(each).startswith(name)]
    )
    addresses = list(dict.fromkeys(each.address for each in found))
    if len(addresses) > 1:
        raise NotFound(f'{name} is {len(addresses)} backends of "{service.name}"', f"give one: {_some(addresses)}")
    if not found:
        raise _unknown(service, name)
    return found[0]


def _parts(each: Instance) -> Sequence[str]:
    host, port = each.endpoint.host, each.address.rpartition(":")[2]
    return _id(each), host, f"[{host}]", port, f":{port}"


def _id(each: Instance) -> str:
    """What the key ends with, "" where that is the address."""
    last = each.key.rpartition("/")[2]
    return "" if last == each.address else last


def _unknown(service: Service, name: str) -> NotFound:
    known = [each.address for each in distinct(service.instances)]
    near = get_close_matches(name, known, _KNOWN, _ALIKE)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has: {_some(known)};"
    other = f" any other address: --backends {name}" if ":" in name else ""
    return NotFound(f'"{service.name}" has no backend {name}', (hint + other).rstrip(";"))


def _some(addresses: Sequence[str]) -> str:
    return ", ".join(addresses[:_KNOWN]) + (", ..." if len(addresses) > _KNOWN else "")
