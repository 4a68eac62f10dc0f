"""Calls that a policy sends again: how each is answered, how its delay passes, and what became of it."""

from __future__ import annotations

from collections.abc import Callable

from lbctl.balance.service_config import Throttling
from lbctl.balance.service_methods import RetryPolicy
from lbctl.load.plan import Repeating
from lbctl.load.throttle import Allowance
from lbctl.model import Code
from tests.load.again import MS
from tests.load.rig import Rig
from tests.wire import frames as h2


def retrying(
    attempts: int = 3,
    *codes: Code,
    initial_ms: int = 100,
    throttling: Throttling | None = None,
    budget: Allowance | None = None,
) -> Repeating:
    wanted = frozenset(codes or (Code.UNAVAILABLE,))
    policy = RetryPolicy(attempts, initial_ms * MS, 1000 * MS, 2.0, wanted)
    return Repeating(retry=policy, throttling=throttling, budget=budget)


def counts(rig: Rig) -> tuple[int, int, int, int]:
    """Calls that were OK and failed, further attempts, and calls that wait."""
    assert rig.attempts is not None
    return rig.tally.ok, rig.tally.errors, rig.attempts.counts.sent, len(rig.attempts.held)


async def answer(rig: Rig, how: Callable[[int], bytes] = h2.reply) -> int:
    """Answer the one request that is anywhere; returns where it was."""
    (number,) = (host.endpoint.port for host in rig.network.hosts.values() if any(end.waiting for end in host.open))
    await rig.do(lambda: rig.end(number).answer(1, how))
    return number


async def wait_out(rig: Rig) -> float:
    """Let the time pass until the next attempt; returns how long that was, in milliseconds."""
    assert rig.ring.due_ns is not None
    left_ns = rig.ring.due_ns - rig.clock.now_ns()
    await rig.pass_((left_ns - 1) / 1e9)
    assert counts(rig)[3] == 1
    await rig.pass_(1e-9)
    return left_ns / MS
