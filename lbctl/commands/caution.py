"""A load that may hurt somebody is announced before it begins: much of it, and to backends that are elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Final

from lbctl.load.plan import Plan
from lbctl.model import Instance

SECONDS: Final = 3.0
_CONCURRENCY: Final = 500
_RPS: Final = 10_000.0
_UNLIMITED_S: Final = 300.0


def caution(plan: Plan, instances: Sequence[Instance], *, grows: bool = False) -> str:
    """What makes this load a large one, in the words of the flags; nothing if it is none, or stays on this machine.

    ``grows``: a search raises the rate of the plan until something gives way.
    """
    away = [instance.address for instance in instances if not _is_here(instance.endpoint.host)]
    why = "more and more calls/s until what --find-max asks for does not hold," if grows else _why(plan)
    if not away or not why:
        return ""
    rest = f" and {len(away) - 1:,} more" if len(away) > 1 else ""
    return f"{why} on {away[0]}{rest}"


def _why(plan: Plan) -> str:
    if plan.schedule is not None:
        stages = plan.schedule.stages
        peak = max((max(stage.first, stage.last) for stage in stages), default=0.0)
        return f"up to {peak:,.0f} calls/s" if peak > _RPS else ""
    if plan.concurrency > _CONCURRENCY:
        return f"{plan.concurrency:,} calls in flight"
    if plan.requests is None and (plan.duration_s or 0.0) > _UNLIMITED_S:
        return f"as many calls as it takes, for {plan.duration_s:,.0f}s,"
    return ""


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


async def hesitate(words: str, say: Callable[[str], None], *, waits: bool) -> None:
    """Announce the load; on a terminal it begins a moment later, so that whoever did not mean it can stop it."""
    if not words:
        return
    if not waits:
        say(f"warning: {words}")
        return
    say(f"warning: {words}; begins in {SECONDS:.0f}s, Ctrl-C stops it, -y does not wait")
    await asyncio.sleep(SECONDS)
