"""A strict reader of the client's header blocks: HPACK with its size-update rule, and the shape of a gRPC request."""

from __future__ import annotations

import re

from hpack import Decoder, HPACKError

Head = tuple[tuple[bytes, bytes], ...]

_PSEUDO = (b":method", b":scheme", b":path", b":authority")
_CONNECTION_SPECIFIC = {b"connection", b"host", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
_TIMEOUT = re.compile(rb"[0-9]{1,8}[HMSmun]")


class HeadReader:
    """Decodes blocks in order and says which rule each of them breaks."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._limit = 4096
        self._smallest: int | None = None  # since the last block, by SETTINGS the client has acknowledged

    def table_limit(self, size: int) -> None:
        """The client acknowledged this SETTINGS_HEADER_TABLE_SIZE."""
        self._limit = size
        self._smallest = size if self._smallest is None else min(self._smallest, size)
        self._decoder.max_allowed_table_size = size

    def read(self, block: bytes) -> tuple[Head, list[str]]:
        faults = self._size_update_faults(block)
        self._smallest = None
        try:
            head = tuple((name, value) for name, value in self._decoder.decode(block, raw=True))
        except HPACKError as error:
            return (), [*faults, f"block {block[:24].hex()} does not decode: {error}"]
        return head, faults + head_faults(head)

    def _size_update_faults(self, block: bytes) -> list[str]:
        updates = _leading_updates(block)
        must_signal = self._smallest is not None and self._smallest < self._decoder.header_table_size
        if must_signal and (not updates or min(updates) > (self._smallest or 0)):
            return [f"no table size update to {self._smallest} at the start of block {block[:8].hex()}"]
        if len(updates) > 2:
            return [f"{len(updates)} table size updates in one block"]
        return [f"table size update to {size} above our limit" for size in updates[-1:] if size > self._limit]


def _leading_updates(block: bytes) -> list[int]:
    sizes: list[int] = []
    at = 0
    while at < len(block) and block[at] & 0xE0 == 0x20:
        size, at = block[at] & 0x1F, at + 1
        if size == 0x1F:
            shift = 0
            while at < len(block):
                size += (block[at] & 0x7F) << shift
                shift, at = shift + 7, at + 1
                if block[at - 1] < 0x80:
                    break
        sizes.append(size)
    return sizes


def head_faults(head: Head) -> list[str]:
    """What is wrong with a request head, by RFC 9113 §8 and the gRPC protocol."""
    names = [name for name, _ in head]
    values = dict(head)
    pseudo = [name for name in names if name.startswith(b":")]
    rules = {
        "pseudo-fields are not first": names[: len(pseudo)] == pseudo,
        "pseudo-fields are not method, scheme, path, authority once each": sorted(pseudo) == sorted(_PSEUDO),
        ":method is not POST": values.get(b":method") == b"POST",
        ":scheme is not http": values.get(b":scheme") in {b"http", b"https"},
        ":path is not absolute": values.get(b":path", b"").startswith(b"/"),
        ":authority is empty": bool(values.get(b":authority")),
        "te is not trailers": values.get(b"te") == b"trailers",
        "content-type is not application/grpc": values.get(b"content-type", b"").startswith(b"application/grpc"),
        "a name is not lower case": all(name == name.lower() for name in names),
        "a connection-specific field": not _CONNECTION_SPECIFIC & set(names),
        f"grpc-timeout {values.get(b'grpc-timeout')!r} is not valid": timeout_is_valid(
            values.get(b"grpc-timeout", b"1S")
        ),
    }
    return [fault for fault, kept in rules.items() if not kept]


def timeout_is_valid(text: bytes) -> bool:
    return bool(_TIMEOUT.fullmatch(text)) and int(text[:-1]) > 0


def timeout_seconds(text: bytes) -> float:
    """What a grpc-timeout value means."""
    assert timeout_is_valid(text), text
    return int(text[:-1]) * {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}[text[-1:]]
