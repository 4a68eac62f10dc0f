"""Calls that are sent several times at once: where their attempts are, how time passes, and what became of them."""

from __future__ import annotations

from collections.abc import Callable

from lbctl.balance.service_config import Throttling
from lbctl.balance.service_methods import HedgingPolicy
from lbctl.load.plan import Repeating
from lbctl.load.throttle import Allowance
from lbctl.model import Code
from tests.load.again import MS
from tests.load.rig import Rig
from tests.wire import frames as h2

HOSTS = (1, 2, 3)


def hedging(
    attempts: int = 3,
    delay_ms: int = 50,
    *,
    throttling: Throttling | None = None,
    budget: Allowance | None = None,
) -> Repeating:
    policy = HedgingPolicy(attempts, delay_ms * MS, frozenset({Code.UNAVAILABLE, Code.INTERNAL}))
    return Repeating(hedging=policy, throttling=throttling, budget=budget)


def seen(rig: Rig) -> int:
    """Attempts that reached a backend."""
    return sum(end.heads for host in rig.network.hosts.values() for end in host.ends)


def waiting(rig: Rig) -> list[int]:
    """Where attempts wait for their answer, in the order in which they were made."""
    found = [
        (end.previous[-1] or b"0", host.endpoint.port)
        for host in rig.network.hosts.values()
        for end in host.open
        if end.waiting
    ]
    return [number for _, number in sorted(found)]


def cancelled(rig: Rig) -> int:
    """Attempts that were reset."""
    return sum(len(end.cancelled) for host in rig.network.hosts.values() for end in host.ends)


async def at(rig: Rig, milliseconds: float) -> int:
    """Let time pass up to so long after the start, bit by bit; returns how many attempts there are then."""
    began = 1_000_000_000  # when a fake clock begins
    while rig.clock.now_ns() - began < milliseconds * MS:
        await rig.pass_(min(1 * MS, began + milliseconds * MS - rig.clock.now_ns()) / 1e9)
    return seen(rig)


async def answer(rig: Rig, number: int, how: Callable[[int], bytes] = h2.reply) -> None:
    await rig.do(lambda: rig.end(number).answer(1, how))


def outcome(rig: Rig) -> tuple[int, int, int, int]:
    """Calls that were OK and failed, further attempts, and those that were cancelled."""
    assert rig.attempts is not None
    return rig.tally.ok, rig.tally.errors, rig.attempts.counts.sent, rig.attempts.counts.cancelled


async def ended(rig: Rig) -> None:
    """The call has ended: nothing more is sent, and nothing is left anywhere."""
    assert rig.engine.in_flight == 0
    assert not waiting(rig)
    before = seen(rig)
    await rig.pass_(10.0)
    assert seen(rig) == before
    assert all(lane.peer.in_flight == 0 for lane in rig.backends.lanes.values())
    assert rig.idle
    await rig.aclose()
