"""What tests of calls that are sent more than once share: one call, how a backend fails it, and how it takes much."""

from __future__ import annotations

from collections.abc import Callable

from lbctl.load.plan import Repeating
from tests.load.rig import Rig, plan
from tests.wire import frames as h2

MS = 1_000_000
PUSHBACK = "grpc-retry-pushback-ms"


def one_call(repeating: Repeating, *, timeout_s: float = 20.0, policy: str = "round_robin") -> Rig:
    return Rig(plan(1, 1, timeout_s=timeout_s), policy, repeating=repeating)


def failing(code: int, *fields: tuple[str, str]) -> Callable[[int], bytes]:
    return lambda stream: h2.trailers_only(stream, code, *fields)


unavailable = failing(14)


async def take_much(rig: Rig, number: int) -> None:
    """A backend lets a megabyte more come, on the connection and on its first stream."""
    await rig.do(lambda: rig.end(number).say(h2.window_update(0, 1 << 20), h2.window_update(1, 1 << 20)))
