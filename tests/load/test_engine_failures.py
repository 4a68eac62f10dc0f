"""Deadlines, retries, lost connections and missing backends: each call is charged once, to the right place."""

from __future__ import annotations

import pytest

from lbctl.model import Code, Endpoint, Origin
from lbctl.stats.tally import BackendTally
from tests.fakes import until
from tests.load.rig import TINY, Rig, instance, plan
from tests.wire import frames as h2


def refused(stream: int) -> bytes:
    return h2.rst(stream, h2.REFUSED_STREAM)


def row(rig: Rig, number: int) -> BackendTally:
    return rig.backends.lanes[instance(number).identity].row


def errors(rig: Rig) -> dict[tuple[Code, Origin, str], int]:
    return {(group.code, group.origin, group.message): group.count for group in rig.tally.error_groups()}


LATE = (Code.DEADLINE_EXCEEDED, Origin.CLIENT, "deadline exceeded")


# ---- deadlines -------------------------------------------------------------------------------------------------------


async def test_a_call_without_a_reply_ends_at_its_deadline_and_is_reset() -> None:
    rig = Rig(plan(concurrency=2, requests=2, timeout_s=1.0))
    await rig.begin(1)
    await rig.expire(0.999)
    assert rig.tally.errors == 0
    await rig.expire(0.001)
    assert errors(rig) == {LATE: 2}
    assert row(rig, 1).codes == {Code.DEADLINE_EXCEEDED: 2}
    assert not rig.end(1).waiting
    assert rig.idle
    await rig.aclose()


async def test_a_good_reply_after_the_deadline_is_a_deadline_error() -> None:
    rig = Rig(plan(concurrency=3, requests=3, timeout_s=1.0))
    await rig.begin(1)
    rig.clock.advance(0.5)
    await rig.do(lambda: rig.end(1).answer(1))
    rig.clock.advance(0.5)
    await rig.do(lambda: rig.end(1).answer(2))
    assert (rig.tally.ok, rig.tally.latency.total, rig.tally.latency.max_us) == (1, 1, 500_000)
    assert errors(rig) == {LATE: 2}
    assert rig.accounts.late == 2
    await rig.aclose()


@pytest.mark.parametrize("how", ["error", "cut off", "lost"])
async def test_whatever_the_peer_says_after_the_deadline_the_call_was_too_late(how: str) -> None:
    rig = Rig(plan(concurrency=1, requests=1, timeout_s=1.0))
    await rig.begin(1)
    rig.clock.advance(1.0)
    if how == "lost":
        await rig.do(rig.end(1).drop)
    else:
        said = {
            "error": lambda stream: h2.trailers_only(stream, 13),
            "cut off": lambda stream: h2.rst(stream, h2.CANCEL),
        }
        await rig.do(lambda: rig.end(1).answer(1, said[how]))
    assert errors(rig) == {LATE: 1}
    assert rig.accounts.late == (how == "error")
    await rig.aclose()


async def test_a_call_refused_after_its_deadline_is_not_sent_again() -> None:
    rig = Rig(plan(concurrency=1, requests=1, timeout_s=1.0))
    await rig.begin(1)
    rig.clock.advance(1.0)
    await rig.do(lambda: rig.end(1).answer(1, refused))
    assert errors(rig) == {LATE: 1}
    assert (rig.engine.retries.total(), rig.end(1).heads) == (0, 1)
    await rig.aclose()


async def test_a_deadline_of_calls_that_wait_for_a_slot_says_they_were_never_sent() -> None:
    rig = Rig(plan(concurrency=3, requests=3, timeout_s=1.0))
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 1}
    await rig.begin(1)
    await rig.expire(1.0)
    assert rig.tally.wait.total == 1
    assert rig.engine.given_back == 2
    unsent = (Code.DEADLINE_EXCEEDED, Origin.CLIENT, "deadline exceeded before the call could be sent")
    assert errors(rig) == {LATE: 1, unsent: 2}
    await rig.aclose()


async def test_without_a_deadline_a_call_waits_as_long_as_it_takes() -> None:
    rig = Rig(plan(concurrency=1, requests=1, timeout_s=0.0))
    await rig.begin(1)
    await rig.expire(86_400.0)
    assert rig.engine.in_flight == 1
    assert rig.end(1).timeouts == [None]
    await rig.do(lambda: rig.end(1).answer(1))
    assert rig.tally.ok == 1
    await rig.aclose()


async def test_calls_that_a_server_would_not_take_fail_one_by_one_without_being_sent() -> None:
    rig = Rig(plan(concurrency=3, requests=3_000, timeout_s=0.0))
    rig.host(1).settings = {h2.MAX_HEADER_LIST_SIZE: TINY}
    await rig.begin(1)
    await until(lambda: rig.idle)
    rig.check()
    assert (rig.tally.codes, rig.end(1).heads, rig.tally.wait.total) == ({Code.INTERNAL: 3_000}, 0, 0)
    await rig.aclose()


# ---- no backend ------------------------------------------------------------------------------------------------------


async def test_calls_wait_for_a_backend_and_go_to_the_first_that_is_ready() -> None:
    rig = Rig(plan(concurrency=5))
    await rig.begin()
    assert (rig.engine.issued, rig.engine.in_flight) == (5, 5)
    await rig.apply(instance(1))
    assert rig.end(1).heads == 5
    await rig.do(lambda: rig.end(1).answer(5))
    assert rig.tally.ok == 5
    assert rig.engine.given_back == 0
    await rig.aclose()


async def test_calls_that_no_backend_was_ready_for_fail_at_their_deadline_and_count_for_none() -> None:
    rig = Rig(plan(concurrency=2, requests=4, timeout_s=1.0))
    rig.host(1).mode = "refuse"
    await rig.begin(1)
    await rig.expire(1.0)
    assert (rig.engine.completed, rig.engine.in_flight) == (2, 2)
    assert errors(rig) == {(Code.UNAVAILABLE, Origin.CLIENT, "no backend was ready before the deadline"): 2}
    assert row(rig, 1).errors == 0
    await rig.expire(1.0)
    assert rig.tally.errors == 4
    assert rig.idle
    await rig.aclose()


async def test_a_call_that_waited_states_what_is_left_of_its_deadline() -> None:
    rig = Rig(plan(concurrency=1, timeout_s=5.0))
    await rig.begin()
    rig.clock.advance(1.5)
    await rig.apply(instance(1))
    assert rig.end(1).timeouts == [b"3500m"]
    await rig.aclose()


async def test_calls_that_wait_for_a_backend_can_be_cancelled() -> None:
    rig = Rig(plan(concurrency=3))
    await rig.begin()
    await rig.do(rig.cancel)
    assert (rig.tally.cancelled, rig.engine.in_flight) == (3, 0)
    assert rig.idle
    await rig.aclose()


# ---- not processed, and not sent -------------------------------------------------------------------------------------


async def test_a_refused_call_is_sent_once_more_and_its_end_is_charged_to_who_gave_it() -> None:
    rig = Rig(plan(concurrency=1, requests=1), "round_robin")
    await rig.begin(1, 2)
    first, second = (1, 2) if rig.end(1).heads else (2, 1)
    rig.clock.advance(0.001)
    await rig.do(lambda: rig.end(first).answer(1, refused))
    assert (rig.engine.retries.total(), rig.engine.completed) == (1, 0)
    assert rig.end(second).heads == 1
    rig.clock.advance(0.001)
    await rig.do(lambda: rig.end(second).answer(1))
    assert (row(rig, first).errors, row(rig, first).ok, row(rig, second).ok) == (0, 0, 1)
    assert rig.tally.latency.max_us == 2_000  # from the first attempt on
    assert rig.tally.service_time.max_us == 1_000
    await rig.aclose()


async def test_a_refused_call_goes_to_another_backend_where_the_policy_allows_that() -> None:
    rig = Rig(plan(concurrency=1, requests=1), "smooth_wrr")
    await rig.apply(instance(1, 3), instance(2, 1))  # in turn: 1 1 2 1
    rig.loop.begin()
    await rig.do(lambda: rig.end(1).answer(1, refused))
    assert (rig.end(1).heads, rig.end(2).heads) == (1, 1)
    assert [lane.peer.picks for lane in rig.backends.lanes.values()] == [2, 1]
    assert rig.engine.given_back == 1  # the second pick of 1, which got nothing
    await rig.do(lambda: rig.end(2).answer(1))
    assert (rig.tally.ok, rig.engine.in_flight) == (1, 0)
    await rig.aclose()


async def test_a_call_refused_twice_has_failed() -> None:
    rig = Rig(plan(concurrency=1, requests=1))
    await rig.begin(1)
    await rig.do(lambda: rig.end(1).answer(1, refused))
    await rig.do(lambda: rig.end(1).answer(1, refused))
    assert errors(rig) == {(Code.UNAVAILABLE, Origin.TRANSPORT, "stream reset by peer: REFUSED_STREAM"): 1}
    assert (rig.engine.retries.total(), rig.end(1).heads, rig.engine.in_flight) == (1, 2, 0)
    await rig.aclose()


async def test_a_retry_states_what_is_left_of_the_deadline() -> None:
    rig = Rig(plan(concurrency=1, timeout_s=5.0))
    await rig.begin(1)
    rig.clock.advance(2.0)
    await rig.do(lambda: rig.end(1).answer(1, refused))
    assert rig.end(1).timeouts == [b"5000m", b"3000m"]
    await rig.aclose()


async def test_calls_that_goaway_did_not_cover_are_retried_and_the_others_go_on() -> None:
    rig = Rig(plan(concurrency=4, requests=4))
    await rig.begin(1)
    old = rig.end(1)
    await rig.do(lambda: old.goaway(last=3))
    new = rig.end(1)
    assert new is not old
    assert (len(old.waiting), len(new.waiting), rig.engine.retries.total()) == (2, 2, 2)
    await rig.do(lambda: (old.answer(2), new.answer(2)))
    assert (rig.tally.ok, rig.tally.errors) == (4, 0)
    await rig.aclose()


async def test_calls_that_waited_on_a_connection_that_went_away_are_picked_again_and_never_lost() -> None:
    rig = Rig(plan(concurrency=6, requests=6), "round_robin")
    rig.host(1).settings = rig.host(2).settings = {h2.MAX_CONCURRENT_STREAMS: 1}
    await rig.begin(1, 2)
    rig.host(1).mode = "refuse"
    await rig.do(lambda: rig.end(1).drop(ConnectionResetError()))
    assert rig.engine.given_back == 2
    assert errors(rig) == {(Code.UNAVAILABLE, Origin.TRANSPORT, "connection reset by peer"): 1}
    for _ in range(5):
        await rig.do(lambda: rig.end(2).answer(1))
    assert (rig.tally.ok, rig.engine.in_flight) == (5, 0)
    assert sum(lane.peer.picks for lane in rig.backends.lanes.values()) == 8  # 6 calls, 2 of them twice
    await rig.aclose()


async def test_a_lost_connection_fails_its_calls_once_and_new_ones_go_elsewhere() -> None:
    rig = Rig(plan(concurrency=4), "round_robin")
    await rig.begin(1, 2)
    rig.host(1).mode = "refuse"
    await rig.do(rig.end(1).drop)
    assert row(rig, 1).codes == {Code.UNAVAILABLE: 2}
    assert rig.engine.retries.total() == 0  # they may have been processed
    assert len(rig.end(2).waiting) == 4
    await rig.aclose()


async def test_a_peer_that_breaks_the_protocol_leaves_the_rotation_before_new_calls_are_started() -> None:
    rig = Rig(plan(concurrency=4), "round_robin")
    await rig.begin(1, 2)
    await rig.do(lambda: rig.end(1).say(h2.settings({h2.INITIAL_WINDOW_SIZE: 2**31})))
    assert rig.end(1).heads == 2
    assert len(rig.end(2).waiting) == 4
    assert rig.engine.given_back == 0
    await rig.aclose()


async def test_calls_picked_between_two_connections_are_timed_on_their_own() -> None:
    """One batch goes to two backends, and one of these is just being connected anew."""
    rig = Rig(plan(concurrency=2), "round_robin")
    await rig.begin(1, 2)
    rig.host(1).mode = "hang"
    await rig.do(lambda: rig.end(1).goaway(h2.LARGEST_WINDOW))
    rig.loop.concurrency = 6
    await rig.do(rig.loop.refill)
    assert rig.tally.wait.total == 4  # two of the four new ones are on their way
    rig.clock.advance(0.010)
    await rig.do(lambda: rig.end(2).answer(3))
    assert rig.tally.service_time.total_us == 30_000
    await rig.do(rig.cancel)
    assert rig.tally.cancelled == 6
    await rig.aclose()


async def test_calls_of_a_backend_that_left_and_came_back_still_end_at_their_deadline() -> None:
    rig = Rig(plan(concurrency=2, requests=2, timeout_s=1.0))
    await rig.begin(1)
    await rig.apply()
    await rig.apply(instance(1))
    assert len(rig.host(1).open) == 2
    await rig.expire(1.0)
    assert errors(rig) == {LATE: 2}
    assert [end.is_open for end in rig.host(1).ends] == [False, True]
    await rig.aclose()


async def test_calls_of_a_backend_that_left_and_came_back_can_be_cancelled() -> None:
    rig = Rig(plan(concurrency=2))
    await rig.begin(1)
    await rig.apply()
    await rig.apply(instance(1))
    await rig.do(rig.cancel)
    assert (rig.tally.cancelled, rig.engine.in_flight) == (2, 0)
    await rig.aclose()


async def test_a_call_given_back_after_its_deadline_fails() -> None:
    rig = Rig(plan(concurrency=2, requests=2, timeout_s=1.0))
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 1}
    await rig.begin(1)
    rig.clock.advance(1.0)
    rig.host(1).mode = "refuse"
    await rig.do(rig.end(1).drop)
    assert rig.tally.codes == {Code.DEADLINE_EXCEEDED: 2}
    assert rig.idle
    await rig.aclose()


async def test_calls_returned_by_a_failed_connect_are_written_elsewhere_at_once() -> None:
    rig = Rig(plan(concurrency=2), "round_robin")
    await rig.begin(1, 2)
    host = rig.host(1)
    host.settings = None
    await rig.do(lambda: host.end.goaway(h2.LARGEST_WINDOW))
    rig.loop.concurrency = 4
    await rig.do(rig.loop.refill)
    before = rig.end(2).heads
    host.mode = "refuse"
    await rig.do(host.end.drop)  # the replacement, which never said SETTINGS
    assert rig.end(2).heads == before + 1
    assert rig.engine.given_back == 1
    await rig.aclose()


async def test_a_call_that_a_failed_connect_gives_back_too_late_makes_room_for_the_next() -> None:
    rig = Rig(plan(concurrency=2, timeout_s=1.0))
    await rig.begin(1)
    old = rig.end(1)
    rig.host(1).mode = "hang"
    await rig.do(lambda: old.goaway(h2.LARGEST_WINDOW))
    await rig.do(lambda: old.answer(2))
    assert (rig.engine.completed, rig.engine.in_flight) == (2, 2)  # these wait for the replacement
    rig.clock.advance(1.0)
    await rig.do(rig.host(1).give_up)
    assert (rig.tally.codes, rig.engine.in_flight) == ({Code.OK: 2, Code.DEADLINE_EXCEEDED: 2}, 2)
    await rig.aclose()


async def test_the_addresses_of_a_run_do_not_have_to_differ() -> None:
    rig = Rig(plan(concurrency=4, requests=40), "round_robin")
    await rig.apply(instance(1), instance(2, host=1))
    rig.loop.begin()
    await rig.finish()
    assert [lane.instance.endpoint for lane in rig.backends.lanes.values()] == [Endpoint("127.0.0.1", 1)] * 2
    assert [lane.row.ok for lane in rig.backends.lanes.values()] == [20, 20]
    await rig.aclose()


async def test_a_call_refused_by_a_peer_that_reads_no_more_was_an_attempt() -> None:
    rig = Rig(plan(concurrency=1, requests=2))
    await rig.begin(1)
    rig.end(1).transport.stalled = True
    await rig.do(lambda: rig.end(1).answer(1))  # the next call is cut off
    await rig.do(lambda: rig.end(1).answer(1, refused))
    rig.end(1).transport.read_on()
    await rig.finish()
    assert (rig.tally.ok, rig.tally.wait.total, rig.engine.retries.total()) == (2, 3, 1)
    await rig.aclose()
