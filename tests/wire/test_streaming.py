"""Streaming calls of a session, against a strict peer and on the test's own clock: what is sent when, and counts."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import Any

import pytest

from lbctl.model import Code, Origin, Reply
from lbctl.wire.limits import Limits
from lbctl.wire.request import Stream
from tests.wire import frames as h2
from tests.wire.frames import data, headers, message, msg, okh, rst, trailers
from tests.wire.line import MS, Line
from tests.wire.pure import PureCall

ENDLESS = 1 << 31


def stream(*messages: bytes, count: int | None = None, **how: Any) -> Stream:  # noqa: ANN401
    """Both sides stream."""
    return Stream(True, True, messages, len(messages) if count is None else count, **how)


def counts(reply: Reply) -> tuple[Code, int, int]:
    return reply.code, reply.sent, reply.received


def test_all_messages_go_out_at_once_and_the_last_one_ends_the_stream() -> None:
    line = Line.to(stream(b"a", b"bb", b""))
    assert line.body() == message(b"a") + message(b"bb") + message(b"")
    assert [frame.flags for frame in line.said if frame.kind == h2.DATA] == [0, 0, h2.END_STREAM]
    line.hear(okh(1) + msg(1, b"x") + msg(1, b"yy") + trailers(1))
    assert counts(line.reply()) == (Code.OK, 3, 2)
    assert line.reply().messages == (b"x", b"yy")


@pytest.mark.parametrize("server", [True, False])
def test_the_messages_of_a_reply_are_kept_whoever_streams(server: bool) -> None:
    line = Line.to(Stream(True, server, (b"a",), 1))
    line.hear(okh(1) + msg(1, b"x") + trailers(1))
    assert line.reply().messages == (b"x",)


def test_the_given_messages_are_sent_in_turn() -> None:
    line = Line.to(stream(b"a", b"b", count=5))
    assert line.body() == b"".join(message(body) for body in (b"a", b"b", b"a", b"b", b"a"))
    assert line.ended()


def test_a_stream_without_messages_is_only_an_end() -> None:
    line = Line.to(stream(count=0))
    assert [(frame.flags, frame.payload) for frame in line.said if frame.kind == h2.DATA] == [(h2.END_STREAM, b"")]
    line.hear(headers(1, (":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "0"), end=True))
    assert counts(line.reply()) == (Code.OK, 0, 0)


def test_messages_go_out_at_their_times_and_a_stall_leaves_none_out() -> None:
    line = Line.to(stream(b"m", count=6, interval_ns=10 * MS))
    assert line.body() == message(b"m")
    line.tick(9)
    assert line.body() == message(b"m")
    line.tick(1)
    assert line.body() == message(b"m") * 2
    line.now_ns += 25 * MS  # nobody came for so long
    line.session.talk(line.now_ns)
    line.collect()
    assert line.body() == message(b"m") * 4
    line.tick(4)
    assert line.body() == message(b"m") * 4
    line.tick(1)
    assert line.body() == message(b"m") * 5
    assert not line.ended()
    line.tick(10)
    assert line.body() == message(b"m") * 6
    assert line.ended()
    assert line.session.next_talk_ns == 0


def test_messages_wait_for_windows_and_are_counted_when_they_have_gone() -> None:
    line = Line.to(stream(b"12345", count=3), settings={h2.INITIAL_WINDOW_SIZE: 15})
    assert line.body() == (message(b"12345") * 3)[:15]
    line.hear(okh(1) + trailers(1, 7))
    assert counts(line.reply()) == (Code.PERMISSION_DENIED, 1, 0)
    assert line.resets() == [h2.NO_ERROR]


def test_a_paced_stream_that_is_held_back_sends_every_message_later() -> None:
    line = Line.to(stream(b"12345", count=4, interval_ns=MS), settings={h2.INITIAL_WINDOW_SIZE: 10})
    line.tick(10)
    assert line.body() == message(b"12345")
    line.hear(h2.window_update(1, 30))
    assert line.body() == message(b"12345") * 4
    assert line.ended()


def test_gaps_are_between_reads_and_nothing_between_messages_that_came_together() -> None:
    line = Line.to(stream(b"q"))
    line.hear(okh(1) + msg(1))
    line.now_ns += 7 * MS
    line.hear(msg(1) + msg(1))
    line.now_ns += 5 * MS
    line.hear(msg(1) + trailers(1))
    assert line.session.gaps == [7 * MS, 0, 5 * MS]
    assert counts(line.reply()) == (Code.OK, 1, 4)
    assert line.session.early == [(line.session.replies[0][0], 1000 * MS)]


def test_a_server_stream_is_cancelled_after_enough_messages_and_that_is_a_good_end() -> None:
    line = Line.to(Stream(False, True, (b"q",), limit=3))
    assert line.ended()
    line.hear(okh(1) + msg(1) + msg(1))
    assert not line.session.replies
    line.hear(msg(1))
    assert counts(line.reply()) == (Code.OK, 1, 3)
    assert line.resets() == [h2.CANCEL]
    line.hear(msg(1) + trailers(1))
    assert line.session.counters["late_frames"] == 2


def test_a_stream_both_ways_ends_its_half_after_enough_messages_and_waits_for_the_server() -> None:
    line = Line.to(stream(b"q", count=10, interval_ns=MS, limit=2))
    line.tick(3)
    line.hear(okh(1) + msg(1) + msg(1))
    assert line.ended()
    line.hear(msg(1) + msg(1))  # answers to what was on its way: four were sent
    line.hear(trailers(1))
    assert counts(line.reply()) == (Code.OK, 4, 4)
    assert line.resets() == []


def test_a_server_that_goes_on_regardless_is_cancelled() -> None:
    line = Line.to(stream(b"q", count=10, interval_ns=MS, limit=2))
    line.hear(okh(1) + msg(1) + msg(1))
    assert line.ended()
    line.hear(msg(1))
    assert counts(line.reply()) == (Code.OK, 1, 3)
    assert line.resets() == [h2.CANCEL]


@pytest.mark.parametrize("client", [True, False])
def test_after_its_duration_a_call_ends_its_half_or_all_of_it(client: bool) -> None:
    line = Line.to(Stream(client, True, (b"q",), 0 if client else 1, 10 * MS if client else 0, duration_ns=35 * MS))
    line.hear(okh(1) + msg(1))
    line.tick(34)
    assert line.ended() is not client
    line.tick(1)
    assert line.ended()
    if client:
        assert line.body() == message(b"q") * 4  # at 0, 10, 20 and 30 ms
        line.hear(trailers(1))
    assert counts(line.reply()) == (Code.OK, 4 if client else 1, 1)
    assert line.resets() == ([] if client else [h2.CANCEL])


def test_a_stream_without_end_is_bounded_by_windows_and_by_what_is_sent_in_one_go() -> None:
    line = Line.to(stream(b"x" * 995, count=0, duration_ns=1000 * MS), settings={h2.INITIAL_WINDOW_SIZE: ENDLESS - 1})
    sent = len(line.body())
    assert 60_000 < sent <= 65_535
    line.hear(h2.window_update(0, ENDLESS - 1 - 65_535))
    first = len(line.body()) - sent
    assert 0 < first < 2 << 20
    assert line.session.next_talk_ns == 1
    line.session.talk(line.now_ns)
    line.collect()
    assert 0 < len(line.body()) - sent - first < 2 << 20
    line.now_ns += 1000 * MS
    line.session.talk(line.now_ns)
    line.collect()
    while not line.ended():
        line.session.talk(line.now_ns)
        line.collect()
    assert len(line.body()) % 1000 == 0


def test_a_client_stream_is_answered_by_exactly_one_message() -> None:
    for answers, code in ((1, Code.OK), (0, Code.INTERNAL), (2, Code.INTERNAL)):
        line = Line.to(Stream(True, False, (b"a", b"b"), 2))
        line.hear(okh(1) + msg(1) * answers + trailers(1))
        assert counts(line.reply()) == (code, 2, answers)


def test_an_early_status_stops_the_sending_and_stands() -> None:
    line = Line.to(stream(b"m", count=5, interval_ns=MS))
    line.tick(1)
    line.hear(okh(1) + trailers(1, 8, ("grpc-message", "enough")))
    assert line.reply()[:3] == (Code.RESOURCE_EXHAUSTED, Origin.SERVER, "enough")
    assert counts(line.reply()) == (Code.RESOURCE_EXHAUSTED, 2, 0)
    assert line.resets() == [h2.NO_ERROR]
    line.tick(10)
    assert line.body() == message(b"m") * 2


def test_every_message_is_compressed_and_says_so() -> None:
    line = Line.to(stream(b"a" * 100, b"b"), compress=True)
    first, second = (message(gzip.compress(body, 6, mtime=0), flag=1) for body in (b"a" * 100, b"b"))
    assert line.body() == first + second


def test_streams_share_a_connection_fairly() -> None:
    line = Line.to(stream(b"x" * 40_000, count=6), settings={h2.INITIAL_WINDOW_SIZE: 1 << 20})
    line.begin()
    before = len(line.said)
    line.hear(h2.window_update(0, 1 << 20))
    turns = [frame.stream for frame in line.said[before:] if frame.kind == h2.DATA]
    assert turns[: 2 * turns.count(1)] == [1, 3] * turns.count(1)
    assert line.body(1) == line.body(3) == message(b"x" * 40_000) * 6


def test_a_reset_a_loss_and_a_deadline_keep_what_was_counted() -> None:
    for end in ("reset", "loss", "deadline"):
        line = Line.to(stream(b"a", b"b"))
        line.hear(okh(1) + msg(1))
        if end == "reset":
            line.hear(rst(1, h2.INTERNAL_ERROR))
        elif end == "loss":
            line.session.lose("connection closed by peer")
        else:
            line.session.expire(1 << 62)
        reply = line.reply()
        assert (reply.sent, reply.received) == (2, 1)
        assert (
            reply.code
            == {
                "reset": Code.INTERNAL,
                "loss": Code.UNAVAILABLE,
                "deadline": Code.DEADLINE_EXCEEDED,
            }[end]
        )
        assert not line.session.talks


def test_an_abandoned_stream_keeps_its_slot_until_the_server_ends_it() -> None:
    line = Line.to(stream(b"a"), limits=Limits(max_streams=1, reset_late=False))
    line.session.expire(1 << 62)
    line.collect()
    assert counts(line.reply()) == (Code.DEADLINE_EXCEEDED, 1, 0)
    assert line.resets() == []
    line.begin()
    assert not line.body(3)
    line.hear(okh(1) + trailers(1))
    assert line.body(3) == message(b"a")


def test_calls_that_ended_leave_little_behind_in_the_agenda() -> None:
    line = Line.to(stream(b"a", duration_ns=3_600_000 * MS))
    for number in range(500):
        line.hear(okh(1 + 2 * number) + trailers(1 + 2 * number))
        line.begin()
    assert len(line.session.agenda) < 100


def test_a_peer_that_takes_nothing_costs_nothing_however_much_is_due() -> None:
    line = Line.to(stream(b"12345", count=0, interval_ns=MS, duration_ns=10**15), settings={h2.INITIAL_WINDOW_SIZE: 5})
    line.now_ns += 10**13
    before = sum(map(len, line.said))
    line.session.talk(line.now_ns)  # ten million messages are due
    line.collect()
    assert sum(map(len, line.said)) == before
    line.hear(h2.window_update(1, 35))
    assert line.body() == message(b"12345") * 4


@pytest.mark.parametrize(
    ("said", "code", "origin", "reason"),
    [
        (
            headers(1, (":status", "503"), ("content-type", "text/html")),
            Code.UNAVAILABLE,
            Origin.HTTP,
            "HTTP status 503",
        ),
        (headers(1, (":status", "200"), ("content-type", "text/html")), Code.UNKNOWN, Origin.HTTP, "'text/html'"),
        (okh(1) + data(1, message(b"a", flag=2)), Code.INTERNAL, Origin.CLIENT, "message flag 2"),
        (okh(1) + data(1, message(b"a", flag=1)), Code.INTERNAL, Origin.CLIENT, "without grpc-encoding"),
        (okh(1) + msg(1, b"a"), Code.OK, Origin.SERVER, ""),
        (b"", Code.OK, Origin.SERVER, ""),
    ],
)
def test_an_end_of_our_own_is_a_good_one_only_where_the_reply_was_one(
    said: bytes, code: Code, origin: Origin, reason: str
) -> None:
    line = Line.to(Stream(False, True, (b"q",), duration_ns=50 * MS), keep=False)
    line.hear(said)
    line.now_ns += 50 * MS
    line.tick()
    ((_, reply),) = line.session.replies
    assert (reply.code, reply.origin) == (code, origin)
    assert reason in reply.reason
    assert [frame.kind for frame in line.said[-1:]] == [h2.RST_STREAM]


@pytest.mark.parametrize("how", [{"limit": 2}, {"duration_ns": 50 * MS}])
def test_messages_of_a_stream_that_we_end_are_there_to_be_checked(how: dict[str, Any]) -> None:
    line = Line.to(Stream(False, True, (b"q",), **how), keep=True)
    line.hear(okh(1) + msg(1, b"one") + msg(1, b"two"))
    line.now_ns += 50 * MS
    line.tick()
    reply = line.reply()
    assert (reply.code, reply.received, reply.messages) == (Code.OK, 2, (b"one", b"two"))


def test_messages_are_told_as_they_come_and_not_kept() -> None:
    heard: list[bytes] = []
    line = Line.to(Stream(False, True, (b"ask",), told=heard.append))
    line.hear(okh(1) + data(1, message(b"one") + message(b"two")[:4]))
    assert heard == [b"one"]
    line.hear(data(1, message(b"two")[4:]) + data(1, message(b"")))
    assert heard == [b"one", b"two", b""]
    line.hear(trailers(1, 0))
    ((_, reply),) = line.session.replies
    assert (reply.code, reply.messages, reply.received) == (Code.OK, (), 3)


def test_messages_that_are_no_good_are_not_told() -> None:
    heard: list[bytes] = []
    line = Line.to(Stream(False, True, (b"ask",), told=heard.append))
    line.hear(okh(1) + msg(1, b"good") + data(1, message(b"odd", flag=7)) + msg(1, b"after it"))
    line.hear(trailers(1, 0))
    ((_, reply),) = line.session.replies
    assert heard == [b"good"]
    assert (reply.code, reply.origin) == (Code.INTERNAL, Origin.CLIENT)


# ---- another attempt -------------------------------------------------------------------------------------------------


def again(spec: Stream, since_ms: int) -> Line:
    """A line on which the second attempt of a call has begun, the first of which began so long before."""
    line = Line.to(spec)
    since_ns = line.now_ns - since_ms * MS
    line.session.enqueue(PureCall(1), replace(line.request, previous=1, since_ns=since_ns))
    line.collect()
    line.tick()
    return line


def test_another_attempt_sends_at_once_what_was_due_since_its_call_began() -> None:
    line = again(stream(b"a", b"b", count=5, interval_ns=10 * MS), since_ms=25)
    assert line.body(3) == b"".join(message(body) for body in (b"a", b"b", b"a"))
    line.tick(4)
    assert line.body(3).count(b"a") == 2
    line.tick(1)
    assert line.body(3).endswith(message(b"b"))
    line.tick(10)
    assert line.ended(3)
    assert (line.body(1), line.ended(1)) == (message(b"a") + message(b"b"), False)  # 15 ms after its own start


def test_the_duration_of_a_stream_counts_from_the_start_of_its_call() -> None:
    line = again(stream(b"a", count=0, interval_ns=10 * MS, duration_ns=45 * MS), since_ms=30)
    line.tick(14)
    assert not line.ended(3)
    line.tick(1)
    assert line.ended(3)
    assert line.body(3) == message(b"a") * 5
    assert not line.ended(1)
