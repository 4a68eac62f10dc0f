"""The time of a run."""

from __future__ import annotations

from lbctl.load.stopwatch import Stopwatch
from tests.fakes import FakeClock


def running() -> tuple[FakeClock, Stopwatch]:
    clock = FakeClock()
    stopwatch = Stopwatch(clock)
    stopwatch.start()
    clock.advance(1.0)
    return clock, stopwatch


def test_before_its_start_nothing_moves_it() -> None:
    stopwatch = Stopwatch(FakeClock())
    stopwatch.pause()
    stopwatch.stop()
    stopwatch.resume()
    assert (stopwatch.began, stopwatch.was_paused, stopwatch.elapsed_s()) == (False, False, 0.0)


def test_pauses_are_left_out_and_add_up() -> None:
    clock, stopwatch = running()
    for _ in range(2):
        stopwatch.pause()
        clock.advance(5.0)
        assert stopwatch.was_paused
        stopwatch.resume()
        clock.advance(0.5)
    assert stopwatch.elapsed_s() == 2.0
    assert stopwatch.was_paused


def test_a_second_pause_or_resume_changes_nothing() -> None:
    clock, stopwatch = running()
    stopwatch.pause()
    clock.advance(5.0)
    stopwatch.pause()
    assert stopwatch.elapsed_s() == 1.0
    stopwatch.resume()
    clock.advance(1.0)
    stopwatch.resume()
    assert stopwatch.elapsed_s() == 2.0


def test_once_stopped_it_stands_still_for_ever() -> None:
    clock, stopwatch = running()
    stopwatch.stop()
    clock.advance(5.0)
    stopwatch.stop()
    stopwatch.pause()
    clock.advance(5.0)
    stopwatch.resume()
    assert (stopwatch.elapsed_s(), stopwatch.was_paused) == (1.0, False)


def test_stopped_during_a_pause_it_has_the_time_of_before() -> None:
    clock, stopwatch = running()
    stopwatch.pause()
    clock.advance(5.0)
    stopwatch.stop()
    clock.advance(5.0)
    assert stopwatch.elapsed_s() == 1.0
