"""What one HTTP/2 client connection knows, and the few ways it may change; no I/O and no clock."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Set
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from lbctl.model import Code, Reply
from lbctl.wire.frames import MAX_FRAME_SIZE, ErrorCode, goaway, rst_stream
from lbctl.wire.head import parse
from lbctl.wire.header_reader import HeaderReader
from lbctl.wire.header_writer import HeaderWriter
from lbctl.wire.limits import Limits
from lbctl.wire.request import Request
from lbctl.wire.response import Response
from lbctl.wire.status import OK_REPLY, local, lost
from lbctl.wire.talk import Talk
from lbctl.wire.windows import ReceiveWindow, SendWindows


class Wait(IntEnum):
    """What a call had to wait for before it could be written."""

    NOTHING = 0
    CONNECTION = 1  # none was up
    SLOT = 2  # as many streams were open as the peer, or we, allow
    WINDOW = 3  # flow-control credit for its request
    PEER = 4  # the peer did not read
    ROTATION = 5  # every backend that can be reached was out of the rotation


_DETAILS: Final = 100

# How far a reply on the fast path has come; absent means nothing was received yet. Above MESSAGE_SEEN it is the octets
# that its only message still lacks.
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

    ``done``: calls answered OK (no message kept). ``replies``: (call, reply) of every other end, and of every stream.
    ``unsent``: calls of which nothing was written, free to go elsewhere. ``refused``: (call, reply) the peer says it
    did not process: one transparent retry is allowed, else the reply stands. ``started``: calls that had to wait and
    are in the output now; sessions that are flushed together share this list. ``early``: ended calls whose response
    headers came in an earlier read, and when, in ns. ``gaps``: time between two messages that a stream received, in ns.
    ``resets``: RST_STREAM frames since somebody took note. ``committed``: calls that go on and cannot be sent anew, of
    which ``Limits.replay`` has more.
    """

    def __init__(self, *, keep_messages: bool, limits: Limits) -> None:
        self.keep_messages = keep_messages
        self.limits = limits
        self.on_output: Callable[[], None] = _nobody
        self.out: list[bytes | memoryview] = []
        self.urgent = 0  # items at the head of the output that overtook the rest
        self.hot = False  # calls may be started from the template, windows and slots permitting
        self.now_ns = 0  # when the read that is being parsed began
        self.done: list[Call] = []
        self.replies: list[tuple[Call, Reply]] = []
        self.unsent: list[Call] = []
        self.refused: list[tuple[Call, Reply]] = []
        self.started: list[Call] = []
        self.early: list[tuple[Call, int]] = []
        self.gaps: list[int] = []
        self.resets = 0
        self.committed: list[Call] = []
        self.counters: Counter[str] = Counter()
        self.open: dict[int, Call] = {}
        self.uploading: dict[int, Call] = {}  # those whose first piece waits for credit
        self.progress: dict[int, int] = {}
        self.firsts: dict[int, int] = {}  # when the headers of a reply came that is not complete yet
        self.responses: dict[int, Response] = {}
        self.talks: dict[int, Talk] = {}  # the streaming calls among the open ones
        self.agenda: list[tuple[int, int]] = []  # a heap of (ns, stream): when a talk has something to do
        self.ghosts: dict[int, int] = {}  # streams given up and left to the peer, and what they have not got back
        self.waiting: deque[tuple[Call, Request]] = deque()
        self.reader = HeaderReader(whole=limits.headers, load_reports=limits.load_reports)
        self.writer = HeaderWriter()
        self.send = SendWindows(self._sent)
        self.received = ReceiveWindow()
        self.peer = PeerSettings()
        self.partial: Partial | None = None
        self.pings_open: set[bytes] = set()  # of ours, not answered yet
        self.next_id = 1
        self.last_stream = limits.last_stream
        self.limit = limits.max_streams
        self.last_processed: int | None = None  # GOAWAY's last stream id
        self.ready = False  # the peer's SETTINGS came
        self.paused = False  # the transport's buffer is full
        self.goaway_reason = ""
        self.ended_calls = 0  # streams that were over before the connection was; known once it is closed
        self.closed = ""  # why nothing can be received or sent any more

    @property
    def draining(self) -> bool:
        """No new streams: after a GOAWAY, after the last stream that is allowed, or once closed."""
        return self.last_processed is not None or bool(self.closed) or self.next_id > self.last_stream

    @property
    def has_room(self) -> bool:
        """Whether one more stream may be opened right now."""
        return len(self.open) < self.limit and not (self.paused or self.waiting or self.draining)

    def relimit(self) -> None:
        """How many streams may be open has changed; abandoned ones keep their slots."""
        peers = self.limits.max_streams if self.peer.max_streams is None else self.peer.max_streams
        self.limit = max(0, min(peers, self.limits.max_streams) - len(self.ghosts))

    def count(self, kind: str, detail: str = "") -> None:
        """Count something worth reporting. Details may be the peer's words, so only so many are told apart."""
        name = f"{kind}: {detail}" if detail else kind
        if detail and name not in self.counters and len(self.counters) >= _DETAILS:
            name = f"{kind}: (other)"
        self.counters[name] += 1

    def bodies_of(self, request: Request) -> tuple[bytes, ...]:
        """The framed messages of a streaming request."""
        return request.bodies()

    def _sent(self, stream: int, message: bool) -> None:
        """A piece of a request is wholly in the output."""
        call = self.uploading.pop(stream, None)
        if call is not None:
            self.started.append(call)
        talk = self.talks.get(stream)
        if talk is not None and message:
            talk.sent += 1
            if talk.sent == talk.kept + 1:
                self.committed.append(self.open[stream])

    def emit(self, data: bytes | memoryview) -> None:
        """Queue whole frames behind everything queued before."""
        if not self.out:
            self.on_output()
        self.out.append(data)

    def response_of(self, stream: int) -> Response:
        """The stream's response off the fast path, carrying over how far the fast path had come."""
        response = self.responses.get(stream)
        if response is None:
            response = Response(keep=self.keep_messages, max_message=self.limits.max_message)
            self.responses[stream] = response
            seen = self.progress.pop(stream, 0)
            if seen:
                response.resume(FAST_HEAD, complete=seen == MESSAGE_SEEN, missing=max(0, seen - MESSAGE_SEEN))
        return response

    def finish(self, stream: int, reply: Reply) -> None:
        """The stream is over; a body we are still sending is cut off, as the status is final."""
        if self.send.drop(stream):
            self._cut(stream, ErrorCode.NO_ERROR)
        call, reply = self._forget(stream, reply)
        if reply is OK_REPLY:
            self.done.append(call)
        else:
            self.replies.append((call, reply))

    def reset(self, stream: int, error: ErrorCode, reply: Reply, *, ended: bool = False) -> None:
        """End a stream from our side; ``ended``: the peer's side has, so it is closed unless we still send a body."""
        if self.send.drop(stream) or not ended:
            self._cut(stream, error)
        self.replies.append(self._forget(stream, reply))

    def refuse(self, stream: int, reply: Reply) -> None:
        """The peer did not process this stream."""
        self.send.drop(stream)
        self.refused.append(self._forget(stream, reply))

    def _cut(self, stream: int, error: ErrorCode) -> None:
        self.resets += 1
        self.count("rst_sent", error.name)
        self.emit(rst_stream(stream, error))

    def _forget(self, stream: int, reply: Reply) -> tuple[Call, Reply]:
        """The call of a stream that is over, and its reply with the messages it had, where it is a streaming call."""
        seen = self.progress.pop(stream, 0)
        response = self.responses.pop(stream, None)
        self.uploading.pop(stream, None)
        if reply is not OK_REPLY and (seen or (response is not None and response.has_begun)):
            reply = reply._replace(headed=True)
        if self.limits.headers and response is not None and response.has_begun and response.head is not None:
            reply = reply._replace(headers=response.head.metadata)
        call = self.open.pop(stream)
        first_ns = self.firsts.pop(stream, 0)
        if first_ns:
            self.early.append((call, first_ns))
        talk = self.talks.pop(stream, None)
        if talk is not None:
            reply = reply._replace(sent=talk.sent, received=talk.received)
        return call, reply

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
            self.replies.append(self._forget(stream, lost(told)))
        self.send = SendWindows()  # ours refers to us, and the collector does not run during a load

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed: RST_STREAM(CANCEL) where something was sent.

        Without ``reset_late`` a request that is complete is left to the server's own deadline, and keeps its slot.
        """
        late = [stream for stream, call in self.open.items() if call.deadline_ns <= now_ns]
        for stream in late:
            self._leave(stream)
            self.replies.append(self._forget(stream, DEADLINE))
        self.relimit()
        if self.waiting and any(call.deadline_ns <= now_ns for call, _ in self.waiting):
            waiting, self.waiting = self.waiting, deque()
            for call, request in waiting:
                if call.deadline_ns <= now_ns:
                    self.replies.append((call, UNSENT_DEADLINE))
                else:
                    self.waiting.append((call, request))

    def _leave(self, stream: int) -> None:
        """Tell the peer that nobody waits for this stream any more, or leave it to the peer."""
        if self.send.drop(stream) or self.limits.reset_late:
            self._cut(stream, ErrorCode.CANCEL)
        else:
            self.ghosts[stream] = 0

    def abandon(self, call: Call) -> bool | None:
        """End one call that nobody wants to hear of again: it ends up in no basket.

        Returns whether it was on the wire, or None where it is not here (any more).
        """
        for stream in [number for number, known in self.open.items() if known is call]:
            self._leave(stream)
            self.firsts.pop(stream, None)
            self._forget(stream, OK_REPLY)
            self.relimit()
            return True
        for place, (known, _) in enumerate(self.waiting):
            if known is call:
                del self.waiting[place]
                return False
        return None

    def cancel(self, reply: Reply) -> None:
        """End every call at once, for our own reasons."""
        for stream in list(self.open):
            self.reset(stream, ErrorCode.CANCEL, reply)
        self.replies.extend((call, reply) for call, _ in self.waiting)
        self.waiting.clear()

    def exorcise(self, stream: int) -> None:
        """An abandoned stream has ended at the peer: its slot is free again."""
        if stream in self.ghosts:
            del self.ghosts[stream]
            self.relimit()

    def block_unsent(self, begun: Set[int], ended: Set[int]) -> list[Call]:
        """The kernel did not take all of these requests, which begin or end in a write: each is a call of its own now.

        They are written once the peer reads again, and whoever wrote the rest has to say when (``started``).
        """
        blocked: list[Call] = []
        fresh = set(map(id, self.started))  # a stream may end long after it has started
        for stream in sorted(begun | ended):
            call = self.open.get(stream)
            if call is None or stream in self.uploading or not (stream in begun or id(call) in fresh):
                continue
            own = self.open[stream] = call.alone()
            own.waited_for = Wait.PEER
            self.count("waited", "peer")
            blocked.append(own)
            if id(call) in fresh:
                self.started.remove(call)
        return blocked
