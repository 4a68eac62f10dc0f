"""Replies taken whole, by a pattern: they must end exactly as when the same bytes arrive one at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lbctl.model import Code, Reply
from lbctl.wire.whole_reply import WholeReply
from tests.wire import frames as h2
from tests.wire.frames import data, frame, header_frame, literal, message, msg, okh, reply, trailers
from tests.wire.pure import Conversation, pieces

NEWEST = b"\xbe"  # index 62: whatever was inserted last


def learned(calls: int) -> Conversation:
    """A conversation whose first reply has made the pattern, and ``calls`` more calls: streams 5, 7, ..."""
    talk = Conversation.begin()
    talk.start()
    talk.hear(reply(1))
    talk.start()
    talk.hear(reply(3))
    assert talk.ended == {0: Reply(Code.OK), 1: Reply(Code.OK)}
    talk.start(calls)
    return talk


def test_a_read_of_like_replies_ends_all_their_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = WholeReply.take

    def counting(self: WholeReply, raw: bytes, position: int, state: object) -> int:
        after = take(self, raw, position, state)  # type: ignore[arg-type]  # the session itself
        taken.append((after - position) // self.size)
        return after

    monkeypatch.setattr(WholeReply, "take", counting)
    talk = learned(40)
    before = talk.session.received.uncredited
    talk.hear(b"".join(reply(5 + 2 * n) for n in range(40)))
    assert talk.ended == dict.fromkeys(range(42), Reply(Code.OK))
    assert (max(taken), talk.in_flight) == (40, 0)
    assert talk.session.received.uncredited - before == 40 * len(msg(1)[9:])


def test_the_pattern_ends_where_its_bytes_mean_something_else() -> None:
    """In one read: OK by an index, the table moves, and the same index is an error."""

    def ending(sid: int, tail: bytes) -> bytes:
        return okh(sid) + msg(sid) + header_frame(sid, tail, end=True)

    talk = Conversation.begin()
    talk.start(7)
    talk.hear(ending(1, literal("grpc-status", "0", indexed=True)))
    tails = (NEWEST, NEWEST, NEWEST, literal("grpc-status", "5", indexed=True), NEWEST, NEWEST)
    talk.hear(b"".join(ending(3 + 2 * n, tail) for n, tail in enumerate(tails)))
    codes = [end.code for _, end in sorted(talk.ended.items()) if isinstance(end, Reply)]
    assert codes == [0, 0, 0, 0, 5, 5, 5]
    talk.start()
    talk.hear(ending(15, NEWEST))
    assert talk.ended[7] == talk.ended[6]


ODD: dict[str, Callable[[int], bytes]] = {
    "like": reply,
    "twice": lambda sid: reply(sid) + reply(sid),
    "a_stream_of_none": lambda sid: reply(sid + 1000),
    "an_even_stream": lambda sid: reply(sid + 1),
    "data_of_another": lambda sid: okh(sid) + msg(sid + 2) + trailers(sid, "0"),
    "trailers_of_another": lambda sid: okh(sid) + msg(sid) + trailers(sid + 2, "0"),
    "headers_twice": lambda sid: okh(sid) + reply(sid),
    "message_twice": lambda sid: okh(sid) + msg(sid) + msg(sid) + trailers(sid, "0"),
    "after_a_slow_beginning": lambda sid: okh(sid) + h2.ping() + data(sid, b"") + reply(sid),
    "compressed": lambda sid: okh(sid) + data(sid, message(msg(sid)[14:], flag=1)) + trailers(sid, "0"),
    "a_false_length": lambda sid: okh(sid) + data(sid, b"\0\0\0\0\x7f" + msg(sid)[14:]) + trailers(sid, "0"),
    "an_error_of_like_size": lambda sid: okh(sid) + msg(sid) + trailers(sid, "5"),
    "no_end": lambda sid: okh(sid) + msg(sid) + trailers(sid, "0")[:4] + b"\x04" + trailers(sid, "0")[5:],
    "reserved_bit": lambda sid: okh(sid) + msg(sid | 1 << 31) + trailers(sid, "0"),
    "headers_that_end": lambda sid: header_frame(sid, h2.RESPONSE_BLOCK, end=True) + reply(sid)[len(okh(sid)) :],
    "an_unknown_frame_for_data": lambda sid: okh(sid) + frame(0xFA, 0, sid, msg(sid)[9:]) + trailers(sid, "0"),
    "other_flags_on_data": lambda sid: okh(sid) + frame(h2.DATA, h2.PADDED, sid, msg(sid)[9:]) + trailers(sid, "0"),
    "padded_data": lambda sid: okh(sid) + data(sid, msg(sid)[9:], pad=3) + trailers(sid, "0"),
    "a_frame_between": lambda sid: okh(sid) + h2.ping() + msg(sid) + frame(0xFA) + trailers(sid, "0"),
    "half": lambda sid: reply(sid)[: len(reply(sid)) // 2],
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_reply_almost_like_the_others_ends_as_it_would_alone(odd: Callable[[int], bytes]) -> None:
    raw = reply(5) + odd(7) + reply(11) + reply(13)
    whole, bytewise = learned(6), learned(6)
    whole.hear(raw)
    for piece in pieces(raw, range(len(raw))):
        bytewise.hear(piece)
    assert whole.account() == bytewise.account()


def test_messages_of_changing_length_are_all_taken() -> None:
    talk = learned(30)
    talk.hear(b"".join(okh(5 + 2 * n) + msg(5 + 2 * n, bytes(n % 4)) + trailers(5 + 2 * n, "0") for n in range(30)))
    assert talk.ended == dict.fromkeys(range(32), Reply(Code.OK))
