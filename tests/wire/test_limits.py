"""What one connection is allowed, by us and by its peer, and what a session tells of calls that had to wait."""

from __future__ import annotations

import base64

import pytest

from lbctl.model import Code
from lbctl.wire.head import parse
from lbctl.wire.limits import Limits
from lbctl.wire.request import Request
from lbctl.wire.session import Session
from lbctl.wire.state import Wait
from tests.wire import frames as h2
from tests.wire.frames import data, goaway, headers, msg, okh, reply, rst, trailers
from tests.wire.pure import REQUEST, Conversation, PureCall

MIB = 1 << 20
MS = 1_000_000


def ready(settings: dict[int, int] | None = None, request: Request = REQUEST, limits: Limits | None = None) -> Session:
    """A session that has the peer's SETTINGS and has said everything."""
    session = Session(request, limits=limits or Limits())
    session.receive(h2.settings(settings or {}))
    session.outgoing()
    return session


def started(session: Session, count: int) -> list[PureCall]:
    calls = [PureCall(number) for number in range(count)]
    for call in calls:
        session.start(call)
    return calls


def frames_of(session: Session) -> list[h2.Frame]:
    return h2.split(session.outgoing())[0]


def test_no_more_calls_are_in_flight_than_both_sides_allow() -> None:
    for theirs, ours, both in ((None, 5, 5), (3, 5, 3), (7, 5, 5)):
        settings = {} if theirs is None else {h2.MAX_CONCURRENT_STREAMS: theirs}
        session = ready(settings, limits=Limits(max_streams=ours))
        calls = started(session, 9)
        assert len(session.open) == both
        assert [call.waited_for for call in calls] == [Wait.NOTHING] * both + [Wait.SLOT] * (9 - both)
        assert session.counters["waited: slot"] == 9 - both
        session.receive(reply(1))
        assert len(session.open) == both


def test_after_so_many_requests_a_successor_has_to_take_over() -> None:
    session = ready(limits=Limits(max_requests=3))
    started(session, 5)
    assert len(session.open) == 3
    assert len(session.unsent) == 2
    assert session.draining
    session.receive(reply(1) + reply(3) + reply(5))
    assert len(session.done) == 3
    assert {frame.stream for frame in frames_of(session)} == {0, 1, 3, 5} - {0}


def test_a_call_that_waits_for_the_connection_or_a_paused_transport_says_so() -> None:
    session = Session(REQUEST)
    (early,) = started(session, 1)
    assert early.waited_for is Wait.CONNECTION
    session.receive(h2.settings())
    assert session.started == [early]
    session.pause(True)
    (held,) = started(session, 1)
    assert held.waited_for is Wait.PEER
    session.pause(False)
    assert session.started == [early, held]


@pytest.mark.parametrize(
    ("waited_ms", "stated"),
    [(0, b"1000m"), (9, b"1000m"), (11, b"989m"), (900, b"100m"), (999, b"1m"), (1500, b"1m")],
)
def test_a_call_that_waited_states_what_is_left_of_its_deadline(waited_ms: int, stated: bytes) -> None:
    line = Conversation(Session(REQUEST))
    line._unread = line.session.outgoing().removeprefix(h2.PREFACE)
    line.session.receive(h2.settings({h2.MAX_CONCURRENT_STREAMS: 1}), 5 * MS)
    for number in range(2):
        line.session.start(PureCall(number, 1005 * MS))
    line.session.receive(reply(1), (5 + waited_ms) * MS)
    line.collect()
    assert [dict(head)[b"grpc-timeout"] for head in line.heads] == [b"1000m", stated]


def test_a_call_counts_as_written_once_its_whole_request_has_gone() -> None:
    request = Request("/pkg.Svc/Method", b"x" * 100, "echo", 0)
    session = ready({h2.INITIAL_WINDOW_SIZE: 50}, request)
    (call,) = started(session, 1)
    assert (call.waited_for, session.started, session.blocked) == (Wait.WINDOW, [], 1)
    session.receive(h2.window_update(1, 54))
    assert session.started == []
    session.receive(h2.window_update(1, 1))
    assert (session.started, session.blocked) == ([call], 0)
    assert session.counters["waited: window"] == 1


def test_what_the_kernel_did_not_take_becomes_calls_of_their_own() -> None:
    class Shared(PureCall):
        def alone(self) -> PureCall:
            return PureCall(100 + self.number)

    session = ready()
    calls = [Shared(number) for number in range(4)]
    session.start(PureCall(9))  # the first one makes the template
    for call in calls:
        session.start(call)
    blocked = session.block_unsent({7, 9}, set())
    assert [call.number for call in blocked if isinstance(call, PureCall)] == [102, 103]
    assert {call.waited_for for call in blocked} == {Wait.PEER}
    session.receive(b"".join(reply(sid) for sid in (1, 3, 5, 7, 9)))
    assert [call.number for call in session.done if isinstance(call, PureCall)] == [9, 0, 1, 102, 103]


def test_a_body_whose_end_the_kernel_did_not_take_is_not_written_yet_and_a_small_one_before_it_is() -> None:
    session = ready({h2.INITIAL_WINDOW_SIZE: 10}, Request("/pkg.Svc/Method", b"request", "echo", 0))
    large, small = PureCall(1), PureCall(2)
    session.start(large)
    session.enqueue(small, Request("/pkg.Svc/Method", b"x", "echo", 0))
    session.started.clear()
    session.receive(h2.window_update(1, 9))
    assert session.started == [large]
    assert session.block_unsent(set(), {1, 3}) == [large]
    assert session.started == []
    assert (large.waited_for, small.waited_for) == (Wait.PEER, Wait.NOTHING)


def test_only_replies_that_came_in_several_reads_have_an_earlier_first_moment() -> None:
    session = ready()
    first, second = started(session, 2)
    session.receive(okh(1) + msg(1), 10 * MS)
    session.receive(trailers(1) + reply(3), 25 * MS)
    assert session.done == [first, second]
    assert session.early == [(first, 10 * MS)]
    assert not session.firsts


def test_a_failed_reply_has_its_first_moment_too() -> None:
    session = ready()
    (call,) = started(session, 1)
    session.receive(okh(1), 10 * MS)
    session.receive(trailers(1, 8), 12 * MS)
    assert [ended for ended, _ in session.replies] == [call]
    assert session.early == [(call, 10 * MS)]


def test_data_beyond_the_connections_window_is_a_connection_error() -> None:
    session = ready()
    started(session, 10)
    flood = b"".join(headers(sid, (":status", "200"), ("content-type", "text/html")) for sid in range(1, 21, 2))
    piece = bytes(h2.LARGEST_FRAME)
    flood += b"".join(data(1 + 2 * (number % 10), piece) for number in range((65 * MIB) // len(piece)))
    session.receive(flood)
    assert "window" in session.closed
    farewell = frames_of(session)[-1]
    assert (farewell.kind, farewell.number) == (h2.GOAWAY, h2.FLOW_CONTROL_ERROR)
    assert len(session.replies) == 10


def test_a_stream_gets_its_window_back_while_a_read_is_being_parsed() -> None:
    session = ready(limits=Limits(max_message=64 * MIB))
    started(session, 2)
    body = b"\0" + (20 * MIB).to_bytes(4, "big") + bytes(9 * MIB)
    pieces = [body[at : at + h2.LARGEST_FRAME] for at in range(0, len(body), h2.LARGEST_FRAME)]
    session.receive(okh(1) + b"".join(data(1, piece) for piece in pieces) + reply(3))
    credit = [frame.number for frame in frames_of(session) if frame.kind == h2.WINDOW_UPDATE and frame.stream == 1]
    assert credit == [4 * MIB, 4 * MIB]
    assert len(session.done) == 1


@pytest.mark.parametrize("end", ["trailers", "rst", "goaway"])
def test_a_stream_left_to_the_server_holds_its_slot_until_it_ends(end: str) -> None:
    session = ready(limits=Limits(max_streams=2, reset_late=False))
    first, second, third = started(session, 3)
    first.deadline_ns = second.deadline_ns = 10
    session.expire(10)
    assert [reply.code for _, reply in session.replies] == [Code.DEADLINE_EXCEEDED] * 2
    assert not [frame for frame in frames_of(session) if frame.kind == h2.RST_STREAM]
    assert not session.open
    session.receive({"trailers": okh(1) + msg(1) + trailers(1), "rst": rst(1, 8), "goaway": goaway(1)}[end])
    if end == "goaway":
        assert session.unsent == [third]
        assert set(session.ghosts) == {1}
    else:
        assert list(session.open.values()) == [third]
        assert set(session.ghosts) == {3}


def test_our_ping_goes_ahead_of_what_is_queued_and_its_answer_is_noticed() -> None:
    session = ready()
    started(session, 2)
    session.ping(b"keepaliv")
    assert frames_of(session)[0] == h2.split(h2.ping(b"keepaliv"))[0][0]
    session.receive(h2.ping(b"another1", ack=True))
    assert session.pings_open == {b"keepaliv"}
    session.receive(h2.ping(b"keepaliv", ack=True))
    assert session.pings_open == set()


def test_header_blocks_are_counted_and_so_are_those_that_had_to_be_decoded() -> None:
    session = ready()
    for number in range(10):
        started(session, 1)
        session.receive(reply(1 + 2 * number))
    counters = session.total_counters()
    assert (counters["header_blocks"], counters["header_blocks_decoded"]) == (20, 2)


def test_a_peer_cannot_fill_the_counters_with_its_words() -> None:
    session = ready()
    for number in range(500):
        started(session, 1)
        session.receive(rst(1 + 2 * number, 1000 + number))
    assert len(session.counters) <= 110
    assert sum(count for name, count in session.counters.items() if name.startswith("rst_received")) == 500


def status(code: int) -> bytes:
    return b"\x08" + bytes((code,)) + b"\x12\x02no"


@pytest.mark.parametrize(
    ("fields", "anomalies"),
    [
        ([(b"trace-bin", b"AAEC")], ()),
        ([(b"trace-bin", b"AAE=")], ()),
        ([(b"trace-bin", b"AAE")], ()),
        ([(b"trace-bin", b"AAE,AAE=, AA")], ()),
        ([(b"trace-bin", b"")], ()),
        ([(b"trace-bin", b"not base64!")], ("bad base64",)),
        ([(b"trace-bin", b"AAEC"), (b"trace-bin", b"A")], ("bad base64",)),
        ([(b"grpc-status-details-bin", base64.b64encode(status(5)))], ()),
        ([(b"grpc-status-details-bin", base64.b64encode(status(7)))], ("details of another grpc-status",)),
    ],
)
def test_binary_metadata_that_cannot_be_read_is_noted_and_never_fails_the_call(
    fields: list[tuple[bytes, bytes]], anomalies: tuple[str, ...]
) -> None:
    head = parse([(b"grpc-status", b"5"), *fields])
    assert (head.anomalies, head.flaw, head.grpc_status) == (anomalies, "", (b"5",))


@pytest.mark.parametrize("size", [1000, 100_000])
@pytest.mark.parametrize("keep", [True, False])
def test_the_largest_message_allowed_is_the_same_on_every_way_through(size: int, keep: bool) -> None:
    session = Session(REQUEST, keep_messages=keep, limits=Limits(max_message=500))
    session.receive(h2.settings())
    for number in range(4):
        started(session, 1)
        session.receive(reply(1 + 2 * number, bytes(500 if number % 2 else size)))
    codes = [ended.code for _, ended in session.replies]
    assert codes.count(Code.RESOURCE_EXHAUSTED) == 2
    assert len(session.done) + codes.count(Code.OK) == 2


@pytest.mark.parametrize("warm", [0, 3])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_reply_before_the_request_has_gone_stops_the_request(warm: int, at_once: bool) -> None:
    session = ready(request=Request("/pkg.Svc/Method", b"q" * 200_000, "echo", 0))
    for number in range(warm):
        started(session, 1)
        session.receive(h2.window_update(0, 200_005) + h2.window_update(1 + 2 * number, 200_005))
        session.receive(reply(1 + 2 * number))
    started(session, 1)
    session.outgoing()
    stream = 1 + 2 * warm
    for part in [reply(stream)] if at_once else [okh(stream), msg(stream), trailers(stream)]:
        session.receive(part)
    assert len(session.done) == warm + 1
    assert [(frame.kind, frame.stream, frame.number) for frame in frames_of(session)] == [(h2.RST_STREAM, stream, 0)]
    session.receive(h2.window_update(0, 100_000) + h2.window_update(stream, 100_000))
    assert frames_of(session) == []
    assert (session.blocked, session.uploading) == (0, {})


@pytest.mark.parametrize("seen", [okh, lambda sid: okh(sid) + msg(sid), lambda sid: okh(sid) + msg(sid, b"x" * 20_000)])
def test_a_call_whose_reply_has_begun_was_processed_whatever_a_goaway_says(seen: h2.ReplyBytes) -> None:
    session = ready()
    begun, untouched = started(session, 2)
    session.receive(seen(1) + goaway(0))
    assert [call for call, _ in session.refused] == [untouched]
    ((call, ended),) = session.replies
    assert (call, ended.code, ended.reason) == (begun, Code.UNAVAILABLE, "cut off: GOAWAY NO_ERROR")


def test_an_abandoned_stream_gets_credit_until_the_server_ends_it() -> None:
    session = ready(limits=Limits(reset_late=False))
    (call,) = started(session, 1)
    call.deadline_ns = 10
    session.expire(10)
    piece = bytes(h2.LARGEST_FRAME)
    session.receive(okh(1) + data(1, piece) * (9 * MIB // len(piece)))
    credit = [frame.number for frame in frames_of(session) if frame.kind == h2.WINDOW_UPDATE and frame.stream == 1]
    assert credit == [4 * MIB, 4 * MIB]
    session.receive(trailers(1))
    assert not session.ghosts
