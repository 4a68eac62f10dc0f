"""A run's request, encoded once per connection: a call then costs its stream id, put in twice."""

from __future__ import annotations

from lbctl.wire import frames as h2
from lbctl.wire.frames import HEAD
from lbctl.wire.header_writer import HeaderWriter
from lbctl.wire.request import Request


class Template:
    """The bytes of one request in one header context, the one of ``generation``.

    Where ``is_whole`` a call is ``before``, its stream id, ``between``, its id again, ``body``: HEADERS and one DATA of
    ``size`` octets. Longer bodies and streams have their header block from here and are sent the general way.
    """

    __slots__ = ("before", "between", "block", "body", "generation", "is_whole", "size")

    def __init__(self, request: Request, body: bytes, writer: HeaderWriter) -> None:
        self.block = writer.block(request, request.timeout_ns)
        self.body = body
        self.size = len(body)
        self.generation = writer.generation
        self.is_whole = request.stream is None and max(len(self.block), len(body)) <= h2.MAX_FRAME_SIZE
        self.before = HEAD.pack((len(self.block) << 8) | h2.HEADERS, h2.END_HEADERS, 0)[:5]
        self.between = self.block + HEAD.pack((len(body) << 8) | h2.DATA, h2.END_STREAM, 0)[:5]

    def call(self, stream: int) -> bytes:
        """Everything a call sends, where the template is whole."""
        raw = stream.to_bytes(4, "big")
        return b"".join((self.before, raw, self.between, raw, self.body))
