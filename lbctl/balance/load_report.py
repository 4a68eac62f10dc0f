"""What a server says of its load: xds.data.orca.v3.OrcaLoadReport, read from its octets and written to them.

    field   name                      on the wire
    1       cpu_utilization           double
    2       mem_utilization           double
    3       rps                       uint64, replaced by 6
    4       request_cost              map of string to double: field 1 is the name, 2 the value
    5       utilization               map
    6       rps_fractional            double
    7       eps                       double
    8       named_metrics             map
    9       application_utilization   double

A report comes with nearly every reply where servers send them, so it is read by hand: nine fields of two kinds take a
microsecond, a message object of the protobuf library several.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from struct import Struct, error
from types import MappingProxyType
from typing import Final, NamedTuple

LOAD_REPORT: Final = b"endpoint-load-metrics-bin"  # the trailer that carries a report in base64

_EMPTY: Final[Mapping[str, float]] = MappingProxyType({})
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_NAMES: Final = 100  # of one map: a server's words are kept with its backend
_double = Struct("<d").unpack_from
_packed = Struct("<Bd").pack


class LoadReport(NamedTuple):
    """One report; 0 and empty is what was not stated. Rates are per second, utilizations mostly 0..1."""

    cpu_utilization: float = 0.0
    mem_utilization: float = 0.0
    rps: int = 0
    request_cost: Mapping[str, float] = _EMPTY
    utilization: Mapping[str, float] = _EMPTY
    rps_fractional: float = 0.0
    eps: float = 0.0
    named_metrics: Mapping[str, float] = _EMPTY
    application_utilization: float = 0.0


class _Malformed(Exception):
    """The octets are no such message."""


def from_metadata(metadata: tuple[tuple[bytes, bytes], ...]) -> LoadReport | None:
    """The report among trailers, as ``Reply.metadata`` has them; None where there is none, or it is malformed."""
    for name, value in metadata:
        if name == LOAD_REPORT:
            try:
                return decoded(a2b_base64(value + b"==="[: -len(value) % 4], strict_mode=True))
            except ValueError:
                return None
    return None


def decoded(data: bytes) -> LoadReport | None:
    """The report that these octets hold; None where they are malformed. Unknown fields are passed over."""
    fields: list[float | Mapping[str, float]] = [0.0, 0.0, 0, _EMPTY, _EMPTY, 0.0, 0.0, _EMPTY, 0.0]
    position, end = 0, len(data)
    try:
        while position < end:
            number = _DOUBLES.get(data[position])
            if number is not None:
                (fields[number],) = _double(data, position + 1)
                position += 9
            elif data[position] not in _ENTRIES:
                position = _other(data, position, fields)
            else:
                position = _usual(data, position, fields) or _other(data, position, fields)
    except (_Malformed, error, IndexError):
        return None
    return LoadReport(*fields) if position == end else None  # type: ignore[arg-type]  # by the tables below


def encoded(report: LoadReport) -> bytes:
    """The octets of a report; what is 0 is left out."""
    return b"".join(_parts(report))


def metric(report: LoadReport, name: str) -> float:
    """A figure by its name in configurations: ``mem_utilization``, ``named_metrics.KEY``; NaN where it is not stated.

    The name of a map ends at the first dot, so keys may have dots.
    """
    where, dot, key = name.partition(".")
    if dot:
        return getattr(report, where).get(key, float("nan")) if where in _MAP_NAMES else float("nan")
    return float(getattr(report, where)) if where in _NUMBER_NAMES else float("nan")


_DOUBLES: Final = {number << 3 | _FIXED64: number - 1 for number in (1, 2, 6, 7, 9)}
_MAPS: Final = frozenset({4, 5, 8})
_ENTRIES: Final = bytes(number << 3 | _BYTES for number in _MAPS)
_MAP_NAMES: Final = frozenset({"request_cost", "utilization", "named_metrics"})
_NUMBER_NAMES: Final = frozenset(LoadReport._fields) - _MAP_NAMES


def _other(data: bytes, position: int, fields: list[float | Mapping[str, float]]) -> int:
    """Take a field that is no double of ours; returns where the next one begins."""
    tag, position = _varint(data, position)
    number, kind = tag >> 3, tag & 7
    if number in _MAPS and kind == _BYTES:
        length, position = _varint(data, position)
        name, value = _entry(data, position, position + length)
        _keep(name, value, number, fields)
        return position + length
    if number == 3 and kind == _VARINT:
        rps, position = _varint(data, position)
        fields[2] = rps & 0xFFFF_FFFF_FFFF_FFFF
        return position
    return _skipped(data, position, number, kind)


def _usual(data: bytes, position: int, fields: list[float | Mapping[str, float]]) -> int:
    """Take an entry of a map as everybody writes it: short, its name, its value; 0 where it is not like that."""
    length, size = data[position + 1], data[position + 3]
    value_at = position + 4 + size
    if length != size + 11 or length > 127 or data[position + 2] != 0x0A or data[value_at] != 0x11:
        return 0
    (value,) = _double(data, value_at + 1)
    _keep(data[position + 4 : value_at].decode("utf-8", "replace"), value, data[position] >> 3, fields)
    return value_at + 9


def _keep(name: str, value: float, number: int, fields: list[float | Mapping[str, float]]) -> None:
    entries = fields[number - 1]
    if entries is _EMPTY:
        fields[number - 1] = {name: value}
    elif len(entries) < _MOST_NAMES:  # type: ignore[arg-type]  # a map
        entries[name] = value  # type: ignore[index]


def _entry(data: bytes, position: int, end: int) -> tuple[str, float]:
    """One entry of a map of string to double."""
    if end > len(data):
        raise _Malformed
    name, value = "", 0.0
    while position < end:
        tag, position = _varint(data, position)
        if tag == 1 << 3 | _BYTES:
            length, position = _varint(data, position)
            name = data[position : position + length].decode("utf-8", "replace")
            position += length
        elif tag == 2 << 3 | _FIXED64:
            (value,) = _double(data, position)
            position += 8
        else:
            position = _skipped(data, position, tag >> 3, tag & 7)
    if position != end:
        raise _Malformed
    return name, value


def _skipped(data: bytes, position: int, number: int, kind: int) -> int:
    if not number:
        raise _Malformed
    if kind == _VARINT:
        return _varint(data, position)[1]
    if kind == _BYTES:
        length, position = _varint(data, position)
        return position + length
    if kind == _FIXED64:
        return position + 8
    if kind == _FIXED32:
        return position + 4
    raise _Malformed  # groups are no part of proto3


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        octet = data[position]
        position += 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value, position
    raise _Malformed


def _parts(report: LoadReport) -> Iterator[bytes]:
    for number, value in enumerate(report, 1):
        if number in _MAPS:
            for name, figure in value.items():  # type: ignore[attr-defined]  # the maps
                key = name.encode()
                entry = b"\x0a" + _length(len(key)) + key + _packed(2 << 3 | _FIXED64, figure)
                yield bytes((number << 3 | _BYTES,)) + _length(len(entry)) + entry
        elif number == 3:
            yield b"\x18" + _length(report.rps) if report.rps else b""
        elif value:
            yield _packed(number << 3 | _FIXED64, value)


def _length(value: int) -> bytes:
    """A number as a varint."""
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)
