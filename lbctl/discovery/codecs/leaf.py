"""The last part of a key against the address in its value."""

from __future__ import annotations

from lbctl.discovery.address import is_address, parse_address
from lbctl.discovery.codecs.record import Record
from lbctl.model import Endpoint


def leaf_warnings(record: Record, endpoint: Endpoint) -> tuple[str, ...]:
    """Warn where the key names another address than the value, which wins."""
    leaf = record.leaf
    if is_address(leaf) and parse_address(leaf) != endpoint:
        return (f"key says {leaf}, value says {endpoint}",)
    return ()
