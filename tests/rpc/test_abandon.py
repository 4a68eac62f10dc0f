"""A call that nobody wants to hear of any more: the peer is told, and nobody else."""

from __future__ import annotations

from lbctl.load.batch import Batch
from lbctl.wire.request import Request
from lbctl.wire.session import Session
from tests.wire import frames as h2

FAR = 1 << 60
REQUEST = Request("/p.S/M", b"x", "echo", 0)


def session(streams: int = 100) -> Session:
    """A session whose peer allows so many streams, with nothing left to write."""
    found = Session(REQUEST)
    found.receive(h2.settings({h2.MAX_CONCURRENT_STREAMS: streams}))
    found.outgoing()
    return found


def call() -> Batch:
    return Batch(0, FAR, 0)


def sent(found: Session) -> list[tuple[int, int]]:
    """The kind and stream of every frame that was written."""
    return [(frame.kind, frame.stream) for frame in h2.split(found.outgoing())[0]]


def ended(found: Session) -> int:
    return len(found.done) + len(found.replies) + len(found.unsent) + len(found.refused)


def test_an_abandoned_call_is_reset_and_ends_nowhere() -> None:
    one, other = call(), call()
    found = session()
    found.enqueue(one, REQUEST)
    found.enqueue(other, REQUEST)
    found.outgoing()
    assert found.abandon(one) is True
    assert sent(found) == [(h2.RST_STREAM, 1)]
    found.receive(h2.reply(1) + h2.reply(3))  # an answer that was on its way comes too late
    assert (found.done, ended(found)) == ([other], 1)
    assert not found.open
    assert found.abandon(one) is None


def test_a_call_whose_answer_has_begun_leaves_nothing_of_it_behind() -> None:
    one = call()
    found = session()
    found.enqueue(one, REQUEST)
    found.receive(h2.okh(1), 5)
    assert found.firsts
    assert found.abandon(one) is True
    assert (found.firsts, found.progress, found.responses, found.early) == ({}, {}, {}, [])
    found.receive(h2.msg(1) + h2.trailers(1))
    assert ended(found) == 0


def test_a_call_that_waits_for_a_slot_was_never_there() -> None:
    one, other = call(), call()
    found = session(streams=1)
    found.enqueue(one, REQUEST)
    found.enqueue(other, REQUEST)
    found.outgoing()
    assert found.abandon(other) is False
    assert sent(found) == []
    found.receive(h2.reply(1))
    assert (len(found.waiting), found.open) == (0, {})


def test_its_slot_is_free_for_a_call_that_waits() -> None:
    one, other = call(), call()
    found = session(streams=1)
    found.enqueue(one, REQUEST)
    found.enqueue(other, REQUEST)
    found.outgoing()
    assert found.abandon(one) is True
    assert [kind for kind, _ in sent(found)] == [h2.RST_STREAM, h2.HEADERS, h2.DATA]
    assert list(found.open.values()) == [other]


def test_a_call_that_is_not_here_is_left_alone() -> None:
    assert session().abandon(call()) is None


def test_a_request_says_how_many_attempts_came_before_and_moves_no_table() -> None:
    found = session()
    found.enqueue(call(), REQUEST)
    found.outgoing()
    found.receive(h2.reply(1))
    generation = found.writer.generation
    again = Request("/p.S/M", b"x", "echo", 0, previous=2)
    found.enqueue(call(), again)
    (head, _) = h2.split(found.outgoing())[0]
    assert b"grpc-previous-rpc-attempts\x012" in head.payload
    assert found.writer.generation == generation
    assert again.headers() == REQUEST.headers()
