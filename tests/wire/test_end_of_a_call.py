"""What a client has to know of a call's end to act on it: whether headers came before, a pushback, a load report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbctl.model import Code, Reply
from lbctl.wire.limits import Limits
from lbctl.wire.request import Request, Stream, fitting
from lbctl.wire.session import Session
from tests.wire import frames as h2
from tests.wire.frames import msg, okh, reply, rst, trailers, trailers_only
from tests.wire.pure import REQUEST, Conversation

PUSHBACK = ("grpc-retry-pushback-ms", "200")
REPORT = ("endpoint-load-metrics-bin", "CQAAAAAAAOA/")


def ended(answer: Callable[[int], bytes], *, cuts: bool = False, load_reports: bool = False) -> Reply:
    """The end of one call that is answered so, whole or octet by octet."""
    talk = Conversation(Session(REQUEST, limits=Limits(load_reports=load_reports)))
    talk.collect()
    talk.said.clear()
    talk.hear(h2.settings())
    talk.start()
    raw = answer(1)
    for piece in [bytes((octet,)) for octet in raw] if cuts else [raw]:
        talk.hear(piece)
    (end,) = talk.ended.values()
    assert isinstance(end, Reply)
    return end


@pytest.mark.parametrize("cuts", [False, True])
@pytest.mark.parametrize(
    ("answer", "headed"),
    [
        (lambda stream: trailers_only(stream, 14), False),
        (lambda stream: okh(stream) + trailers(stream, 14), True),
        (lambda stream: okh(stream) + msg(stream) + trailers(stream, 14), True),
        (lambda stream: rst(stream, 2), False),
        (lambda stream: okh(stream) + rst(stream, 2), True),
        (lambda stream: okh(stream) + msg(stream) + rst(stream, 2), True),
    ],
)
def test_whether_response_headers_came_before_an_error_is_known(
    answer: Callable[[int], bytes], headed: bool, cuts: bool
) -> None:
    end = ended(answer, cuts=cuts)
    assert not end.is_ok
    assert end.headed is headed


def test_headers_of_a_lost_connection_s_calls_are_known_one_by_one() -> None:
    talk = Conversation.begin()
    talk.start(3)
    talk.hear(okh(1) + okh(3) + msg(3))
    talk.session.lose("gone")
    talk.collect()
    ends = [talk.ended[number] for number in range(3)]
    assert [end.headed for end in ends if isinstance(end, Reply)] == [True, True, False]


def test_a_pushback_is_handed_over_with_the_error_it_came_with_every_value_of_it() -> None:
    one = ended(lambda stream: trailers_only(stream, 14, PUSHBACK))
    assert (one.code, one.metadata) == (Code.UNAVAILABLE, ((b"grpc-retry-pushback-ms", b"200"),))
    two = ended(lambda stream: trailers_only(stream, 14, PUSHBACK, ("grpc-retry-pushback-ms", "-1")))
    assert [value for _, value in two.metadata] == [b"200", b"-1"]
    assert ended(lambda stream: okh(stream) + trailers(stream, 14, PUSHBACK)).metadata == one.metadata


def test_load_reports_of_ok_replies_are_handed_over_where_they_are_wanted_and_cost_nothing_where_not() -> None:
    def answer(stream: int) -> bytes:
        return okh(stream) + msg(stream) + trailers(stream, 0, REPORT)

    assert ended(answer) == ended(answer, cuts=True) == Reply(Code.OK)
    assert ended(answer, load_reports=True) == Reply(
        Code.OK, headed=True, metadata=((b"endpoint-load-metrics-bin", REPORT[1].encode()),)
    )
    assert ended(answer, load_reports=True, cuts=True).metadata[0][1] == REPORT[1].encode()
    assert ended(reply, load_reports=True) == Reply(Code.OK)


def test_every_reply_of_many_brings_its_own_load_report() -> None:
    talk = Conversation(Session(REQUEST, limits=Limits(load_reports=True)))
    talk.collect()
    talk.said.clear()
    talk.hear(h2.settings())
    talk.start(50)
    values = [b"CQAAAAAAA%02dA" % number for number in range(10, 60)]
    talk.hear(
        b"".join(
            okh(stream) + msg(stream) + trailers(stream, 0, ("endpoint-load-metrics-bin", value))
            for stream, value in zip(range(1, 100, 2), values, strict=True)
        )
    )
    ends = [talk.ended[number] for number in range(50)]
    assert [end.metadata[0][1] for end in ends if isinstance(end, Reply)] == values


# ---- calls that cannot be sent anew ----------------------------------------------------------------------------------


def begun(replay: int, wanted: Request = REQUEST) -> Conversation:
    """A conversation with one call on its way."""
    talk = Conversation(Session(wanted, limits=Limits(replay=replay)))
    talk.collect()
    talk.hear(h2.settings())
    talk.start()
    return talk


@pytest.mark.parametrize(
    ("answer", "committed"),
    [
        (okh(1), 1),
        (okh(1) + msg(1)[:7], 1),
        (okh(1)[:-1], 0),
        (h2.headers(1, (":status", "103")), 0),
        (trailers_only(1, 14), 0),
        (reply(1), 0),  # it has ended
    ],
)
def test_a_call_whose_reply_has_begun_is_committed_once(answer: bytes, committed: int) -> None:
    talk = begun(1 << 10)
    for piece in (answer, b""):
        talk.hear(piece)
        assert len(talk.session.committed) == committed
    assert not begun(0).session.committed


def test_a_stream_is_committed_by_the_first_message_that_is_not_kept() -> None:
    stream = Stream(client=True, server=True, messages=(b"a" * 5, b"b" * 15), count=5)
    for replay, committed in ((79, True), (80, False), (1 << 20, False)):  # 10 + 20 + 10 + 20 + 10 octets
        talk = begun(replay - 10, replace(REQUEST, stream=stream))
        assert bool(talk.session.committed) is committed, replay


@given(st.lists(st.integers(5, 50), min_size=1, max_size=5), st.integers(0, 500))
def test_as_many_messages_fit_as_one_can_count(sizes: list[int], octets: int) -> None:
    count, left = 0, octets
    while sizes[count % len(sizes)] <= left:
        left -= sizes[count % len(sizes)]
        count += 1
    assert fitting(sizes, octets) == count
