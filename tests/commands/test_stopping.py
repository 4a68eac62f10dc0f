"""A command that is stopped by a signal, and stopped again while it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lbctl.commands.stopping import Stopping, insisted, status_after

# In a process of its own: one with more threads has its signals where they are not held up.
_TWICE = """
import asyncio, os, signal
from lbctl.commands.signals import Interrupts

async def twice():
    stopped = asyncio.Event()
    interrupts = Interrupts()
    interrupts.callback(os.kill, os.getpid(), signal.SIGINT)  # after the handlers are taken away
    interrupts.mean(stopped.set)
    with interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(stopped.wait(), 5.0)
    print(signal.Signals(interrupts.first).name, interrupts._heard)

asyncio.run(twice())
"""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def kept_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
async def test_after_the_first_signal_the_next_one_ends_the_process_without_a_traceback(number: signal.Signals) -> None:
    stopped = asyncio.Event()
    with Stopping(stopped.set) as stopping:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stopped.wait(), 5.0)
    assert [signal.getsignal(each) for each in SIGNALS] == [insisted] * 3
    assert stopping.first == number
    assert status_after(stopping.first) == (129 if number == signal.SIGHUP else 0)


async def test_whoever_was_not_stopped_leaves_signals_as_they_are() -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with Stopping(lambda: None) as stopping:
        assert [signal.getsignal(each) for each in SIGNALS] != before
    assert [signal.getsignal(each) for each in SIGNALS] == before
    assert status_after(stopping.first) == 0


async def test_a_signal_that_is_to_be_ignored_is_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopped = asyncio.Event()
    with Stopping(stopped.set):
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0)
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert not stopped.is_set()


def test_a_second_signal_between_two_handlers_is_counted_by_the_later_one() -> None:
    """It would else meet Python's own handler, and end a run that has a result to show."""
    done = subprocess.run([sys.executable, "-c", _TWICE], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, "SIGINT 2\n"), done.stderr
