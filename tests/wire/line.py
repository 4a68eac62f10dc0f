"""A session with one streaming request: a strict peer hears what it says, and the test turns its clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from lbctl.model import Reply
from lbctl.wire.limits import Limits
from lbctl.wire.request import Request, Stream
from lbctl.wire.session import Session
from tests.wire import frames as h2
from tests.wire.checker import Ledger
from tests.wire.frames import Frame
from tests.wire.pure import PureCall

MS = 1_000_000


@dataclass
class Line:
    """A session with one streaming request, its peer's books, and the time."""

    request: Request
    session: Session = field(init=False)
    ledger: Ledger = field(default_factory=Ledger)
    said: list[Frame] = field(default_factory=list)
    now_ns: int = 1000 * MS
    calls: int = 0
    _rest: bytes = b""

    @classmethod
    def to(
        cls,
        spec: Stream,
        *,
        settings: dict[int, int] | None = None,
        keep: bool = True,
        compress: bool = False,
        limits: Limits | None = None,
    ) -> Line:
        """A line on which one call of that kind has begun."""
        line = cls(Request("/pkg.Svc/Chat", b"", "echo", 10**10, stream=spec, gzip=compress))
        line.session = Session(line.request, keep_messages=keep, limits=limits or Limits())
        line._rest = line.session.outgoing().removeprefix(h2.PREFACE)
        line.hear(h2.settings(settings or {}))
        line.begin()
        return line

    def begin(self) -> PureCall:
        call = PureCall(self.calls)
        self.calls += 1
        self.session.start(call)
        self.collect()
        self.tick()
        return call

    def hear(self, raw: bytes) -> None:
        self.session.receive(raw, self.now_ns)
        for frame in h2.split(raw)[0]:
            self.ledger.sent(frame)
        self.collect()

    def tick(self, ms: int = 0) -> None:
        """Let time pass, as its owner does: whenever something is due the session is told so."""
        until = self.now_ns + ms * MS
        while 0 < self.session.next_talk_ns <= until:
            self.now_ns = max(self.now_ns, self.session.next_talk_ns)
            self.session.talk(self.now_ns)
            self.collect()
        self.now_ns = until

    def collect(self) -> None:
        raw = self._rest + self.session.outgoing()
        said, used = h2.split(raw)
        self._rest = raw[used:]
        for frame in said:
            self.ledger.received(frame)
        self.said += said

    def body(self, sid: int = 1) -> bytes:
        return b"".join(frame.payload for frame in self.said if frame.kind == h2.DATA and frame.stream == sid)

    def ended(self, sid: int = 1) -> bool:
        return any(frame.flags & h2.END_STREAM for frame in self.said if frame.kind == h2.DATA and frame.stream == sid)

    def resets(self) -> list[int]:
        return [frame.number for frame in self.said if frame.kind == h2.RST_STREAM]

    def reply(self) -> Reply:
        """The end of the only call; nothing else may have ended."""
        session = self.session
        assert (session.done, session.refused, session.unsent) == ([], [], [])
        ((_, reply),) = session.replies
        assert self.ledger.violations == []
        return reply
