"""The open loop: calls are sent when they are due, whatever became of those before, and nothing is hidden."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lbctl.load.loops import OpenLoop
from lbctl.load.pacing.curve import Stage
from lbctl.load.pacing.schedule import Schedule
from lbctl.model import Code
from tests.load.rig import Rig, instance, paced
from tests.wire import frames as h2

MS = 0.001


def schedule(rig: Rig) -> OpenLoop:
    assert isinstance(rig.loop, OpenLoop)
    return rig.loop


async def test_a_call_is_sent_when_it_is_due_and_not_before() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    sent = [rig.engine.issued]
    for _ in range(6):
        await rig.pass_(0.5 * MS)
        sent.append(rig.engine.issued)
    assert sent == [1, 1, 2, 2, 3, 3, 4]
    assert rig.alarm.due_ns == rig.clock.now_ns() + 1_000_000
    await rig.aclose()


async def test_answers_make_no_call_due_and_silence_holds_none_back() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    await rig.do(lambda: rig.end(1).answer(1))
    assert (rig.engine.issued, rig.tally.ok) == (1, 1)
    for _ in range(50):
        await rig.pass_(MS)
    assert (rig.engine.issued, rig.tally.ok) == (51, 1)
    await rig.aclose()


async def test_latency_counts_from_the_plan_service_time_from_the_write() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    await rig.do(lambda: rig.end(1).answer(1))
    await rig.pass_(1.4 * MS)  # 0.4 ms late
    rig.clock.advance(5 * MS)
    rig.end(1).answer(1)
    assert rig.tally.latency.max_us == 5_400
    assert rig.tally.service_time.max_us == 5_000
    assert rig.tally.wait.max_us == 400
    await rig.aclose()


async def test_a_stall_of_ours_is_charged_to_every_call_it_delayed() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    await rig.do(lambda: rig.end(1).answer(1))
    await rig.pass_(0.3)  # the loop did not come round: 300 calls became due
    assert (rig.engine.issued, schedule(rig).starts.late) == (301, 298)
    rig.clock.advance(MS)
    while rig.end(1).answer(50):
        pass
    latency, service = rig.tally.latency, rig.tally.service_time
    assert (latency.total, latency.max_us, service.max_us) == (301, 300_000, 1_000)
    assert abs(latency.quantile(0.5) - 151_000) < 1_510
    assert abs(rig.tally.wait.mean_us - 149_000) < 1_000
    await rig.aclose()


async def test_without_correction_a_stall_of_ours_is_charged_to_nobody() -> None:
    rig = Rig(replace(paced(1000), corrected=False))
    await rig.begin(1)
    await rig.pass_(0.3)
    rig.clock.advance(MS)
    while rig.end(1).answer(50):
        pass
    latency = rig.tally.latency
    assert latency.total == rig.engine.issued
    assert abs(latency.quantile(0.5) - 1_000) < 10  # all that came due in the stall were started at its end
    assert schedule(rig).starts.late == 298
    await rig.aclose()


async def test_a_stall_of_the_server_is_charged_to_every_call_it_delayed() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    for _ in range(300):
        await rig.pass_(MS)
    rig.end(1).answer(301)
    assert (rig.tally.latency.total, rig.tally.latency.max_us) == (301, 300_000)
    assert abs(rig.tally.latency.quantile(0.5) - 150_000) < 1_500
    assert rig.tally.wait.max_us == 0
    await rig.aclose()


async def test_what_finds_too_many_in_flight_at_its_backend_is_dropped_and_counted() -> None:
    rig = Rig(paced(1000, most=3))
    await rig.begin(1, 2)
    for _ in range(9):
        await rig.do(lambda: rig.end(2).answer(1))
        await rig.pass_(MS)
    stuck, fine = rig.backends.lanes.values()
    assert (rig.loop.dropped, stuck.dropped, fine.dropped) == (2, 2, 0)
    assert (stuck.peer.in_flight, rig.engine.issued) == (3, 8)
    await rig.aclose()


async def test_a_bound_on_all_calls_in_flight_holds_over_all_backends() -> None:
    rig = Rig(paced(1000, concurrency=4))
    await rig.begin(1, 2)
    await rig.pass_(9 * MS)
    assert (rig.engine.in_flight, rig.loop.dropped) == (4, 6)
    await rig.do(lambda: rig.end(1).answer(1))
    await rig.pass_(MS)
    assert (rig.engine.issued, rig.loop.dropped) == (5, 6)
    await rig.aclose()


async def test_without_a_backend_calls_wait_up_to_the_bound_and_the_rest_is_dropped() -> None:
    rig = Rig(paced(1000, most=5, timeout_s=1.0))
    await rig.begin()
    await rig.pass_(7 * MS)
    assert (rig.engine.parked, rig.loop.dropped) == (5, 3)
    await rig.apply(instance(1))
    rig.clock.advance(MS)
    rig.end(1).answer(5)
    assert (rig.tally.ok, rig.tally.latency.max_us) == (5, 8_000)
    assert rig.tally.waits["connection"].calls == 5
    await rig.aclose()


async def test_a_run_of_n_calls_plans_n_calls_dropped_ones_included() -> None:
    rig = Rig(paced(1000, 10, most=4))
    await rig.begin(1)
    await rig.pass_(1.0)
    assert (rig.engine.issued, rig.loop.dropped, rig.idle) == (4, 6, 0)
    await rig.do(lambda: rig.end(1).answer(4))
    assert rig.idle
    await rig.aclose()


async def test_pauses_are_left_out_of_the_schedule() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    await rig.pass_(2.5 * MS)
    await rig.do(rig.loop.pause)
    await rig.pass_(10.0)
    assert rig.engine.issued == 3
    await rig.do(rig.loop.resume)
    assert rig.engine.issued == 3
    late = schedule(rig).starts.late
    await rig.pass_(0.5 * MS)
    assert (rig.engine.issued, schedule(rig).starts.late) == (4, late)
    await rig.aclose()


async def test_what_was_due_before_a_pause_is_sent_before_it() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    rig.clock.advance(0.5)
    rig.loop.pause()
    assert rig.engine.issued == 501
    await rig.aclose()


async def test_a_run_paused_before_its_beginning_begins_when_it_is_resumed() -> None:
    rig = Rig(paced(1000))
    rig.loop.pause()
    await rig.begin(1)
    await rig.pass_(1.0)
    assert rig.engine.issued == 0
    await rig.do(rig.loop.resume)
    assert (rig.engine.issued, schedule(rig).starts.late) == (1, 0)
    await rig.aclose()


async def test_another_rate_counts_from_now_on() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    await rig.pass_(10 * MS)
    assert rig.loop.scale(2.0) == "rate 1,000/s -> 2,000/s"
    await rig.pass_(10 * MS)
    assert (rig.engine.issued, rig.loop.rps) == (31, 2000)
    assert rig.loop.scale(0.1) == "rate 2,000/s -> 200/s"
    await rig.pass_(10 * MS)
    assert rig.engine.issued == 33
    assert schedule(rig).starts.late
    await rig.aclose()


async def test_a_rate_may_be_changed_before_the_run_begins() -> None:
    rig = Rig(paced(1000))
    rig.loop.scale(0.5)
    await rig.begin(1)
    await rig.pass_(10 * MS)
    assert rig.engine.issued == 6
    await rig.aclose()


@pytest.mark.parametrize("late_ms", [0.0, 0.3, 40.0])
async def test_a_second_has_exactly_as_many_calls_as_the_rate_says(late_ms: float) -> None:
    rig = Rig(paced(1000, duration_s=1.0))
    await rig.begin(1)
    for _ in range(9):
        await rig.pass_(0.1)
    rig.clock.advance(0.1 + late_ms * MS)
    rig.loop.finish()
    rig._ring()
    assert rig.engine.issued == 1000
    while rig.end(1).answer(100):
        pass
    assert rig.idle
    await rig.aclose()


async def test_the_end_of_the_time_comes_early_for_nobody() -> None:
    rig = Rig(paced(1000, duration_s=1.0))
    await rig.begin(1)
    rig.clock.advance(0.9985)
    rig.loop.finish()  # the run's own clock began a moment before
    rig._ring()
    rig.end(1).answer(1000)
    assert (rig.engine.issued, rig.idle) == (999, 0)
    rig.clock.advance(0.0015)
    rig._ring()
    rig.end(1).answer(1)
    assert (rig.engine.issued, bool(rig.idle)) == (1000, True)
    await rig.aclose()


async def test_what_could_not_be_sent_in_time_and_grace_was_dropped() -> None:
    rig = Rig(paced(1_000_000, duration_s=1.0))
    await rig.begin(1)
    rig.clock.advance(1.0)
    rig.loop.finish()
    assert rig.engine.issued == 129
    rig.cancel()
    assert rig.engine.issued + rig.loop.dropped == 1_000_000
    await rig.aclose()


async def test_what_a_person_stops_has_dropped_nothing() -> None:
    rig = Rig(paced(1000, 500))
    await rig.begin(1)
    await rig.pass_(10 * MS)
    await rig.do(rig.loop.close)
    assert (rig.engine.issued, rig.loop.dropped, rig.idle) == (11, 0, 0)
    assert not rig.alarm.is_open
    await rig.do(lambda: rig.end(1).answer(11))
    assert rig.idle
    await rig.aclose()


async def test_calls_that_fail_or_are_refused_leave_the_schedule_alone() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    await rig.pass_(3 * MS)
    await rig.do(lambda: rig.end(1).answer(2, lambda stream: h2.rst(stream, h2.REFUSED_STREAM)))
    assert (rig.engine.issued, dict(rig.engine.retries), rig.engine.in_flight) == (4, {"refused": 2}, 4)
    await rig.do(lambda: rig.end(1).answer(4, lambda stream: h2.trailers_only(stream, 5)))
    assert (rig.engine.issued, dict(rig.tally.codes)) == (4, {Code.NOT_FOUND: 4})
    await rig.aclose()


async def test_a_deadline_counts_from_the_start_of_the_call() -> None:
    rig = Rig(paced(1000, timeout_s=0.05))
    await rig.begin(1)
    await rig.do(lambda: rig.end(1).answer(1))
    await rig.pass_(0.2)
    assert rig.engine.in_flight == 200
    await rig.do(lambda: rig.end(1).answer(200))
    assert (rig.tally.ok, rig.tally.errors) == (201, 0)
    await rig.aclose()


async def test_what_was_due_before_the_rate_changed_was_due_at_the_old_rate() -> None:
    rig = Rig(paced(1000))
    await rig.begin(1)
    rig.clock.advance(10 * MS)
    rig.loop.scale(0.5)
    assert rig.engine.issued == 11
    await rig.aclose()


async def test_a_timed_run_that_a_person_stops_has_dropped_nothing() -> None:
    rig = Rig(paced(1000, duration_s=10.0))
    await rig.begin(1)
    await rig.pass_(10 * MS)
    await rig.do(rig.loop.close)
    assert (rig.engine.issued, rig.loop.dropped) == (11, 0)
    await rig.aclose()


async def test_a_wait_for_a_slot_begins_when_the_call_was_started_not_when_it_was_due() -> None:
    rig = Rig(paced(1000, 3))
    rig.host(1).settings = {h2.MAX_CONCURRENT_STREAMS: 1}
    await rig.begin(1)
    await rig.pass_(0.5)  # two calls are late, and wait for the first
    rig.clock.advance(MS)
    rig.end(1).answer(1)
    rig.end(1).answer(1)
    assert rig.tally.waits["slot"].ns == 2_000_000
    assert rig.tally.wait.max_us == 500_000
    await rig.aclose()


async def test_the_rate_of_a_schedule_that_is_over_is_that_of_its_end() -> None:
    climbing = replace(paced(1, duration_s=1.0), schedule=Schedule((Stage(1.0, 0.0, 100.0),)))
    rig = Rig(climbing)
    assert rig.loop.rps == 0
    await rig.begin(1)
    await rig.pass_(0.5)
    assert rig.loop.rps == pytest.approx(50)
    rig.clock.advance(0.5)
    schedule(rig).finish()
    rig.clock.advance(3.0)  # calls in flight are waited for
    assert rig.loop.rps == pytest.approx(100)
    await rig.aclose()


async def test_the_rate_of_a_schedule_that_was_stopped_is_that_of_the_moment() -> None:
    rig = Rig(replace(paced(1, duration_s=1.0), schedule=Schedule((Stage(1.0, 0.0, 100.0),))))
    await rig.begin(1)
    await rig.pass_(0.25)
    schedule(rig).close()
    await rig.pass_(3.0)
    assert rig.loop.rps == pytest.approx(25)
    await rig.aclose()


async def test_a_backend_that_hangs_takes_nothing_from_the_rate_of_the_others() -> None:
    rig = Rig(paced(1000, timeout_s=0.02))
    await rig.begin(1, 2)
    for _ in range(100):
        await rig.pass_(MS)
        rig.end(1).answer(len(rig.end(1).waiting))
        rig.engine.expire(rig.clock.now_ns())
    well, hung = (lane.row for lane in rig.backends.lanes.values())
    assert (well.ok, well.errors, hung.ok) == (51, 0, 0)
    assert well.latency.max_us <= 1_000
    assert dict(hung.codes) == {Code.DEADLINE_EXCEEDED: hung.errors}
    assert hung.errors + rig.engine.in_flight == 50
    assert rig.engine.in_flight == 10  # every second call of the last 20 ms
    await rig.aclose()
