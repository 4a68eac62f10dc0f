"""Waiting for a condition with a bound, and looking at processes from outside."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

PATIENCE_S = 20.0


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Return as soon as the condition holds; fail the test when it never does."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await holds():  # noqa: ASYNC110 - what happens in other processes sets no Event here
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"never happened: {what}") from None


def eventually(holds: Callable[[], bool], what: str) -> None:
    """The same for tests without an event loop."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether the process exists and is not a corpse that its parent has yet to see."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def listens(endpoint: str) -> bool:
    """Whether anything accepts connections there."""
    host, _, port = endpoint.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0
