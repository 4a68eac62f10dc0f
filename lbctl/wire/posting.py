"""Calls whose messages and metadata are their own: the header block is a template, what differs is put behind it."""

from __future__ import annotations

from typing import NamedTuple

from lbctl.wire import frames as h2
from lbctl.wire.frames import HEAD
from lbctl.wire.header_writer import own_fields
from lbctl.wire.limits import Limits
from lbctl.wire.request import Headers, Request, fields_size, framed
from lbctl.wire.sending import Sending
from lbctl.wire.state import Call


class Block(NamedTuple):
    """The header block of a request, and how many octets of fields the peer takes beside it, None for any number."""

    request: Request  # lives as long as its id is in use
    octets: bytes
    room: int | None


class Posting(Sending):
    """Sends calls of any request that is given again and again, each with a content of its own."""

    def __init__(self, request: Request | None, *, keep_messages: bool, limits: Limits) -> None:
        super().__init__(request, keep_messages=keep_messages, limits=limits)
        self._blocks: dict[int, Block] = {}  # by the id of the request
        self._generation = -1  # of the header context that the blocks are true of

    def post(self, call: Call, request: Request, messages: tuple[bytes, ...], own: Headers) -> None:
        """Send a call, or queue it until slot, window and connection allow."""
        if self._generation != self.writer.generation:
            self._blocks.clear()
            self._generation = self.writer.generation
        known = self._blocks.get(id(request)) or self._learned(request)
        if known is None or not self.hot or len(self.open) >= self.limit or self.next_id > self.last_stream:
            self.enqueue(call.alone(), request.of(messages, own))
            return
        body = framed(messages[0], compress=request.gzip)
        block = known.octets
        if own:
            block += own_fields(request, own)
        size, send = len(body), self.send
        crowded = size > send.connection or size > send.initial or max(size, len(block)) > h2.MAX_FRAME_SIZE
        if crowded or (own and known.room is not None and fields_size(own) > known.room):
            self.enqueue(call.alone(), request.of(messages, own))
            return
        stream = self.next_id
        self.next_id = stream + 2
        self.open[stream] = call
        send.connection -= size
        if not self.out:
            self.on_output()
        self.out.append(
            b"".join(
                (
                    HEAD.pack((len(block) << 8) | h2.HEADERS, h2.END_HEADERS, stream),
                    block,
                    HEAD.pack((size << 8) | h2.DATA, h2.END_STREAM, stream),
                    body,
                )
            )
        )

    def unsettle(self) -> None:
        super().unsettle()
        self._blocks.clear()

    def _learned(self, request: Request) -> Block | None:
        """The header block of a request, if it may be repeated: unary, in the peer's table, and within its limits."""
        if request.stream is not None or not self.writer.is_stable(request):
            return None
        allowed, room = self.peer.max_header_list, None
        if allowed is not None:
            room = allowed - request.header_size(request.timeout_ns)
            if room < 0:
                return None
        found = Block(request, self.writer.block(request, request.timeout_ns), room)
        self._blocks[id(request)] = found
        return found
