"""Whatever the peer does to its windows and limits, every body arrives whole, none early, and none is held back."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from lbctl.wire.request import Request
from tests.wire import frames as h2
from tests.wire.frames import message, reply
from tests.wire.pure import REQUEST, Conversation

Step = tuple[str, int, int]

steps = st.one_of(
    st.tuples(st.just("template"), st.just(0), st.integers(1, 20)),
    st.tuples(st.just("start"), st.just(0), st.sampled_from([0, 1, 100, 16_379, 16_380, 40_000, 90_000])),
    st.tuples(st.just("initial"), st.just(0), st.sampled_from([0, 1, 1000, 65_535, 100_000, 2**20])),
    st.tuples(st.just("streams"), st.just(0), st.integers(0, 6)),
    st.tuples(st.just("frames"), st.just(0), st.sampled_from([16_384, 20_000, 2**24 - 1])),
    st.tuples(st.just("credit"), st.integers(0, 5), st.sampled_from([1, 500, 20_000, 2**18])),
    st.tuples(st.just("reply"), st.integers(0, 5), st.just(0)),
)


class Windows:
    """A conversation and what each of its streams should carry."""

    def __init__(self) -> None:
        self.talk = Conversation.begin()
        self.bodies: list[bytes] = []

    def take(self, step: Step) -> None:
        verb, index, size = step
        if verb == "template":
            self.talk.start(size)
            self.bodies += [message(REQUEST.message)] * size
        elif verb == "start":
            body = bytes((len(self.bodies) % 251,)) * size
            self.bodies.append(message(body))
            self.talk.ask(Request("/pkg.Svc/Method", body, "echo", 10**9))
        elif verb in _SETTINGS:
            self.talk.hear(h2.settings({_SETTINGS[verb]: size}))
        else:
            self._on_stream(verb, index, size)

    def _on_stream(self, verb: str, index: int, size: int) -> None:
        open_streams = [sid for sid, state in self.talk.ledger.streams.items() if state.is_open]
        if verb == "credit":
            self.talk.hear(h2.window_update(([0, *open_streams])[index % (1 + len(open_streams))], size))
            return
        ended = [sid for sid in open_streams if self.talk.ledger.streams[sid].client_ended]
        if ended:
            self.talk.hear(reply(ended[index % len(ended)]))

    def check(self) -> None:
        ledger = self.talk.ledger
        assert ledger.violations == []
        held_back = [
            sid
            for sid, state in ledger.streams.items()
            if state.is_open and not state.client_ended and min(state.may_receive, ledger.may_receive) > 0
        ]
        assert not held_back, f"streams {held_back} have window and do not use it"

    def finish(self) -> None:
        """Open everything; answer everything."""
        for verb, size in (("initial", 2**20), ("streams", 1000)):
            self.take((verb, 0, size))
        self.talk.hear(h2.window_update(0, 2**24))
        for sid in list(self.talk.ledger.streams):
            if self.talk.ledger.streams[sid].is_open:
                self.talk.hear(reply(sid))


_SETTINGS = {"initial": h2.INITIAL_WINDOW_SIZE, "streams": h2.MAX_CONCURRENT_STREAMS, "frames": h2.MAX_FRAME_SIZE}


@settings(max_examples=150)
@given(st.lists(steps, max_size=30))
def test_every_body_arrives_whole_and_no_window_is_overrun_or_left_unused(script: list[Step]) -> None:
    windows = Windows()
    for step in script:
        windows.take(step)
        windows.check()
    windows.finish()
    windows.check()
    arrived: dict[int, bytes] = defaultdict(bytes)
    for frame in windows.talk.said:
        if frame.kind == h2.DATA:
            arrived[frame.stream] += frame.payload
    assert sorted(arrived.values()) == sorted(windows.bodies)
    assert len(windows.talk.ended) == windows.talk.started == len(windows.bodies)
