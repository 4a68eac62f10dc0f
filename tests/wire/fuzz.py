"""Feed the receive side mutated conversations for a while: nothing may raise, lose a call or break our own rules.

    python -m tests.wire.fuzz --seconds 600 [--seed 7]

Each round is one connection with calls of every kind on it. The server's side is a plausible conversation (blocks by a
real encoder, messages, gzip, padding, settings, GOAWAY) whose frames were damaged, and it is heard frame by frame, with
the peer's books kept, and cut elsewhere by a second session that has to come to the same. A failure names its round.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from random import Random

from lbctl.model import Reply
from lbctl.wire import windows
from lbctl.wire.limits import Limits
from lbctl.wire.request import Request, Stream
from lbctl.wire.session import Session
from tests.wire import frames as h2
from tests.wire.fuzz_server import conversation, damaged
from tests.wire.pure import REQUEST, Conversation, PureCall

CALLS = 10
NOW_NS = 1_000_000


class Round:
    """One connection: how its client is set up, and what its server says."""

    def __init__(self, rng: Random) -> None:
        self.keep = rng.random() < 0.5
        self.limits = Limits(reset_late=rng.random() < 0.5, max_message=rng.choice([100, 4 << 20]))
        self.requests = [rng.choice(REQUESTS) for _ in range(CALLS)]
        self.late = {number for number in range(CALLS) if rng.random() < 0.15}
        self.expires_after = rng.randrange(30)
        said = conversation(rng, [2 * number + 1 for number in range(CALLS)])
        self.frames = damaged(rng, said)
        self.cuts = rng.choice([1, 2, 7, 9, 64, 1 << 20])

    def begin(self, *, keep: bool) -> Conversation:
        """Start a client whose calls are all on their way."""
        talk = Conversation(Session(REQUEST, keep_messages=keep, limits=self.limits))
        talk._unread = talk.session.outgoing().removeprefix(h2.PREFACE)
        # Whether a request that waits is still written depends on what else is in the same read, so none has to wait.
        talk.hear(h2.settings({h2.INITIAL_WINDOW_SIZE: 1 << 20}) + h2.window_update(0, 1 << 20))
        for request in self.requests:
            if request is REQUEST:
                talk.start()
            else:
                talk.ask(request)
        return talk

    def expire(self, talk: Conversation) -> None:
        """Let some deadlines pass."""
        for call in talk.session.open.values():
            assert isinstance(call, PureCall)
            if call.number in self.late:
                call.deadline_ns = 1
        talk.session.expire(NOW_NS)
        talk.collect()

    def by_frames(self, *, keep: bool) -> Conversation:
        """Hear frame by frame and look at everything after each."""
        talk = self.begin(keep=keep)
        for number, frame in enumerate(self.frames):
            if number == self.expires_after:
                self.expire(talk)
            talk.hear(frame)
            check(talk)
        assert talk.ledger.violations == []
        return talk

    def by_pieces(self) -> Conversation:
        """Hear the same in pieces that have nothing to do with frames."""
        talk = self.begin(keep=self.keep)
        before = b"".join(self.frames[: self.expires_after])
        for number, whole in enumerate((before, b"".join(self.frames[self.expires_after :]))):
            if number and len(self.frames) > self.expires_after:
                self.expire(talk)
            for at in range(0, len(whole), self.cuts):
                talk.hear(whole[at : at + self.cuts])
        check(talk)
        return talk


def streaming(count: int, *, server: bool, limit: int = 0, gzip: bool = False) -> Request:
    spec = Stream(client=True, server=server, messages=(b"m" * 30,), count=count, limit=limit)
    return Request("/pkg.Svc/Chat", b"", "echo", 10**9, stream=spec, gzip=gzip)


REQUESTS = [
    *[REQUEST] * 6,
    Request("/pkg.Svc/Other", b"other" * 100, "echo", 10**9, ((b"authorization", b"secret"),)),
    Request("/pkg.Svc/Packed", b"packed" * 100, "echo", 10**9, gzip=True),
    Request("/pkg.Svc/Large", b"l" * 30_000, "echo", 10**9),
    streaming(3, server=True),
    streaming(1, server=True, gzip=True),
    streaming(2, server=False),
    streaming(5, server=True, limit=2),
]


def check(talk: Conversation) -> None:
    """What holds whatever the peer says."""
    session = talk.session
    assert talk.in_flight + len(talk.ended) == talk.started  # every call is on its way or has ended, once
    if session.closed:
        leftovers = (session.open, session.waiting, session.progress, session.responses, session.talks)
        assert not any(leftovers), leftovers
        return
    known = set(session.open)
    for table in (session.progress, session.responses, session.talks, session.firsts, session.uploading):
        assert set(table) <= known, (set(table), known)
    assert not session.ghosts.keys() & known
    assert talk.ledger.may_send + session.received.uncredited == windows.CONNECTION_WINDOW  # no octet of credit is lost
    assert all(0 <= each.uncredited <= windows.STREAM_WINDOW for each in session.responses.values())


def outcome(end: Reply | str) -> object:
    return end if isinstance(end, str) else (end.code, end.origin)


def unpacking(end: Reply | str) -> bool:
    """Whether a call failed over what was in its packed message, where nobody looks in a load."""
    return isinstance(end, Reply) and ("gzip message" in end.reason or "decompressed" in end.reason)


def play(seed: int) -> tuple[Conversation, Round]:
    """One round: frame by frame, in pieces, and the other way about messages."""
    each = Round(Random(seed))
    whole = each.by_frames(keep=each.keep)
    cut = each.by_pieces()
    assert cut.account() == whole.account(), "what was heard depends on how it was cut"
    other = each.by_frames(keep=not each.keep)
    kept, counted = (whole, other) if each.keep else (other, whole)
    if not any(unpacking(end) for end in kept.ended.values()):
        for number, end in kept.ended.items():
            assert outcome(end) == outcome(counted.ended[number]), (number, end, counted.ended[number])
    return whole, each


def run(seconds: float, seed: int, clock: Callable[[], float] = time.monotonic) -> Counter[str]:
    """Play for so long; what was seen. An error names the round it came from."""
    seen: Counter[str] = Counter()
    until = clock() + seconds
    while clock() < until:
        number = seed + seen["rounds"]
        try:
            talk, each = play(number)
        except Exception as error:
            error.add_note(f"round {number}: python -m tests.wire.fuzz --seconds 0 --seed {number}")
            raise
        seen["rounds"] += 1
        seen["frames"] += len(each.frames)
        seen["closed"] += bool(talk.session.closed)
        seen["ended"] += len(talk.ended)
        seen["ok"] += sum(getattr(end, "code", None) == 0 for end in talk.ended.values())
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz the receive side of the wire engine.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if not options.seconds:
        play(options.seed)
    seen = run(options.seconds, options.seed)
    told = ", ".join(f"{name} {count:,}" for name, count in seen.items())
    sys.stdout.write(f"fuzz: {options.seconds:g} s from seed {options.seed}: {told or 'one round'}; nothing found\n")


if __name__ == "__main__":
    main()
