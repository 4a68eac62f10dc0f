"""The generator's own health."""

from __future__ import annotations

import os

from lbctl.load.machine import Vitals
from lbctl.load.pulse import Pulse
from lbctl.stats.histogram import Histogram
from tests.fakes import FakeClock, timers, until


def latency(*us: int) -> Histogram:
    histogram = Histogram()
    for each in us:
        histogram.record(each)
    return histogram


async def test_a_pulse_that_was_never_started_has_nothing_to_say() -> None:
    generator = Pulse(FakeClock()).generator("wire", latency())
    assert (generator.engine, generator.cpu_s, generator.busy, generator.lag_p99_ms) == ("wire", 0.0, 0.0, 0.0)
    assert generator.warnings == ()


async def test_busy_is_cpu_time_by_elapsed_time_from_start_to_stop() -> None:
    clock = FakeClock()
    pulse = Pulse(clock)
    clock.advance(7.0, cpu_s=5.0)
    pulse.start()
    clock.advance(2.0, cpu_s=0.5)
    assert pulse.generator("wire", latency()).busy == 0.25
    pulse.stop()
    clock.advance(2.0, cpu_s=2.0)
    generator = pulse.generator("wire", latency())
    assert (generator.cpu_s, generator.busy) == (0.5, 0.25)


async def test_a_busy_generator_warns_that_its_figures_are_bounds() -> None:
    clock = FakeClock()
    pulse = Pulse(clock)
    pulse.start()
    clock.advance(1.0, cpu_s=1.2)  # several threads
    pulse.stop()
    generator = pulse.generator("wire", latency())
    assert generator.busy == 1.0
    assert generator.warnings == (
        "client-limited, the generator was 100% busy: throughput is a lower bound, latency an upper one;"
        " several lbctl on as many CPUs put on more",
    )


async def test_a_late_loop_warns_unless_calls_take_far_longer_than_that() -> None:
    clock = FakeClock()
    pulse = Pulse(clock)
    pulse.start()
    clock.advance(0.020 + 0.015)
    await until(lambda: pulse._lag.total)
    pulse.stop()
    short, long = pulse.generator("wire", latency(1_000)), pulse.generator("wire", latency(100_000))
    assert abs(short.lag_p99_ms - 15.0) < 0.1
    assert short.warnings == ("the event loop was 15ms late at p99: latencies include that",)
    assert long.warnings == ()


async def test_what_went_on_around_it_is_told_once_it_has_ended() -> None:
    cpus = os.cpu_count() or 1
    readings = iter([Vitals(), Vitals(100.0, 99.0), Vitals(100.0 + 10 * cpus, 99.0 + 10 * cpus, own_s=cpus)])
    pulse = Pulse(FakeClock(), readings.__next__)
    pulse.start()
    pulse.restart()  # the warm-up is over
    assert pulse.generator("wire", latency()).machine is None
    pulse.stop()
    generator = pulse.generator("wire", latency())
    assert generator.machine is not None
    assert (generator.machine.busy, generator.machine.others) == (1.0, 0.9)
    assert [each.split(":")[0] for each in generator.warnings] == [
        "this machine's CPUs were 100% busy, 90% with other processes"
    ]


async def test_the_beat_goes_on_until_it_is_stopped() -> None:
    clock = FakeClock()
    pulse = Pulse(clock)
    pulse.start()
    await until(lambda: pulse._lag.total >= 2)
    pulse.stop()
    assert not timers()
