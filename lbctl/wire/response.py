"""A response that left the fast path: its messages, counted and checked in constant memory."""

from __future__ import annotations

from typing import Final

from lbctl.model import Code, Reply
from lbctl.wire.head import Head
from lbctl.wire.status import local

MAX_MESSAGE: Final = 4 << 20  # octets, gRPC's default limit
_PREFIX: Final = 5
_EXCERPT: Final = 1024


class MessageTooLarge(Exception):
    """A message's prefix announces more than the limit."""


class Response:
    """What one stream has received. Bodies are skipped unless ``keep``; a non-gRPC body leaves an excerpt."""

    __slots__ = ("_missing", "_prefix", "_seen", "body", "flaw", "head", "keep", "messages", "size", "uncredited")

    def __init__(self, *, keep: bool) -> None:
        self.keep = keep
        self.head: Head | None = None
        self.flaw: Reply | None = None
        self.messages = 0
        self.size = 0  # octets of DATA without padding
        self.body = bytearray()
        self.uncredited = 0  # octets of the stream window the peer has not got back
        self._prefix = bytearray()
        self._missing = 0  # octets of the current message still to come
        self._seen = False  # a message has begun and is not complete

    def feed(self, payload: bytes) -> None:
        """Take a DATA payload without padding; raises MessageTooLarge."""
        assert self.head is not None
        self.size += len(payload)
        if not self.head.is_grpc:
            self.body += payload[: _EXCERPT - len(self.body)]
            return
        position = 0
        while position < len(payload):
            position = self._message(payload, position) if self._seen else self._header(payload, position)

    def _header(self, payload: bytes, position: int) -> int:
        taken = payload[position : position + _PREFIX - len(self._prefix)]
        self._prefix += taken
        if len(self._prefix) == _PREFIX:
            self._begin(self._prefix[0], int.from_bytes(self._prefix[1:], "big"))
            self._prefix.clear()
        return position + len(taken)

    def _begin(self, flag: int, length: int) -> None:
        assert self.head is not None
        if length > MAX_MESSAGE:
            raise MessageTooLarge(f"message of {length} bytes is larger than {MAX_MESSAGE}")
        if flag > 1:
            self._spoiled(f"message flag {flag} is neither 0 nor 1")
        elif flag == 1 and not self.head.encoding:
            self._spoiled("compressed message without grpc-encoding")
        elif flag == 1:
            self._spoiled(f"grpc-encoding {self.head.encoding!r} was not offered")
        self._missing = length
        self._seen = True
        if not length:
            self._complete()

    def _message(self, payload: bytes, position: int) -> int:
        taken = min(self._missing, len(payload) - position)
        if self.keep and self.messages == 0:
            self.body += payload[position : position + taken]
        self._missing -= taken
        if not self._missing:
            self._complete()
        return position + taken

    def _complete(self) -> None:
        self.messages += 1
        self._seen = False

    def _spoiled(self, reason: str) -> None:
        self.flaw = self.flaw or local(Code.INTERNAL, reason)

    def problem(self) -> Reply | None:
        """What is wrong with the messages of a unary reply that says OK."""
        if self.flaw is not None:
            return self.flaw
        if self._seen or self._prefix:
            return local(Code.INTERNAL, "truncated message")
        if self.messages != 1:
            return local(
                Code.INTERNAL, f"{self.messages or 'no'} message{'s' if self.messages > 1 else ''} in a unary reply"
            )
        return None

    def excerpt(self) -> str:
        """The beginning of a body that is not gRPC, for a reason; its control characters are the view's to escape."""
        text = bytes(self.body).decode("utf-8", "replace").strip() if self.head and not self.head.is_grpc else ""
        return f": {text}" if text else ""
