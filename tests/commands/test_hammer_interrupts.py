"""Signals as a run hears them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lbctl.commands.signals import Interrupts


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def heard(interrupts: Interrupts, number: signal.Signals) -> None:
    """Send this process a signal, and let the event loop see it."""
    os.kill(os.getpid(), number)
    for _ in range(100):
        if interrupts.first is not None:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{number.name} was not heard")


async def test_the_first_signal_stops_and_the_second_aborts() -> None:
    did: list[str] = []
    aborted = asyncio.Event()

    def abort() -> None:
        did.append("abort")
        aborted.set()

    with Interrupts() as interrupts:
        interrupts.mean(lambda: did.append("stop"), abort)
        await heard(interrupts, signal.SIGTERM)
        assert did == ["stop"]
        os.kill(os.getpid(), signal.SIGINT)
        async with asyncio.timeout(5):
            await aborted.wait()
    assert did == ["stop", "abort"]
    assert interrupts.first == signal.SIGTERM


async def test_what_a_signal_means_may_change() -> None:
    did: list[str] = []
    with Interrupts() as interrupts:
        interrupts.mean(lambda: did.append("first"))
        interrupts.mean(lambda: did.append("then"))
        await heard(interrupts, signal.SIGINT)
    assert did == ["then"]


async def test_without_a_meaning_a_signal_is_only_remembered() -> None:
    with Interrupts() as interrupts:
        await heard(interrupts, signal.SIGHUP)
    assert interrupts.first == signal.SIGHUP


async def test_a_signal_that_was_ignored_before_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert interrupts.first is None
    finally:
        signal.signal(signal.SIGHUP, before)


THREE = """
import asyncio, os, signal
from lbctl.commands.signals import Interrupts

async def main():
    with Interrupts() as interrupts:
        interrupts.mean(lambda: os.kill(os.getpid(), signal.SIGTERM), lambda: os.kill(os.getpid(), signal.SIGINT))
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.e2e
def test_the_third_signal_ends_the_process_whatever_it_waits_for() -> None:
    done = subprocess.run([sys.executable, "-c", THREE], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, b"", b"")


AFTERWARDS = """
import asyncio, os, signal
from lbctl.commands.signals import Interrupts

async def main():
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        while interrupts.first is None:
            await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGINT)  # somebody pressed twice, and nothing was in flight
    await asyncio.sleep(0)
    return "the result"

print(asyncio.run(main()), flush=True)
os.kill(os.getpid(), signal.SIGINT)
print("still there")
"""


@pytest.mark.e2e
def test_a_second_signal_that_comes_while_the_result_is_written_does_not_lose_it_and_a_third_insists() -> None:
    done = subprocess.run([sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "the result\n", "")
