"""A command that is stopped by a signal, and stopped again while it ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from lbctl.commands.stopping import stopped_by_signals


@pytest.fixture(autouse=True)
def kept_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_after_the_first_signal_the_next_one_ends_the_process_without_a_traceback(number: signal.Signals) -> None:
    stopped = asyncio.Event()
    with stopped_by_signals(stopped.set):
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stopped.wait(), 5.0)
    assert signal.getsignal(signal.SIGINT) == signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


async def test_whoever_was_not_stopped_leaves_signals_as_they_are() -> None:
    with stopped_by_signals(lambda: None):
        pass
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


async def test_a_signal_that_is_to_be_ignored_is_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopped = asyncio.Event()
    with stopped_by_signals(stopped.set):
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0)
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert not stopped.is_set()
