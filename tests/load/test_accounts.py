"""What is said of calls beside whether they were OK: what they waited for, when replies began, why they went again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from lbctl.load.accounts import Accounts
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.model import Code, Endpoint, Identity, Origin, Reply
from lbctl.stats.tally import Tally
from lbctl.wire.state import Wait
from tests.fakes import FakeClock
from tests.load.rig import Rig, instance, plan
from tests.wire import frames as h2

MS = 0.001
LATER = 1 << 62


def books() -> tuple[Accounts, Lane, FakeClock]:
    tally, clock = Tally(), FakeClock()
    row = tally.backend(Identity("/services/echo/1", Endpoint("127.0.0.1", 1)))
    return Accounts(tally, clock), cast("Lane", SimpleNamespace(row=row)), clock


def refused(stream: int) -> bytes:
    return h2.rst(stream, h2.REFUSED_STREAM)


# ---- attempts --------------------------------------------------------------------------------------------------------


async def test_without_retry_a_refused_call_ends_with_what_the_backend_said() -> None:
    rig = Rig(plan(concurrency=2, requests=2), retry=False)
    await rig.begin(1, 2)
    await rig.do(lambda: rig.end(1).answer(1, refused))
    await rig.do(lambda: rig.end(2).answer(1))
    assert dict(rig.tally.codes) == {Code.OK: 1, Code.UNAVAILABLE: 1}
    assert (rig.engine.retries.total(), rig.end(2).heads) == (0, 1)
    (group,) = rig.tally.error_groups()
    assert (group.origin, "REFUSED_STREAM" in group.message) == (Origin.TRANSPORT, True)
    await rig.aclose()


async def test_retries_are_counted_by_why() -> None:
    rig = Rig(plan(concurrency=4, requests=4))
    await rig.begin(1, 2)
    await rig.do(lambda: rig.end(1).answer(1, refused))
    await rig.do(lambda: rig.end(2).goaway(0))
    assert rig.engine.retries["refused"] == 1
    assert rig.engine.retries["goaway"] >= 2
    await rig.finish()
    await rig.aclose()


# ---- waiting ---------------------------------------------------------------------------------------------------------


async def test_the_time_calls_waited_for_a_slot_is_known() -> None:
    rig = Rig(plan(concurrency=3, requests=3))
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 1}
    await rig.begin(1)
    for _ in range(3):
        rig.clock.advance(10 * MS)
        await rig.do(lambda: rig.end(1).answer(1))
    waited = rig.tally.waits["slot"]
    assert (waited.calls, waited.ns) == (2, 30_000_000)  # 10 ms one, 20 ms the other
    assert rig.tally.time_ns == 60_000_000
    await rig.aclose()


async def test_a_wait_that_ends_at_the_deadline_counts_too() -> None:
    rig = Rig(plan(concurrency=3, requests=3, timeout_s=1.0))
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 1}
    await rig.begin(1)
    await rig.expire(1.0)
    waited = rig.tally.waits["slot"]
    assert (waited.calls, waited.ns) == (2, 2_000_000_000)
    assert rig.tally.time_ns == 3_000_000_000
    await rig.aclose()


async def test_a_wait_for_any_backend_is_one_for_a_connection() -> None:
    rig = Rig(plan(concurrency=2, requests=2))
    await rig.begin()
    rig.clock.advance(0.5)
    await rig.apply(instance(1))
    await rig.do(lambda: rig.end(1).answer(2))
    waited = rig.tally.waits["connection"]
    assert (waited.calls, waited.ns) == (2, 1_000_000_000)
    assert list(rig.tally.waits) == ["connection"]
    await rig.aclose()


async def test_calls_that_are_written_at_once_wait_for_nothing() -> None:
    rig = Rig(plan(concurrency=3, requests=30))
    await rig.begin(1, 2)
    await rig.finish()
    assert not rig.tally.waits
    await rig.aclose()


# ---- times -----------------------------------------------------------------------------------------------------------


async def test_the_first_byte_is_that_of_the_headers_also_when_the_rest_came_later() -> None:
    rig = Rig(plan(concurrency=2, requests=2))
    await rig.begin(1)
    one, two = rig.end(1).waiting
    rig.clock.advance(2 * MS)
    rig.end(1).say(h2.okh(one))
    rig.clock.advance(5 * MS)
    rig.end(1).say(h2.msg(one), h2.trailers(one, 0), h2.reply(two))
    service = rig.tally.service_time
    first = rig.tally.first_byte.histogram(service)
    assert (service.total, service.min_us, service.max_us) == (2, 7_000, 7_000)
    assert (first.total, first.min_us, first.total_us) == (2, 2_000, 9_000)
    await rig.aclose()


async def test_the_first_byte_of_a_call_that_failed_is_nobodys() -> None:
    rig = Rig(plan(concurrency=2, requests=2))
    await rig.begin(1)
    one, two = rig.end(1).waiting
    rig.clock.advance(2 * MS)
    rig.end(1).say(h2.okh(one), h2.okh(two))
    rig.clock.advance(5 * MS)
    rig.end(1).say(h2.trailers(one, 13), h2.msg(two), h2.trailers(two, 0))
    first = rig.tally.first_byte.histogram(rig.tally.service_time)
    assert (first.total, first.min_us, first.total_us) == (1, 2_000, 2_000)
    await rig.aclose()


def test_a_call_that_ended_before_it_was_stamped_has_no_absurd_service_time() -> None:
    accounts, lane, clock = books()
    call = Batch(clock.now_ns(), LATER, clock.now_ns())
    clock.advance(0.003)
    accounts.done(lane, [call], clock.now_ns())
    tally = accounts.tally
    assert (tally.latency.max_us, tally.service_time.max_us, tally.wait.max_us) == (3_000, 0, 3_000)
    assert tally.wait.total == 1


def test_a_call_that_was_stamped_after_its_end_was_read_has_no_negative_service_time() -> None:
    accounts, lane, clock = books()
    call = Batch(clock.now_ns(), LATER, clock.now_ns())
    end_ns = clock.now_ns() + 3_000_000
    call.written_ns = end_ns + 500_000
    accounts.done(lane, [call], end_ns)
    assert (accounts.tally.service_time.min_us, accounts.tally.service_time.total_us) == (0, 0)


async def test_the_first_byte_of_a_call_that_was_too_late_is_nobodys() -> None:
    rig = Rig(plan(concurrency=1, requests=1, timeout_s=0.005))
    await rig.begin(1)
    (one,) = rig.end(1).waiting
    rig.clock.advance(2 * MS)
    rig.end(1).say(h2.okh(one))
    rig.clock.advance(5 * MS)
    rig.end(1).say(h2.msg(one), h2.trailers(one, 0))
    assert dict(rig.tally.codes) == {Code.DEADLINE_EXCEEDED: 1}
    assert rig.tally.first_byte.histogram(rig.tally.service_time).total == 0
    assert not any(rig.tally.first_byte.histogram(rig.tally.service_time).counts)
    await rig.aclose()


async def test_a_call_is_stamped_once() -> None:
    rig = Rig(plan(concurrency=1, requests=1))
    await rig.begin(1)
    (call,) = rig.held(rig.subchannels[0])
    written_ns = call.written_ns
    rig.clock.advance(MS)
    rig.flusher.on_written([call])
    assert (call.written_ns, rig.tally.wait.total) == (written_ns, 1)
    await rig.aclose()


# ---- streams ---------------------------------------------------------------------------------------------------------


def test_a_stream_that_ended_well_is_an_ok_call_with_its_latency_and_its_messages() -> None:
    accounts, lane, clock = books()
    call = Batch(clock.now_ns(), LATER, clock.now_ns())
    call.written_ns = clock.now_ns()
    clock.advance(0.25)
    accounts.ended(lane, call, Reply(Code.OK, sent=1, received=12), clock.now_ns())
    tally = accounts.tally
    assert (tally.ok, tally.errors, lane.row.ok, tally.latency.max_us) == (1, 0, 1, 250_000)
    assert (tally.streams.sent, tally.streams.received) == (1, 12)


def test_a_stream_that_ended_well_too_late_is_a_deadline_error() -> None:
    accounts, lane, clock = books()
    call = Batch(clock.now_ns(), clock.now_ns() + 1_000_000, clock.now_ns())
    call.written_ns = clock.now_ns()
    clock.advance(0.25)
    accounts.ended(lane, call, Reply(Code.OK, sent=1, received=12), clock.now_ns())
    assert dict(accounts.tally.codes) == {Code.DEADLINE_EXCEEDED: 1}
    assert (accounts.late, accounts.late_ok) == (1, 1)
    assert accounts.tally.streams.received == 12
    assert accounts.tally.streams.spreads() is None


def test_a_call_cut_off_while_its_request_was_sent_was_written_all_the_same() -> None:
    accounts, lane, clock = books()
    call = Batch(clock.now_ns(), LATER, clock.now_ns())
    call.waited_for = Wait.WINDOW
    clock.advance(0.002)
    accounts.ended(lane, call, Reply(Code.RESOURCE_EXHAUSTED, Origin.SERVER, "too much"), clock.now_ns())
    assert (accounts.tally.wait.total, accounts.tally.waits["window"].calls) == (1, 1)
    assert call.written_ns
