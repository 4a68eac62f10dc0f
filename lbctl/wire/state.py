"""What one HTTP/2 client connection knows, and the few ways it may change; no I/O and no clock."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from lbctl.model import Code, Reply
from lbctl.wire.frames import MAX_FRAME_SIZE, ErrorCode, goaway, rst_stream
from lbctl.wire.head import parse
from lbctl.wire.header_reader import HeaderReader
from lbctl.wire.header_writer import HeaderWriter
from lbctl.wire.limits import LAST_STREAM, OWN_STREAM_LIMIT
from lbctl.wire.request import Request
from lbctl.wire.response import Response
from lbctl.wire.status import OK_REPLY, local, lost
from lbctl.wire.windows import ReceiveWindow, SendWindows


class Wait(IntEnum):
    """What a call had to wait for before it could be written."""

    NOTHING = 0
    CONNECTION = 1  # none was up
    SLOT = 2  # as many streams were open as the peer, or we, allow
    WINDOW = 3  # flow-control credit for its request
    PEER = 4  # the peer did not read


# How far a reply on the fast path has come; absent means nothing was received yet.
HEADERS_SEEN: Final = 1
MESSAGE_SEEN: Final = 2

# The fast path keeps no head: what it accepted is by definition like this one.
FAST_HEAD: Final = parse([(b":status", b"200"), (b"content-type", b"application/grpc")])

DEADLINE: Final = local(Code.DEADLINE_EXCEEDED, "deadline exceeded")
UNSENT_DEADLINE: Final = local(Code.DEADLINE_EXCEEDED, "deadline exceeded before the call could be sent")


class Call(Protocol):
    """What the session asks of a call; the engine's own object. ``timeout_ns`` 0 states the request's deadline.

    One object may stand for many calls that were started together. ``alone`` makes one for a single call, which has
    to wait and so is written at another time than the rest; what it waits for is written into ``waited_for``.
    """

    deadline_ns: int
    timeout_ns: int
    waited_for: Wait

    def alone(self) -> Call: ...


class Partial(NamedTuple):
    """A header block whose CONTINUATION frames are still to come."""

    stream: int
    flags: int
    pieces: list[bytes]


class PeerSettings:
    """The peer's SETTINGS that limit us."""

    __slots__ = ("max_frame_size", "max_header_list", "max_streams")

    def __init__(self) -> None:
        self.max_streams: int | None = None
        self.max_frame_size = MAX_FRAME_SIZE
        self.max_header_list: int | None = None


def _nobody() -> None:
    """Nobody is told that output waits."""


class State:
    """Streams, windows, header contexts and the baskets that calls end up in.

    ``done``: calls answered OK (no message kept). ``replies``: (call, reply) of every other end. ``unsent``: calls
    of which nothing was written, free to go elsewhere. ``refused``: (call, reply) the peer says it did not process:
    one transparent retry is allowed, else the reply stands. ``started``: calls that had to wait and are in the output
    now; sessions that are flushed together share this list. ``early``: ended calls whose response headers came in an
    earlier read, and when, in ns. ``gaps``: time between two messages that a stream received, in ns.
    """

    def __init__(self, *, keep_messages: bool) -> None:
        self.keep_messages = keep_messages
        self.on_output: Callable[[], None] = _nobody
        self.out: list[bytes] = []
        self.urgent = 0  # items at the head of the output that overtook the rest
        self.hot = False  # calls may be started from the template, windows and slots permitting
        self.done: list[Call] = []
        self.replies: list[tuple[Call, Reply]] = []
        self.unsent: list[Call] = []
        self.refused: list[tuple[Call, Reply]] = []
        self.started: list[Call] = []
        self.early: list[tuple[Call, int]] = []
        self.gaps: list[int] = []
        self.counters: Counter[str] = Counter()
        self.open: dict[int, Call] = {}
        self.progress: dict[int, int] = {}
        self.responses: dict[int, Response] = {}
        self.waiting: deque[tuple[Call, Request]] = deque()
        self.reader = HeaderReader()
        self.writer = HeaderWriter()
        self.send = SendWindows()
        self.received = ReceiveWindow()
        self.peer = PeerSettings()
        self.partial: Partial | None = None
        self.next_id = 1
        self.limit = OWN_STREAM_LIMIT
        self.last_processed: int | None = None  # GOAWAY's last stream id
        self.ready = False  # the peer's SETTINGS came
        self.paused = False  # the transport's buffer is full
        self.goaway_reason = ""
        self.ended_calls = 0  # streams that were over before the connection was; known once it is closed
        self.closed = ""  # why nothing can be received or sent any more

    @property
    def draining(self) -> bool:
        """No new streams: after a GOAWAY, near the end of the stream ids, or once closed."""
        return self.last_processed is not None or bool(self.closed) or self.next_id > LAST_STREAM

    def emit(self, data: bytes) -> None:
        """Queue whole frames behind everything queued before."""
        if not self.out:
            self.on_output()
        self.out.append(data)

    def response_of(self, stream: int) -> Response:
        """The stream's response off the fast path, carrying over how far the fast path had come."""
        response = self.responses.get(stream)
        if response is None:
            response = self.responses[stream] = Response(keep=self.keep_messages)
            seen = self.progress.pop(stream, 0)
            if seen:
                response.head = FAST_HEAD
                response.messages = seen - HEADERS_SEEN
        return response

    def finish(self, stream: int, reply: Reply) -> None:
        """The stream is over; a body we are still sending is cut off, as the status is final."""
        call = self._forget(stream)
        if self.send.drop(stream):
            self.counters["rst_sent"] += 1
            self.emit(rst_stream(stream, ErrorCode.NO_ERROR))
        if reply is OK_REPLY:
            self.done.append(call)
        else:
            self.replies.append((call, reply))

    def reset(self, stream: int, error: ErrorCode, reply: Reply, *, ended: bool = False) -> None:
        """End a stream from our side; ``ended``: the peer's side has, so it is closed unless we still send a body."""
        if self.send.drop(stream) or not ended:
            self.counters["rst_sent"] += 1
            self.emit(rst_stream(stream, error))
        self.replies.append((self._forget(stream), reply))

    def refuse(self, stream: int, reply: Reply) -> None:
        """The peer did not process this stream."""
        self.send.drop(stream)
        self.refused.append((self._forget(stream), reply))

    def _forget(self, stream: int) -> Call:
        self.progress.pop(stream, None)
        self.responses.pop(stream, None)
        return self.open.pop(stream)

    def release_waiting(self) -> None:
        """Hand back every call that was never written."""
        self.unsent.extend(call for call, _ in self.waiting)
        self.waiting.clear()

    def fail(self, error: ErrorCode, reason: str) -> None:
        """A connection error of the peer: GOAWAY, and every open call is lost."""
        self.counters["protocol_errors"] += 1
        self.emit(goaway(error, reason))
        self.lose(f"peer protocol error: {reason}")

    def lose(self, reason: str) -> None:
        """The connection is gone, whoever ended it; calls already answered are not affected."""
        if self.closed:
            return
        self.closed = reason
        self.hot = False
        self.ended_calls = (self.next_id - 1) // 2 - len(self.open)
        self.release_waiting()
        told = f"{reason} (after {self.goaway_reason})" if self.goaway_reason else reason
        for stream in list(self.open):
            self.replies.append((self._forget(stream), lost(told)))

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed: RST_STREAM(CANCEL) where something was sent."""
        late = [stream for stream, call in self.open.items() if call.deadline_ns <= now_ns]
        for stream in late:
            self.reset(stream, ErrorCode.CANCEL, DEADLINE)
        if self.waiting and any(call.deadline_ns <= now_ns for call, _ in self.waiting):
            waiting, self.waiting = self.waiting, deque()
            for call, request in waiting:
                if call.deadline_ns <= now_ns:
                    self.replies.append((call, UNSENT_DEADLINE))
                else:
                    self.waiting.append((call, request))

    def cancel(self, reply: Reply) -> None:
        """End every call at once, for our own reasons."""
        for stream in list(self.open):
            self.reset(stream, ErrorCode.CANCEL, reply)
        self.replies.extend((call, reply) for call, _ in self.waiting)
        self.waiting.clear()
