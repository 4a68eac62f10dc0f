"""A received header block, classified once: everything the status rules ask of it."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass, replace
from typing import Final

from lbctl.model import Code
from lbctl.wire.header_table import LOAD_REPORT, PUSHBACK

Field = tuple[bytes, bytes]
Headers = tuple[Field, ...]

# What the receive loop's fast path may take without looking further.
NOT_FAST: Final = 0
OK_START: Final = 1  # :status 200, gRPC content-type, nothing unusual: a reply's first block
OK_END: Final = 2  # grpc-status 0 and no pseudo-field: a reply's trailers

_UPPER: Final = re.compile(rb"[A-Z]")
_FORBIDDEN: Final = re.compile(rb"[\x00\r\n]")
_CONNECTION_FIELDS: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
_IDENTITY: Final = frozenset({b"", b"identity"})


@dataclass(frozen=True, slots=True)
class Head:
    """The facts of one header block. ``flaw`` is a stream error; ``anomalies`` are counted, not failed."""

    http_status: int | None
    is_grpc: bool
    content_type: str
    encoding: str  # grpc-encoding, "" for identity
    content_length: int | None
    grpc_status: tuple[bytes, ...]
    grpc_message: str
    flaw: str
    anomalies: tuple[str, ...]
    fast: int
    metadata: Headers = ()  # what a client has to act on: PUSHBACK and LOAD_REPORT fields; or all there are


def parse(fields: list[Field]) -> Head:
    """Classify a decoded block, or those of its fields that tell anything; never raises on odd but legal values."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    status, flaw = _http_status(values.get(b":status", []))
    flaw = flaw or _illegal(fields)
    content_type = values.get(b"content-type", [b""])[0]
    encoding = values.get(b"grpc-encoding", [b""])[0]
    grpc_status = tuple(values.get(b"grpc-status", ()))
    anomalies = _anomalies(values, grpc_status)
    head = Head(
        http_status=status,
        is_grpc=is_grpc_content_type(content_type),
        content_type=content_type.decode("utf-8", "replace"),
        encoding="" if encoding in _IDENTITY else encoding.decode("utf-8", "replace"),
        content_length=int(length) if (length := values.get(b"content-length", [b""])[0][:18]).isdigit() else None,
        grpc_status=grpc_status,
        grpc_message=decode_message(values.get(b"grpc-message", [b""])[0]),
        flaw=flaw,
        anomalies=anomalies,
        fast=NOT_FAST,
        metadata=tuple((name, value) for name, value in fields if name in (PUSHBACK, LOAD_REPORT)),
    )
    return _marked(head)


def _marked(head: Head) -> Head:
    if head.flaw or head.anomalies or head.content_length is not None:
        return head
    fast = NOT_FAST
    if head.http_status == 200 and head.is_grpc and not head.encoding and not head.grpc_status:
        fast = OK_START
    elif head.http_status is None and head.grpc_status == (b"0",):
        fast = OK_END
    return replace(head, fast=fast)


def _http_status(values: list[bytes]) -> tuple[int | None, str]:
    if not values:
        return None, ""
    if len(values) > 1:
        return None, "several :status fields"
    if len(values[0]) != 3 or not values[0].isdigit():
        return None, "malformed :status"
    return int(values[0]), ""


def _illegal(fields: list[Field]) -> str:
    for name, value in fields:
        if _UPPER.search(name):
            return "upper-case header name"
        if _FORBIDDEN.search(value) or _FORBIDDEN.search(name):
            return "NUL, CR or LF in a header"
    return ""


def _anomalies(values: dict[bytes, list[bytes]], grpc_status: tuple[bytes, ...]) -> tuple[str, ...]:
    found = []
    if any(name.startswith(b":") and name != b":status" for name in values):
        found.append("pseudo-field")
    if not _CONNECTION_FIELDS.isdisjoint(values):
        found.append("connection-specific field")
    if len(set(grpc_status)) > 1:
        found.append("conflicting grpc-status")
    binary = {name: _binary(several) for name, several in values.items() if name.endswith(b"-bin")}
    if None in binary.values():
        found.append("bad base64")
    details = binary.get(b"grpc-status-details-bin")
    if details and grpc_status and grpc_status[-1].isdigit() and _stated_code(details) != int(grpc_status[-1][:9]):
        found.append("details of another grpc-status")
    return tuple(found)


def _binary(values: list[bytes]) -> bytes | None:
    """What ``-bin`` fields hold, the first value of them: padded or not, several joined by commas; None where bad."""
    decoded = []
    for part in b",".join(values).split(b","):
        bare = part.strip().rstrip(b"=")
        try:
            decoded.append(b64decode(bare + b"=" * (-len(bare) % 4), validate=True))
        except ValueError:
            return None
    return decoded[0]


def _stated_code(status: bytes) -> int:
    """The code of a google.rpc.Status, whose first field it is; 0 where it has none."""
    if status[:1] != b"\x08":
        return 0
    code = shift = 0
    for octet in status[1:6]:
        code |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            break
    return code


def is_grpc_content_type(value: bytes) -> bool:
    """``application/grpc``, alone or followed by ``+`` or ``;``, in any case; grpc-web is another protocol."""
    lowered = value.lower()
    return lowered == b"application/grpc" or lowered.startswith((b"application/grpc+", b"application/grpc;"))


def decode_message(raw: bytes) -> str:
    """grpc-message: percent-decoded where an escape is whole, kept as it is where not; UTF-8 with replacement."""
    decoded = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes((int(match[1], 16),)), raw)
    return decoded.decode("utf-8", "replace")


def grpc_code(values: tuple[bytes, ...]) -> tuple[Code, int | None] | None:
    """The code of grpc-status fields: (code, raw number above 16), or None when it is malformed.

    Several different values never show as OK: the last that is not zero counts.
    """
    raw = next((value for value in reversed(values) if value.strip(b"0") or not value), values[-1])
    if not raw.isdigit() or len(raw) > 9:
        return None
    number = int(raw)
    return (Code(number), None) if number <= 16 else (Code.UNKNOWN, number)
