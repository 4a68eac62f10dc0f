"""What is sent on a streaming call, message by message, and when lbctl ends the call by itself.

interval 0            the next message follows as soon as flow control has taken the one before
interval 10 ms        one message at 0, 10, 20 ... ms after the start, however late the ones before were
duration              at its end a client that streams ends its side; any other cancels
"""

from __future__ import annotations

from typing import Final

from lbctl.wire.outbox import Outbox
from lbctl.wire.request import Stream, framed

NO_LIMIT: Final = -2  # no number of messages is one more than this


class Talk:
    """One streaming call. Times in ns; ``next_ns`` is when something is due, 0 before ``begin`` and when nothing is.

    ``sent`` and ``received`` are counted by the session, ``taken`` here: taken and not sent is what flow control holds.
    ``kept`` is how many messages could be sent again by another attempt; NO_LIMIT where nobody wants to know.
    ``since_ns`` as ``Request`` has it.
    """

    __slots__ = (
        "_bodies",
        "_due_ns",
        "_end_ns",
        "_owed",
        "_since_ns",
        "_start_ns",
        "kept",
        "leaving",
        "received",
        "received_ns",
        "sent",
        "spec",
        "taken",
    )

    def __init__(self, spec: Stream, bodies: tuple[bytes, ...], kept: int = NO_LIMIT, since_ns: int = 0) -> None:
        self.spec = spec
        self.kept = kept
        self.taken = 0
        self.sent = 0
        self.received = 0
        self.received_ns = 0  # when the last message came
        self.leaving = False  # the call is being ended from our side
        self._bodies = bodies
        self._since_ns = since_ns
        self._owed = 1  # messages whose time has come
        self._start_ns = self._due_ns = self._end_ns = 0

    @property
    def is_timed(self) -> bool:
        """Whether something of it depends on the time."""
        return bool((self.spec.interval_ns and self._more) or self.spec.duration_ns)

    @property
    def _more(self) -> bool:
        return bool(self._bodies) and (self.taken < self.spec.count or not self.spec.count)

    def take(self) -> tuple[bytes, bool] | None:
        """The next message and whether it is the last; None when there is none, or not yet."""
        if self.leaving or not self._more or not (self._owed or not self.spec.interval_ns):
            return None
        self._owed = max(0, self._owed - 1)
        body = self._bodies[self.taken % len(self._bodies)]
        self.taken += 1
        return body, self.taken == self.spec.count

    def opening(self) -> tuple[bytes, bool]:
        """What is sent at once: the first message, or only the end of a stream without messages."""
        return self.take() or (b"", True)

    def begin(self, now_ns: int) -> None:
        """The call has started; the first message, if any, is on its way."""
        start_ns = self._start_ns = self._since_ns or now_ns
        self._due_ns = start_ns + self.spec.interval_ns if self.spec.interval_ns and self._more else 0
        self._end_ns = start_ns + self.spec.duration_ns if self.spec.duration_ns else 0

    @property
    def began(self) -> bool:
        return self._start_ns > 0

    @property
    def next_ns(self) -> int:
        if self.leaving:
            return 0
        return min(self._due_ns or self._end_ns, self._end_ns or self._due_ns)

    def is_over(self, now_ns: int) -> bool:
        """Whether its duration has passed."""
        return 0 < self._end_ns <= now_ns

    def come_due(self, now_ns: int) -> bool:
        """Owe the messages whose time has come; planned times are kept, so none is left out after a stall.

        They are only counted: however long a peer takes nothing, its messages cost nothing.
        """
        if not 0 < self._due_ns <= now_ns:
            return False
        times = (now_ns - self._due_ns) // self.spec.interval_ns + 1
        left = self.spec.count - self.taken - self._owed if self.spec.count else times
        self._owed += min(times, left)
        self._due_ns = self._due_ns + times * self.spec.interval_ns if left > times or not self.spec.count else 0
        return True


class OpenTalk(Talk):
    """A call whose messages become known while it lasts; the end of its outbox is that of our side."""

    __slots__ = ("_compress", "_outbox")

    def __init__(self, spec: Stream, outbox: Outbox, *, compress: bool, since_ns: int = 0) -> None:
        super().__init__(spec, (), NO_LIMIT, since_ns)
        self._outbox = outbox
        self._compress = compress

    def take(self) -> tuple[bytes, bool] | None:
        message = None if self.leaving else self._outbox.take()
        if message is None:
            return (b"", True) if self._outbox.is_over and not self.leaving else None
        self.taken += 1
        return framed(message, compress=self._compress), self._outbox.is_over

    def opening(self) -> tuple[bytes, bool]:
        return self.take() or (b"", False)
