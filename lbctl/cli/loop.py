"""The event loop of commands; of those that measure it is uvloop where that is installed, asyncio's own elsewhere.

The engine works in callbacks, and a loop only reports what they raise. A bug there would leave calls that never end, so
it ends the run.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")


def run_fast(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return the result; raises what a callback raised meanwhile, unless it is an OSError."""
    import asyncio

    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(_watched(work))
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_watched(work))


def run_plain(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on asyncio's own loop and return the result.

    asyncio spells its task on the way out, the result included, and for that of a big registry takes a tenth of a
    second: here the task has none.
    """
    import asyncio

    results: list[T] = []

    async def leave_it_here() -> None:
        results.append(await work)

    asyncio.run(leave_it_here())
    return results[0]


async def _watched(work: Coroutine[Any, Any, T]) -> T:
    import asyncio

    task = asyncio.current_task()
    raised: list[Exception] = []

    def note(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        # A connection may break in ways that a loop thinks worth a report; what a future holds is its owner's business.
        if task is None or isinstance(error, OSError) or not isinstance(error, Exception) or "future" in context:
            loop.default_exception_handler(context)
            return
        raised.append(error)
        if len(raised) == 1:
            task.cancel()

    asyncio.get_running_loop().set_exception_handler(note)
    try:
        result = await work
    except (asyncio.CancelledError, Exception):
        if raised:
            raise raised[0] from None
        raise
    if raised:
        raise raised[0]
    return result
