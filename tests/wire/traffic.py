"""What both sides of a ``Duet`` may do next, weighted, and a seed to choose by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from h2.settings import SettingCodes

from lbctl.model import Code, Reply
from lbctl.wire.limits import Limits
from lbctl.wire.request import Request, Stream
from lbctl.wire.session import Session
from tests.wire import frames as h2
from tests.wire.duet import MANY, REFUSED, Asked, Duet, Outcome
from tests.wire.pure import REQUEST

FOREVER: Final = 1 << 40
SETTINGS: Final = {
    SettingCodes.INITIAL_WINDOW_SIZE: [0, 1000, 20_000, 65_535, 65_535, 1 << 20],
    SettingCodes.MAX_CONCURRENT_STREAMS: [0, 1, 2, 5, 100, 100],
    SettingCodes.MAX_FRAME_SIZE: [16_384, 20_000, 1 << 20],
    SettingCodes.HEADER_TABLE_SIZE: [0, 60, 1000, 4096, 65_536],
    SettingCodes.MAX_HEADER_LIST_SIZE: [700, 1 << 14, 1 << 20],
}
RESETS: Final[dict[int, Outcome]] = {
    h2.NO_ERROR: Code.INTERNAL,
    h2.INTERNAL_ERROR: Code.INTERNAL,
    h2.CANCEL: Code.CANCELLED,
    h2.ENHANCE_YOUR_CALM: Code.RESOURCE_EXHAUSTED,
    h2.REFUSED_STREAM: REFUSED,
}


class Traffic:
    """One connection's life."""

    def __init__(self, rng: Random, *, keep: bool, limits: Limits) -> None:
        self.rng = rng
        self.duet = Duet(Session(REQUEST, keep_messages=keep, limits=limits), rng)
        self.duet.server.oddness = rng.choice([0.0, 0.02, 0.1, 0.5])
        self.history: list[str] = []
        # A table-size change ends the use of the template for good: not in every life.
        self.settings = [key for key in SETTINGS if key is not SettingCodes.HEADER_TABLE_SIZE or rng.random() < 0.3]
        # Loads of one small request, of any requests, and with streams, from where on nothing is taken the short way.
        mixed = rng.random() < 0.7
        streams = mixed and rng.random() < 0.5
        self.actions: dict[Callable[[], None], float] = {
            self.start: 12,
            self.ask: 3 * mixed,
            self.ask_streaming: 3 * streams,
            self.client_to_server: 15,
            self.server_to_client: 15,
            self.deliver_everything: 6,
            self.answer: 12,
            self.answer_everything: 6,
            self.answer_in_part: 6,
            self.answer_with_an_error: 3,
            self.reset: 2,
            self.change_a_setting: 2,
            self.ping_the_client: 1,
            self.ping_the_server: 1,
            self.credit: 2,
            self.expire: 2,
            self.talk: 4 * streams,
            self.pause: 1,
        }

    def run(self, steps: int) -> None:
        """Do this many random things, then let everything end, and compare."""
        self.duet.turn()
        for step in range(steps):
            self.act(self.rng.choices(list(self.actions), list(self.actions.values()))[0])
            if step == steps * 9 // 10 and self.rng.random() < 0.7:
                self.actions[self.say_goaway] = 4
        self.duet.settle()
        assert list(self.duet.disagreements()) == []
        assert list(self.duet.leaks()) == []

    def act(self, action: Callable[[], None]) -> None:
        self.history.append(action.__name__)
        action()
        self.duet.turn()

    def met(self) -> Counter[str]:
        """What happened, and how often."""
        ends = (end.code.name if isinstance(end, Reply) else end for end in self.duet.ended.values())
        seen = Counter(ends)
        for name, count in self.duet.session.counters.items():
            seen[name if name.startswith("waited") else name.partition(":")[0]] += count
        session = self.duet.session
        seen["fast"] = session.total_counters()["header_blocks"] - session.reader.read_blocks
        return seen

    def lifetime(self) -> int:
        return self.rng.choice([50, 1000, *[FOREVER] * 8])

    # ---- the client ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        for _ in range(self.rng.choice([1, 1, 3, 12])):
            self.duet.session.start(self.duet.new_call(self.lifetime()))

    def ask(self) -> None:
        size = self.rng.choice([0, 1, 1000, 16_379, 16_380, 70_000, 200_000])
        path = self.rng.choice(["Method", "Other", "L" * 400, "X" * 20_000])
        metadata = ((b"authorization", b"Bearer x"), (b"x-key", b"value"))[: self.rng.randrange(3)]
        gzip = self.rng.random() < 0.3
        request = Request(f"/pkg.Svc/{path}", b"q" * size, "echo", 10**9, metadata, gzip=gzip)
        self.duet.session.enqueue(self.duet.new_call(self.lifetime()), request)

    def ask_streaming(self) -> None:
        size, count = self.rng.choice([0, 10, 30_000]), self.rng.randrange(7)
        both, limit = self.rng.random() < 0.7, self.rng.choice([0, 0, 1, 3])
        interval_ns, duration_ns = self.rng.choice([0, 0, 40]), self.rng.choice([0, 0, 0, 300])
        messages = tuple(bytes((48 + number,)) * size for number in range(count))
        stream = Stream(True, both, messages, count, interval_ns, limit, duration_ns)
        request = Request(MANY if both else "/pkg.Svc/Upload", b"", "echo", 10**9, stream=stream)
        call = self.duet.new_call(self.lifetime())
        if limit or duration_ns:
            self.duet.loose.add(call.number)
        self.duet.session.enqueue(call, request)

    def expire(self) -> None:
        self.duet.expire(self.rng.choice([0, 50, 100, 2000]))

    def talk(self) -> None:
        self.duet.talk(self.rng.choice([1, 30, 100, 500]))

    def pause(self) -> None:
        self.duet.session.pause(not self.duet.session.paused and self.rng.random() < 0.3)

    def ping_the_server(self) -> None:
        self.duet.session.ping(self.rng.randbytes(8))

    # ---- the wires -----------------------------------------------------------------------------------------------

    def size(self) -> int:
        return self.rng.choice([1, 9, 17, 100, 1000, 40_000, 1 << 20])

    def client_to_server(self) -> None:
        self.duet.client_to_server(self.size())

    def server_to_client(self) -> None:
        self.duet.server_to_client(self.size())

    def deliver_everything(self) -> None:
        self.duet.drain()

    # ---- the server ----------------------------------------------------------------------------------------------

    def pick(self, *, complete: bool = True) -> Asked | None:
        asked = self.duet.server.open_streams(complete=complete)
        return self.rng.choice(asked) if asked else None

    def answer(self) -> None:
        asked = self.pick(complete=self.rng.random() < 0.8)  # or before the request is through
        if asked is not None:
            self.answer_whole(asked, self.rng.choice([5, 5, 5, 0, 1, 1000, 50_000]))

    def answer_everything(self) -> None:
        for asked in self.duet.server.open_streams():
            self.answer_whole(asked, 5)

    def answer_whole(self, asked: Asked, size: int) -> None:
        server = self.duet.server
        server.say_head(asked)
        if not asked.messages:
            server.say_message(asked, size)
        server.say_status(asked, 0, server.meaning_of_ok(asked))

    def answer_in_part(self) -> None:
        asked = self.pick(complete=False)
        if asked is not None:
            self.duet.server.say_head(asked)
            size = self.rng.choice([None, 0, 1, 1000, 50_000])
            if size is not None:
                self.duet.server.say_message(asked, size)

    def answer_with_an_error(self) -> None:
        asked = self.pick(complete=False)
        status = self.rng.choice([1, 5, 5, 14, 16])
        if asked is None:
            return
        if self.rng.random() < 0.5:
            self.duet.server.say_trailers_only(asked, status)
        else:
            self.duet.server.say_head(asked)
            self.duet.server.say_status(asked, status, Code(status))

    def reset(self) -> None:
        asked = self.pick(complete=False)
        if asked is not None:
            error = self.rng.choice(sorted(RESETS))
            committed = RESETS[error] == REFUSED and asked.head_sent
            self.duet.server.say_reset(asked, error, Code.UNAVAILABLE if committed else RESETS[error])

    def change_a_setting(self) -> None:
        key = self.rng.choice(self.settings)
        self.duet.server.say_setting(key, self.rng.choice(SETTINGS[key]))

    def ping_the_client(self) -> None:
        self.duet.server.say_ping()

    def credit(self) -> None:
        server = self.duet.server
        server.lazy = not server.lazy
        for sid in list(server.uncredited):
            if self.rng.random() < 0.5:
                server.credit(sid)

    def say_goaway(self) -> None:
        server = self.duet.server
        lasts = [0, h2.LARGEST_WINDOW, h2.LARGEST_WINDOW, *list(server.asked)[-20:]]
        self.duet.to_client += server.say_goaway(self.rng.choice(lasts))
