"""A response that left the fast path: its messages, counted and checked in constant memory."""

from __future__ import annotations

import zlib
from typing import Final

from lbctl.model import Code, Reply
from lbctl.wire.head import Head
from lbctl.wire.limits import MAX_MESSAGE
from lbctl.wire.status import local

_PREFIX: Final = 5
_EXCERPT: Final = 1024
_GZIP_WINDOW: Final = 31  # zlib's own mark for the gzip format
GZIP: Final = "gzip"


class MessageTooLarge(Exception):
    """A message's prefix announces more than the limit."""


class Response:
    """What one stream has received: messages counted, kept where ``keep``; another body leaves an excerpt."""

    __slots__ = (
        *("_bodies", "_compressed", "_excerpt", "_limit", "_missing", "_prefix", "_seen"),
        *("bare", "flaw", "head", "keep", "messages", "size", "uncredited"),
    )

    def __init__(self, *, keep: bool, max_message: int = MAX_MESSAGE) -> None:
        self.keep = keep
        self.head: Head | None = None
        self.bare = False  # it is headers alone, which end the stream (Trailers-Only)
        self.flaw: Reply | None = None
        self.messages = 0
        self.size = 0  # octets of DATA without padding
        self.uncredited = 0  # octets of the stream window the peer has not got back
        self._limit = max_message
        self._bodies: list[bytearray] = []
        self._excerpt = bytearray()
        self._prefix = bytearray()
        self._missing = 0  # octets of the current message still to come
        self._seen = False  # a message has begun and is not complete
        self._compressed = False  # it is

    @property
    def has_begun(self) -> bool:
        """Whether headers came that were not the whole of it."""
        return self.head is not None and not self.bare

    def resume(self, head: Head, *, complete: bool, missing: int) -> None:
        """Go on where the fast path has come to: its only message was complete, or lacks so many octets."""
        self.head = head
        self.messages = int(complete)
        self._missing = missing
        self._seen = missing > 0

    def feed(self, payload: bytes) -> None:
        """Take a DATA payload without padding; raises MessageTooLarge."""
        assert self.head is not None
        self.size += len(payload)
        if not self.head.is_grpc:
            self._excerpt += payload[: _EXCERPT - len(self._excerpt)]
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
        if length > self._limit:
            raise MessageTooLarge(f"message of {length} bytes is larger than {self._limit}")
        if flag > 1:
            self._spoiled(f"message flag {flag} is neither 0 nor 1")
        elif flag == 1 and not self.head.encoding:
            self._spoiled("compressed message without grpc-encoding")
        elif flag == 1 and self.head.encoding != GZIP:
            self._spoiled(f"grpc-encoding {self.head.encoding!r} was not offered")
        self._missing = length
        self._seen = True
        self._compressed = flag == 1
        if self.keep:
            self._bodies.append(bytearray())
        if not length:
            self._complete()

    def _message(self, payload: bytes, position: int) -> int:
        taken = min(self._missing, len(payload) - position)
        if self.keep:
            self._bodies[-1] += payload[position : position + taken]
        self._missing -= taken
        if not self._missing:
            self._complete()
        return position + taken

    def _complete(self) -> None:
        self.messages += 1
        self._seen = False
        if self.keep and self._compressed and self.flaw is None:
            self._bodies[-1] = self._inflated(self._bodies[-1])

    def _inflated(self, body: bytearray) -> bytearray:
        """The message as it was; at most one octet more than the limit is unpacked, whatever it would become."""
        unpacker = zlib.decompressobj(_GZIP_WINDOW)
        try:
            plain = unpacker.decompress(body, self._limit + 1)
        except zlib.error as error:
            self._spoiled(f"gzip message cannot be decompressed: {error}")
            return bytearray()
        if len(plain) > self._limit:
            raise MessageTooLarge(f"message is larger than {self._limit} bytes when decompressed")
        if not unpacker.eof or unpacker.unused_data:
            self._spoiled("gzip message is cut short" if not unpacker.eof else "gzip message has octets behind its end")
        return bytearray(plain)

    def _spoiled(self, reason: str) -> None:
        self.flaw = self.flaw or local(Code.INTERNAL, reason)

    def problem(self, *, many: bool = False) -> Reply | None:
        """What is wrong with the messages of a reply that says OK; ``many``: the method streams its replies."""
        if self.flaw is not None:
            return self.flaw
        if self._seen or self._prefix:
            return local(Code.INTERNAL, "truncated message")
        if self.messages != 1 and not many:
            return local(
                Code.INTERNAL, f"{self.messages or 'no'} message{'s' if self.messages > 1 else ''} in a unary reply"
            )
        return None

    def kept(self) -> tuple[bytes, ...]:
        """The complete messages, where they are kept and were not taken."""
        return tuple(bytes(body) for body in self._bodies[: len(self._bodies) - self._seen])

    def take(self) -> tuple[bytes, ...]:
        """The same, and they are not kept any longer."""
        taken = self.kept()
        del self._bodies[: len(taken)]
        return taken

    def excerpt(self) -> str:
        """The beginning of a body that is not gRPC, for a reason; its control characters are the view's to escape."""
        text = bytes(self._excerpt).decode("utf-8", "replace").strip() if self.head and not self.head.is_grpc else ""
        return f": {text}" if text else ""
