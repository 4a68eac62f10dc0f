"""LB104: the clock of an etcd member is not ours, by the Date header of its HTTP answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.cluster import cluster
from lbctl.doctor.finding import Check, Level, Scope, Symptom
from lbctl.etcd.http_date import server_time

LIMIT_S: Final = 2.0
_RESOLUTION_S: Final = 1.0  # the header has whole seconds


async def examine(case: Case) -> Sequence[Symptom]:
    """Ask every member for the time; one that does not tell has no finding."""
    answering = [seen.endpoint for seen in (await case.once(cluster)).seen if seen.status is not None]
    skews = await asyncio.gather(*(_skew_s(case, endpoint) for endpoint in answering))
    return [
        _symptom(case, endpoint, skew) for endpoint, skew in zip(answering, skews, strict=True) if abs(skew) > LIMIT_S
    ]


def _symptom(case: Case, endpoint: str, skew: float) -> Symptom:
    what = f"its clock is {abs(skew):.0f}s {'ahead of' if skew > 0 else 'behind'} this machine's"
    return Symptom(what, endpoint, command=f"{case.order.tools.head(endpoint, '/version')}; date -u")


async def _skew_s(case: Case, endpoint: str) -> float:
    """By how much a member's clock is ahead at least; 0 where that may be nothing, or is not known."""
    sent = case.clock.wall()
    told = await server_time(case.etcd.session.config, endpoint, case.order.timeout_s)
    came = case.clock.wall()
    if told is None:
        return 0.0
    least, most = (told - came).total_seconds(), (told - sent).total_seconds() + _RESOLUTION_S
    return least if least > 0 else min(most, 0.0)


CHECK = Check(
    "LB104",
    "clock skew",
    Level.WARN,
    why="Tokens and certificates are judged by the clock, and logs of both sides cannot be put side by side.",
    fix="let both machines follow the same time servers (chrony, systemd-timesyncd)",
    examine=examine,
    scope=Scope.MEMBERS,
)
