"""A session and a strict independent server (python-hyper/h2) with wires between them that deliver when told to.

The server raises on every mistake of ours. What it says is rewritten in legal ways that it would not choose itself:
header blocks in CONTINUATION frames, padding, priorities, unknown frames. It knows how each of its streams has to end
for the caller, so that at the end every call's outcome is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    DataReceived,
    Event,
    PingAckReceived,
    RequestReceived,
    SettingsAcknowledged,
    StreamEnded,
    StreamReset,
)
from h2.settings import SettingCodes

from lbctl.model import Code, Reply
from lbctl.wire import windows
from lbctl.wire.session import Session
from lbctl.wire.state import Call
from tests.wire import frames as h2
from tests.wire.pure import PureCall

GRPC_HEAD = [(":status", "200"), ("content-type", "application/grpc")]
MANY = "/pkg.Svc/Chat"
REFUSED = "refused"
INITIAL = -1  # stands for the settings of the first frame
Outcome = Code | str

AT_LAST = {
    SettingCodes.MAX_HEADER_LIST_SIZE: 1 << 20,
    SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20,
    SettingCodes.MAX_CONCURRENT_STREAMS: 1000,
}


@dataclass(slots=True)
class Asked:
    """One request as the server sees it, and how far the answer has come."""

    sid: int
    path: str
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    head_sent: bool = False
    messages: list[int] = field(default_factory=list)  # sizes of those sent
    over: bool = False  # nothing more can be said on it

    @property
    def may_have_many(self) -> bool:
        """Whether its method streams replies."""
        return self.path == MANY


class Server:
    """h2's side; everything it says comes out of ``speech``."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.conn = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.conn.initiate_connection()
        self.asked: dict[int, Asked] = {}
        self.outcomes: dict[int, Outcome] = {}
        self.last = h2.LARGEST_WINDOW  # of GOAWAY
        self.uncredited: dict[int, int] = {}
        self._unheard = bytearray()
        self.lazy = False  # credit only when told to
        self.oddness = 0.5  # how often frames are rewritten
        self.pings: list[bytes] = []
        self.unacknowledged: list[int] = [INITIAL]  # the setting that each SETTINGS frame changes

    # ---- listening -----------------------------------------------------------------------------------------------

    def hear(self, raw: bytes) -> None:
        """Raises what h2 raises: a mistake of the client. Frame by frame, as h2 learns of an ACK between two reads."""
        self._unheard += raw
        while size := self._first():
            for event in self.conn.receive_data(bytes(self._unheard[:size])):
                self._on(event)
            del self._unheard[:size]

    def _first(self) -> int:
        """How long the first complete frame is, or the preface; 0 while there is none."""
        if self._unheard.startswith(h2.PREFACE[:3]):
            size = len(h2.PREFACE)
        else:
            size = 9 + int.from_bytes(self._unheard[:3], "big")
        return size if 9 <= size <= len(self._unheard) else 0

    def _on(self, event: Event) -> None:
        if isinstance(event, PingAckReceived):
            assert self.pings.pop(0) == event.ping_data
        elif isinstance(event, SettingsAcknowledged):
            self.unacknowledged.pop(0)
        elif isinstance(event, RequestReceived):
            self._opened(event)
        elif isinstance(event, DataReceived):
            self._data(event)
        elif isinstance(event, StreamEnded):
            assert event.stream_id is not None
            self.asked[event.stream_id].complete = True
        elif isinstance(event, StreamReset):
            assert event.stream_id is not None
            self.asked[event.stream_id].over = True

    def _opened(self, event: RequestReceived) -> None:
        assert event.stream_id is not None
        assert event.headers is not None
        path = next(bytes(value) for name, value in event.headers if name == b":path").decode()
        asked = self.asked[event.stream_id] = Asked(event.stream_id, path)
        if asked.sid > self.last:
            self._over(asked, REFUSED)

    def _data(self, event: DataReceived) -> None:
        assert event.stream_id is not None
        self.asked[event.stream_id].body += event.data or b""
        owed = self.uncredited.get(event.stream_id, 0) + (event.flow_controlled_length or 0)
        self.uncredited[event.stream_id] = owed
        if not self.lazy:
            self.credit(event.stream_id)

    # ---- saying --------------------------------------------------------------------------------------------------

    def speech(self) -> bytes:
        """What h2 wants to say, in a form it would not have chosen."""
        said, _ = h2.split(self.conn.data_to_send())
        return b"".join(self._odd(frame) for frame in said)

    def _odd(self, frame: h2.Frame) -> bytes:
        raw = h2.frame(*frame)
        if not frame.stream or frame.kind == h2.CONTINUATION or self.rng.random() >= self.oddness:
            return raw
        noise = self.rng.choice([b"", b"", h2.frame(0xFA, 0xFF, frame.stream, b"grease")])
        if frame.kind == h2.HEADERS and frame.flags & h2.END_HEADERS and not frame.flags & 0x28:
            return noise + self._odd_headers(frame)
        if frame.kind == h2.DATA:
            noise += h2.frame(h2.PRIORITY, 0, frame.stream, bytes(5))
        return noise + raw

    def _odd_headers(self, frame: h2.Frame) -> bytes:
        end = bool(frame.flags & h2.END_STREAM)
        if self.rng.random() < 0.5:
            pad = self.rng.choice([None, 0, 9])
            return h2.header_frame(frame.stream, frame.payload, end=end, pad=pad, priority=self.rng.random() < 0.5)
        cuts = sorted(self.rng.randrange(len(frame.payload) + 1) for _ in range(self.rng.randrange(1, 4)))
        edges = [0, *cuts, len(frame.payload)]
        pieces = [frame.payload[start:stop] for start, stop in pairwise(edges)]
        return h2.scattered(frame.stream, pieces, end=end)

    def credit(self, sid: int) -> None:
        """Give back what was received on a stream."""
        owed = self.uncredited.pop(sid, 0)
        if owed:
            self.conn.acknowledge_received_data(owed, sid)

    def open_streams(self, *, complete: bool = True) -> list[Asked]:
        """Requests that may be answered."""
        return [
            asked
            for asked in self.asked.values()
            if not asked.over and asked.sid <= self.last and (asked.complete or not complete)
        ]

    def say_head(self, asked: Asked) -> None:
        if asked.head_sent:
            return
        odd = self.rng.random() < self.oddness
        if odd and self.rng.random() < 0.2:
            self.conn.send_headers(asked.sid, [(":status", "103"), ("link", "</a>")])
        extra = [("x-n", str(self.rng.randrange(4))), ("x-long", "v" * self.rng.choice([1, 200, 17_000]))]
        self.conn.send_headers(asked.sid, GRPC_HEAD + extra[: self.rng.choice([0, 1, 1, 2]) if odd else 0])
        asked.head_sent = True

    def say_message(self, asked: Asked, size: int) -> None:
        """One message, in frames of odd sizes and with padding; none if the windows do not take it all."""
        body = h2.message(b"r" * size)
        if self.conn.local_flow_control_window(asked.sid) < len(body) + 20 * 256:
            return
        asked.messages.append(size)
        odd = 20 if self.rng.random() < self.oddness else 0
        while body:
            length = self.rng.choice([1, 5, 1000, 16_000, 16_000]) if odd > 0 else 16_000
            pad = self.rng.choice([None, None, 0, 200]) if odd > 0 else None
            self.conn.send_data(asked.sid, body[:length], pad_length=pad)
            body, odd = body[length:], odd - 1

    def say_status(self, asked: Asked, status: int, outcome: Outcome) -> None:
        fields = [("grpc-status", str(status)), ("x-served-by", f"b{self.rng.randrange(3)}")]
        self.conn.send_headers(asked.sid, fields[: 1 + (self.rng.random() < self.oddness)], end_stream=True)
        self._over(asked, outcome)

    def say_trailers_only(self, asked: Asked, status: int) -> None:
        if not asked.head_sent:
            self.conn.send_headers(asked.sid, [*GRPC_HEAD, ("grpc-status", str(status))], end_stream=True)
            self._over(asked, Code(status) if status else Code.INTERNAL)

    def meaning_of_ok(self, asked: Asked) -> Outcome:
        """What status 0 comes to: a unary reply has one message."""
        return Code.OK if len(asked.messages) == 1 or asked.may_have_many else Code.INTERNAL

    def say_reset(self, asked: Asked, error: int, outcome: Outcome) -> None:
        self.conn.reset_stream(asked.sid, error)
        self._over(asked, outcome)

    def say_ping(self) -> None:
        self.pings.append(self.rng.randbytes(8))
        self.conn.ping(self.pings[-1])

    def say_setting(self, key: SettingCodes, value: int) -> bool:
        """Change a setting, unless another one awaits its ACK: h2 would take that ACK for both."""
        if any(other != key for other in self.unacknowledged):
            return False
        self.unacknowledged.append(key)
        self.conn.update_settings({key: value})
        return True

    def say_goaway(self, last: int) -> bytes:
        """A GOAWAY that h2 knows nothing of, since it would say nothing after one of its own."""
        self.last = min(last, self.last)
        for asked in self.asked.values():
            if asked.sid > self.last:
                self._over(asked, Code.UNAVAILABLE if asked.head_sent else REFUSED)
        return self.speech() + h2.goaway(self.last, self.rng.choice([0, 0, 11]), b"bye")

    def _over(self, asked: Asked, outcome: Outcome) -> None:
        self.outcomes.setdefault(asked.sid, outcome)
        asked.over = True


class Duet:
    """Both sides, the two wires, and every call's end."""

    def __init__(self, session: Session, rng: Random) -> None:
        self.session = session
        self.server = Server(rng)
        self.to_server = bytearray()
        self.to_client = bytearray()
        self.calls: list[PureCall] = []
        self.ended: dict[int, Reply | str] = {}
        self.streams: dict[int, int] = {}  # call -> stream
        self.local: dict[int, Code] = {}  # calls that we ended ourselves
        self.loose: set[int] = set()  # calls that the client ends as well as it sees fit: OK is always right
        self.now_ns = 1_000

    def new_call(self, lifetime_ns: int) -> PureCall:
        call = PureCall(len(self.calls), deadline_ns=self.now_ns + lifetime_ns)
        self.calls.append(call)
        return call

    def turn(self) -> None:
        """Take what both sides have to say, and what has ended."""
        session = self.session
        for sid, call in session.open.items():
            assert isinstance(call, PureCall)
            self.streams.setdefault(call.number, sid)
        self.to_server += session.outgoing()
        self.to_client += self.server.speech()
        ends: list[tuple[Call, Reply | str]] = [(call, Reply(Code.OK)) for call in session.done]
        ends += [*session.replies, *((call, REFUSED) for call, _ in session.refused)]
        ends += [(call, "unsent") for call in session.unsent]
        for basket in (session.done, session.replies, session.refused, session.unsent):
            basket.clear()
        for call, end in ends:
            assert isinstance(call, PureCall)
            assert call.number not in self.ended, f"call {call.number} ended twice"
            self.ended[call.number] = end
        self.check()

    def check(self) -> None:
        """What holds at any time."""
        session = self.session
        assert not session.closed, session.closed
        in_flight = len(session.open) + len(session.waiting)
        assert in_flight + len(self.ended) == len(self.calls)  # I1
        assert session.received.uncredited <= windows.CONNECTION_WINDOW  # I9
        assert session.next_id % 2 == 1  # I6; h2 sees to the rest of it

    def client_to_server(self, size: int) -> None:
        raw = bytes(self.to_server[:size])
        del self.to_server[:size]
        self.server.hear(raw)
        self.turn()

    def server_to_client(self, size: int) -> None:
        raw = bytes(self.to_client[:size])
        del self.to_client[:size]
        self.session.receive(raw, self.now_ns)
        self.turn()

    def expire(self, after_ns: int) -> None:
        self.now_ns += after_ns
        for call in self.calls:
            if call.number not in self.ended and call.deadline_ns <= self.now_ns:
                self.local[call.number] = Code.DEADLINE_EXCEEDED
        self.session.expire(self.now_ns)
        self.turn()

    def talk(self, after_ns: int) -> None:
        """Let time pass for the streams that send at theirs."""
        self.now_ns += after_ns
        if 0 < self.session.next_talk_ns <= self.now_ns:
            self.session.talk(self.now_ns)
        self.turn()

    def drain(self) -> None:
        """Deliver everything, both ways, until nobody says anything."""
        while self.to_server or self.to_client:
            self.client_to_server(len(self.to_server))
            self.server_to_client(len(self.to_client))

    def settle(self) -> None:
        """Both sides allow everything, and the server answers whatever it was asked."""
        server = self.server
        server.lazy = False
        for sid in list(server.uncredited):
            server.credit(sid)
        self.session.pause(False)
        self.turn()
        for key, value in AT_LAST.items():
            self.drain()
            assert server.say_setting(key, value)
            self.turn()
        for _ in range(50):
            self.talk(100)
            self.drain()
            for asked in server.open_streams():
                server.say_head(asked)
                if not asked.messages:
                    server.say_message(asked, 1)
                server.say_status(asked, 0, server.meaning_of_ok(asked))
            self.turn()
        self.drain()

    def disagreements(self) -> Iterator[str]:
        """Calls that did not end as the server, or we, decided."""
        for call in self.calls:
            end = self.ended.get(call.number)
            got = end.code if isinstance(end, Reply) else end
            sid = self.streams.get(call.number)
            expected = self._expected(call, sid, end)
            if end is None or (got != expected and not (call.number in self.loose and got == Code.OK)):
                yield f"call {call.number} on stream {sid}: {end}, expected {expected!r}"
            elif isinstance(end, Reply) and end.code == Code.OK and sid is not None:
                yield from self._content(call, sid, end)

    def _expected(self, call: PureCall, sid: int | None, end: Reply | str | None) -> Outcome | None:
        if call.number in self.local:
            return self.local[call.number]
        if sid is not None:
            return self.server.outcomes.get(sid)
        too_large = isinstance(end, Reply) and end.reason.startswith("request headers of ")
        return Code.INTERNAL if too_large else "unsent"

    def _content(self, call: PureCall, sid: int, end: Reply) -> Iterator[str]:
        """What is wrong with the messages of a call that is OK."""
        if call.number in self.loose:
            return
        sent = self.server.asked[sid].messages
        if self.session.keep_messages and end.message != b"r" * sent[0] if sent else end.message:
            yield f"call {call.number}: first message of {len(end.message)} bytes, {sent} were sent"
        if self.server.asked[sid].may_have_many and end.received != len(sent):
            yield f"call {call.number}: {end.received} messages counted, {sent} were sent"

    def leaks(self) -> Iterator[str]:
        """What the two sides believe differently once nothing is under way, and what outlived its call."""
        session, conn = self.session, self.server.conn
        if conn.outbound_flow_control_window + session.received.uncredited != windows.CONNECTION_WINDOW:
            yield f"server may send {conn.outbound_flow_control_window}, uncredited {session.received.uncredited}"
        if conn.inbound_flow_control_window != session.send.connection:
            yield f"client may send {session.send.connection}, server thinks {conn.inbound_flow_control_window}"
        kept = (session.open, session.progress, session.responses, session.talks, session.firsts, session.uploading)
        yield from (f"left over: {dict(rest)}" for rest in kept if rest)
        if session.ghosts or session.pings_open or session.send.busy:
            yield f"ghosts {session.ghosts}, pings {session.pings_open}, busy {session.send.busy}"
