"""Properties of the session itself, without a network: chunking, hostile frames, and the request's header blocks."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import chain
from random import Random

from hpack import Encoder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lbctl.model import Code, Reply
from lbctl.wire.request import Request
from tests.wire import frames as h2
from tests.wire.frames import data, header_frame, message, okh, reply, rst, scattered, trailers, trailers_only
from tests.wire.pure import REQUEST, Conversation, pieces

CALLS = 8
STREAMS = range(1, 2 * CALLS, 2)
QUICK = settings(max_examples=150, suppress_health_check=list(HealthCheck))

GRPC_TAIL = h2.block(("grpc-status", "0"))

# One whole reply on one stream, in shapes of the fast path and of every slow one.
SHAPES: list[h2.ReplyBytes] = [
    reply,
    reply,
    lambda sid: reply(sid, b"x" * 300),
    lambda sid: trailers_only(sid, 5, ("grpc-message", "caf%C3%A9")),
    lambda sid: okh(sid) + trailers(sid),
    lambda sid: okh(sid) + data(sid, message(b"reply"), pad=9) + trailers(sid),
    lambda sid: okh(sid) + b"".join(data(sid, bytes((byte,))) for byte in message(b"ab")) + trailers(sid),
    lambda sid: scattered(sid, [h2.RESPONSE_BLOCK[:3], b"", h2.RESPONSE_BLOCK[3:]]) + reply(sid)[len(okh(sid)) :],
    lambda sid: h2.headers(sid, (":status", "103")) + reply(sid),
    lambda sid: h2.headers(sid, (":status", "503"), ("content-type", "text/html")) + data(sid, b"<b>", end=True),
    lambda sid: okh(sid) + rst(sid, h2.INTERNAL_ERROR),
    lambda sid: rst(sid, h2.REFUSED_STREAM),
    lambda sid: okh(sid) + okh(sid),
    lambda sid: reply(sid) + data(sid, b"late"),
    lambda sid: okh(sid) + data(sid, message(b"1") + message(b"2")) + trailers(sid),
    lambda sid: okh(sid) + data(sid, message(b"reply", flag=1)) + trailers(sid),
    lambda sid: okh(sid) + data(sid, message(b"reply")) + trailers(sid, 0, ("grpc-status", "14")),
]

BETWEEN: list[bytes] = [
    b"",
    h2.ping(b"12345678"),
    h2.settings({h2.INITIAL_WINDOW_SIZE: 70_000}),
    h2.window_update(0, 1000),
    h2.frame(0xFA, 0xFF, 5, b"grease"),
    h2.goaway(9, h2.ENHANCE_YOUR_CALM, b"slow down"),
    h2.goaway(2**31 - 1),
    h2.settings({h2.HEADER_TABLE_SIZE: 0}),
    h2.window_update(0, 0),
]

conversations = st.tuples(
    st.lists(st.sampled_from(SHAPES), min_size=CALLS, max_size=CALLS),
    st.lists(st.sampled_from(BETWEEN[:5]) | st.sampled_from(BETWEEN), min_size=CALLS, max_size=CALLS),
    st.permutations(list(STREAMS)),
)


def heard(raws: list[bytes], *, keep_messages: bool) -> Conversation:
    talk = Conversation.begin(keep_messages=keep_messages)
    talk.start(CALLS)
    for raw in raws:
        talk.hear(raw)
    return talk


@QUICK
@given(conversations, st.lists(st.integers(0, 10_000), max_size=40), st.booleans())
def test_how_bytes_are_cut_changes_no_outcome(
    script: tuple[list[h2.ReplyBytes], list[bytes], list[int]], cuts: list[int], keep: bool
) -> None:
    shapes, between, order = script
    whole = b"".join(gap + shape(sid) for shape, gap, sid in zip(shapes, between, order, strict=True))
    at_once = heard([whole], keep_messages=keep)
    cut = heard(list(pieces(whole, cuts)), keep_messages=keep)
    assert cut.account() == at_once.account()
    assert at_once.ledger.violations == []
    assert at_once.in_flight + len(at_once.ended) == CALLS


@QUICK
@given(conversations)
def test_bytes_one_at_a_time_change_no_outcome_and_warm_caches_change_none_either(
    script: tuple[list[h2.ReplyBytes], list[bytes], list[int]],
) -> None:
    shapes, _, order = script
    whole = b"".join(shape(sid) for shape, sid in zip(shapes, order, strict=True))
    bytewise = heard([whole[at : at + 1] for at in range(len(whole))], keep_messages=False)
    kept = heard([whole], keep_messages=True)
    assert {number: code_of(end) for number, end in bytewise.ended.items()} == {
        number: code_of(end) for number, end in kept.ended.items()
    }


def code_of(end: Reply | str) -> object:
    return end if isinstance(end, str) else (end.code, end.origin, end.reason)


# ---- hostile frames --------------------------------------------------------------------------------------------------

numbers = st.sampled_from([0, 1, 3, 4095, 16_384, 65_535, 2**24, 2**31 - 1, 2**31, 2**32 - 1])
payloads = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", bytes(4), bytes(5), bytes(8), h2.RESPONSE_BLOCK, GRPC_TAIL, message(b"reply")]),
    st.builds(lambda key, value: struct.pack(">HL", key, value), st.integers(0, 8), numbers),
    st.builds(lambda value: struct.pack(">L", value), numbers),
    st.builds(lambda last, code: struct.pack(">LL", last, code) + b"\x1b[31m\xff", numbers, st.integers(0, 20)),
)
hostile = st.builds(
    h2.frame,
    st.integers(0, 11),
    st.sampled_from([0, 1, 4, 5, 8, 0xC, 0x2C, 0x2D, 0xFF]),
    st.sampled_from([0, 1, 3, 5, 7, 15, 2, 99, 2**31 - 1, 2**31 + 1]),
    payloads,
)
whole_replies = st.builds(lambda shape, sid: shape(sid), st.sampled_from(SHAPES), st.sampled_from(list(STREAMS)))
calm = st.sampled_from([*BETWEEN[:5], *(reply(sid) for sid in STREAMS), *(okh(sid) for sid in STREAMS)])


@settings(QUICK, max_examples=400)
@given(st.lists(hostile | calm | calm | whole_replies, max_size=25), st.booleans())
def test_no_frame_makes_the_session_raise_lose_a_call_or_break_its_own_rules(soup: list[bytes], keep: bool) -> None:
    talk = Conversation.begin(keep_messages=keep)
    talk.start(CALLS)
    for raw in chain.from_iterable(map(frame_by_frame, soup)):
        talk.hear(raw)
        assert talk.in_flight + len(talk.ended) == talk.started
        assert not (talk.session.closed and talk.in_flight)
    assert talk.ledger.violations == []
    still_usable(talk)


def frame_by_frame(raw: bytes) -> Iterator[bytes]:
    """Cut between frames: the session has answered one before the next is sent, so that no two resets cross."""
    while raw:
        size = 9 + int.from_bytes(raw[:3], "big")
        yield raw[:size]
        raw = raw[size:]


def still_usable(talk: Conversation) -> None:
    """A session that is neither closed nor draining serves another call; the others give it back."""
    talk.hear(
        h2.settings({h2.MAX_CONCURRENT_STREAMS: 1000, h2.INITIAL_WINDOW_SIZE: 65_535, h2.MAX_HEADER_LIST_SIZE: 9999})
    )
    number = talk.started
    talk.start()
    if talk.session.draining:
        assert talk.ended[number] == "unsent"
        return
    if number not in talk.ended and talk.session.waiting:
        return  # a slot or window that the soup took away
    sid = talk.ledger.highest
    talk.hear(reply(sid) if not talk.session.closed else b"")
    end = talk.ended[number]
    assert isinstance(end, Reply)
    assert end.code is Code.OK


@settings(QUICK, max_examples=200)
@given(st.binary(max_size=200), st.booleans())
def test_bytes_that_are_no_frames_never_raise(raw: bytes, greeted: bool) -> None:
    talk = Conversation.begin(settings=None if greeted else b"")
    talk.start(2)
    talk.hear(raw)
    assert talk.in_flight + len(talk.ended) == 2


# ---- our header blocks -----------------------------------------------------------------------------------------------

texts = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=60)
names = st.sampled_from([b"x-request-id", b"x-key", b"authorization", b"x-api-token", b"trace"])
requests = st.builds(
    lambda path, metadata, timeout_ns: Request(f"/pkg.Svc/{path}", b"", "echo", timeout_ns, tuple(metadata)),
    st.sampled_from(["A", "B", "C", "D" * 200, "E" * 1500, "F" * 5000]),
    st.lists(st.tuples(names, texts.map(str.encode)), max_size=3, unique_by=lambda pair: pair[0]),
    st.integers(1, 10**15),
)
sizes = st.lists(st.sampled_from([0, 30, 100, 1000, 4095, 4096, 65_536]), min_size=1, max_size=3)


@QUICK
@given(st.lists(requests | sizes | st.just(REQUEST), min_size=1, max_size=30))
def test_every_request_head_is_read_back_by_an_independent_decoder(steps: list[Request | list[int]]) -> None:
    talk = Conversation.begin()
    asked: list[Request] = []
    for step in steps:
        if isinstance(step, list):
            talk.hear(b"".join(h2.settings({h2.HEADER_TABLE_SIZE: size}) for size in step))
            continue
        asked.append(step)
        if step is REQUEST:
            talk.start()
        else:
            talk.ask(step)
    assert talk.ledger.violations == []
    for request, head in zip(asked, talk.heads, strict=True):
        expected = sorted([*request.headers(), *request.secrets()])
        assert sorted(field for field in head if field[0] != b"grpc-timeout") == expected


@QUICK
@given(st.lists(st.sampled_from([b"authorization", b"cookie", b"session-token"]), min_size=1, max_size=3, unique=True))
def test_credentials_never_enter_a_compression_table(secret_names: list[bytes]) -> None:
    talk = Conversation.begin()
    secret = b"Bearer 0123456789abcdef"
    request = Request("/pkg.Svc/A", b"", "echo", 10**9, tuple((name, secret) for name in secret_names))
    for _ in range(3):
        talk.ask(request)
    blocks = [frame.payload for frame in talk.said if frame.kind == h2.HEADERS]
    assert [block.count(b"\x10" + bytes((len(name),)) + name) for block in blocks for name in secret_names] == [1] * (
        3 * len(secret_names)
    )


# ---- response blocks: the cache is never wrong -----------------------------------------------------------------------


@settings(QUICK, max_examples=30)
@given(st.randoms(use_true_random=False))
def test_no_trailer_block_is_ever_answered_with_another_tables_meaning(rng: Random) -> None:
    assert wrong_answers(rng, calls=120) == []


def wrong_answers(rng: Random, *, calls: int) -> list[tuple[int, Reply | str]]:
    """Let an encoder index everything in a small table; the calls that made something else of it: (said, end)."""
    encoder = Encoder()
    encoder.header_table_size = rng.choice([130, 200, 400, 4096])
    talk = Conversation.begin()
    wrong: list[tuple[int, Reply | str]] = []
    for number in range(calls):
        status = rng.choice([0, 0, 0, 5, 14])
        head = [(":status", "200"), ("content-type", "application/grpc")]
        tail = [("grpc-status", str(status)), ("x-served-by", f"b{rng.randrange(3)}"), ("x-n", str(rng.randrange(4)))]
        talk.start()
        sid = talk.ledger.highest
        talk.hear(header_frame(sid, encoder.encode(head)) + data(sid, message(b"reply")))
        talk.hear(header_frame(sid, encoder.encode(tail[: rng.randrange(1, 4)]), end=True))
        end = talk.ended[number]
        if isinstance(end, str) or end.code != status:
            wrong.append((status, end))
    return wrong
