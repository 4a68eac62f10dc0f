"""A Session without a network: calls in, bytes in, what became of the calls out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lbctl.model import Code, Reply
from lbctl.wire.request import Request
from lbctl.wire.session import Session
from lbctl.wire.state import Wait
from tests.wire import frames as h2
from tests.wire.checker import Ledger
from tests.wire.frames import Frame
from tests.wire.request_head import Head

REQUEST = Request("/pkg.Svc/Method", b"request", "echo", 1_000_000_000)


@dataclass(eq=False)
class PureCall:
    """A call with a number to recognise it by."""

    number: int
    deadline_ns: int = 1 << 62
    timeout_ns: int = 0
    waited_for: Wait = Wait.NOTHING

    def alone(self) -> PureCall:
        return self


@dataclass
class Conversation:
    """One session, a strict peer's books about it, and every call's end."""

    session: Session
    ledger: Ledger = field(default_factory=Ledger)
    ended: dict[int, Reply | str] = field(default_factory=dict)
    said: list[Frame] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    started: int = 0
    _unread: bytes = b""
    _unsent: bytes = b""

    @classmethod
    def begin(cls, *, keep_messages: bool = False, settings: bytes | None = None) -> Conversation:
        """A session that has the peer's SETTINGS."""
        talk = cls(Session(REQUEST, keep_messages=keep_messages))
        talk._unread = talk.session.outgoing().removeprefix(h2.PREFACE)
        talk.hear(settings if settings is not None else h2.settings())
        return talk

    def start(self, count: int = 1) -> None:
        """Begin calls of the template."""
        for _ in range(count):
            self.session.start(PureCall(self.started))
            self.started += 1
        self.collect()

    def ask(self, request: Request) -> None:
        """Begin a call of another request."""
        self.session.enqueue(PureCall(self.started), request)
        self.started += 1
        self.collect()

    def hear(self, raw: bytes) -> None:
        """Let the peer say something."""
        whole = self._unsent + raw
        sent, used = h2.split(whole)
        self._unsent = whole[used:]
        self.session.receive(raw)
        # The peer's books see its frames first: answers to them are in what the session says next.
        for frame in sent:
            self.ledger.sent(frame)
        self.collect()

    def collect(self) -> None:
        """Read what the session says, and empty its baskets."""
        raw = self._unread + self.session.outgoing()
        said, used = h2.split(raw)
        self._unread = raw[used:]
        for frame in said:
            head = self.ledger.received(frame)
            if head is not None:
                self.heads.append(head)
        self.said += said
        session = self.session
        ends: list[tuple[object, Reply | str]] = [(call, Reply(Code.OK)) for call in session.done]
        ends += [(call, reply) for call, reply in session.replies]
        ends += [(call, f"refused: {reply.reason}") for call, reply in session.refused]
        ends += [(call, "unsent") for call in session.unsent]
        for basket in (session.done, session.replies, session.refused, session.unsent):
            basket.clear()
        for call, end in ends:
            assert isinstance(call, PureCall)
            assert call.number not in self.ended, f"call {call.number} ended twice: {self.ended[call.number]}, {end}"
            self.ended[call.number] = end

    @property
    def in_flight(self) -> int:
        return len(self.session.open) + len(self.session.waiting)

    def account(self) -> tuple[object, ...]:
        """All that must not depend on how bytes were cut: ends, counters, state, and what was said."""
        told = Counter((frame.kind, frame.flags, frame.stream, frame.payload) for frame in self.said)
        return dict(self.ended), +self.session.counters, self.session.closed, self.in_flight, told


def pieces(raw: bytes, cuts: Sequence[int]) -> Iterable[bytes]:
    """``raw`` cut at these places."""
    places = sorted({cut % (len(raw) + 1) for cut in cuts} | {0, len(raw)})
    return (raw[start:end] for start, end in pairwise(places))
