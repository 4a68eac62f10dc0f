"""rpcx: ``{base}/{service}/{network}@{addr}`` -> metadata as a form, ``group=blue&weight=7``, often empty.

Two markers tell of it: ``{base}`` holds ``rpcx_path``, and ``{base}/{service}`` the name of the service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lbctl.discovery.address import check_control, is_address, parse_address
from lbctl.discovery.codecs.base import Claim, Codec, Draft, Found, Place, Skip
from lbctl.discovery.codecs.forms import decoded, fields
from lbctl.discovery.codecs.record import Record
from lbctl.discovery.codecs.registration import Keeper
from lbctl.discovery.codecs.text_weight import parse_text_weight
from lbctl.discovery.flaws import Unusable
from lbctl.model import Endpoint

_NAME: Final = "rpcx"
_MARKER: Final = b"rpcx_path"
_TCP: Final = "tcp"
_NETWORKS: Final = ("tcp", "tcp4", "tcp6", "http", "ws", "wss", "quic", "kcp", "rdma", "reuseport", "iouring")
_LOCAL: Final = {"unix": "a unix socket, not host:port", "memu": "inside of one process, not host:port"}
_KEY = re.compile(
    rf"(?P<folder>(?:.*/)?(?P<service>[^/]*)/)(?P<network>{'|'.join((*_NETWORKS, *_LOCAL))})@(?P<address>.*)", re.DOTALL
)


def parse(record: Record, claim: Claim) -> Found | Skip | None:
    """Read one server; without a network in its key it is rpcx's if the markers say so, and means TCP."""
    if _is_marker(record):
        return Skip("a marker, as rpcx writes them, not an instance")
    key = _split(record)
    if key is not None:
        endpoint, network = _endpoint(key["network"], key["address"]), key["network"]
    elif _is_marked(record, claim):
        endpoint, network = parse_address(record.leaf), _TCP
    else:
        return None
    metadata = _metadata(record)
    weight, warnings = _weight(metadata)
    status = "inactive" if _first(metadata, "state") == "inactive" else None
    return Found((Draft(endpoint, weight, network, None, metadata | {"@network": network}, status, warnings),))


def place(record: Record, claim: Claim) -> Place:
    """A service is the last folder of the key, and what is above it is up to the user."""
    key = _split(record)
    folder = key["folder"] if key else record.folder
    return Place(folder.rstrip("/").rpartition("/")[2] if not folder.endswith("//") else "", folder)


def reweigh(value: bytes, weight: int) -> bytes:
    """Replace the first field ``weight``, which is the one that counts; where there is none, add one at the end."""
    pairs = value.decode("utf-8").split("&")
    spelled = f"weight={weight}"
    at = next((at for at, pair in enumerate(pairs) if decoded(pair.partition("=")[0]) == "weight"), None)
    if at is None:
        return f"{value.decode('utf-8')}&{spelled}".encode() if value else spelled.encode()
    pairs[at] = f"{pairs[at].partition('=')[0]}={weight}"
    return "&".join(pairs).encode("utf-8")


def enable(value: bytes, on: bool) -> bytes:
    """Say in the field ``state`` that a server is inactive, or say nothing of it."""
    pairs = value.decode("utf-8").split("&") if value else []
    pairs = [pair for pair in pairs if decoded(pair.partition("=")[0]) != "state"]
    return "&".join(pairs if on else [*pairs, "state=inactive"]).encode("utf-8")


def _is_marker(record: Record) -> bool:
    value = record.value
    return value == _MARKER or (b":" not in value and value != b"" and value == record.leaf.encode())


def _split(record: Record) -> re.Match[str] | None:
    return _KEY.fullmatch(record.key) if "@" in record.key else None


def _is_marked(record: Record, claim: Claim) -> bool:
    """Whether it is rpcx that has a key without a network: its siblings are, or the folder above says so."""
    if claim.owned or not is_address(record.leaf):
        return claim.owned
    if claim.is_known_as(_NAME):
        return True
    is_form = not record.value or b"=" in record.value
    return is_form and record.value_of(record.folder.rstrip("/").rpartition("/")[0]) == _MARKER


def _endpoint(network: str, address: str) -> Endpoint:
    if network in _LOCAL:
        raise Unusable("not_tcp", _LOCAL[network])
    return parse_address(address)


Metadata = dict[str, str | list[str]]


def _metadata(record: Record) -> Metadata:
    if not record.value:
        return {}
    found = fields(record.text())
    for name, value in found.items():
        check_control("".join((name, *value)))
    return found


def _first(metadata: Mapping[str, str | list[str]], name: str) -> str:
    found = metadata.get(name, "")
    return found if isinstance(found, str) else found[0]


def _weight(metadata: Metadata) -> tuple[int, tuple[str, ...]]:
    """The weight that rpcx's own client uses: of what is no whole number, and of none, it makes 1."""
    weight, warnings = parse_text_weight(_first(metadata, "weight") or None, 1)
    if weight < 0:
        raise Unusable("bad_weight", "weight is negative")
    return weight, warnings


_KEEPER = Keeper(restores="rpcx puts a key back at its next update")

CODEC = Codec(
    _NAME,
    parse,
    form="{base}/{service}/{network}@{addr} -> a form of metadata",
    reweigh=reweigh,
    enable=enable,
    keeper=_KEEPER,
    place=place,
)
