"""The event loop of commands that measure: uvloop where it is installed, asyncio's own elsewhere."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_fast(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return the result."""
    import asyncio

    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)
