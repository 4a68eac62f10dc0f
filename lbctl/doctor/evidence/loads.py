"""What every backend that answers says of its load, asked once by OpenRcaService."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from lbctl.balance.load_report import LoadReport, decoded
from lbctl.doctor.case import Case
from lbctl.doctor.evidence.health import reachable
from lbctl.model import Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.orca import stream_core_metrics

_PERIOD_S: Final = 1.0  # only the first report is read
_AT_ONCE: Final = 32


async def loads(case: Case) -> Mapping[Endpoint, LoadReport]:
    """The first load report of every address that sends one in time."""
    slots, ways = asyncio.Semaphore(_AT_ONCE), case.ways

    async def ask(endpoint: Endpoint, access: Access) -> LoadReport | None:
        async with slots:
            return await _first_report(endpoint, access, case.order.timeout_s)

    asked = await case.once(reachable)
    reports = await asyncio.gather(*(ask(endpoint, ways[endpoint]) for endpoint in asked))
    return {endpoint: report for endpoint, report in zip(asked, reports, strict=True) if report is not None}


async def _first_report(endpoint: Endpoint, access: Access, timeout_s: float) -> LoadReport | None:
    """One report, or None where the stream ends or is silent instead."""
    came: asyncio.Future[LoadReport | None] = asyncio.get_running_loop().create_future()

    def take(data: bytes) -> None:
        if not came.done():
            came.set_result(decoded(data))

    async with access.caller(endpoint) as caller:
        stream = asyncio.create_task(stream_core_metrics(caller, _PERIOD_S, take, access.metadata))
        try:
            ends: set[asyncio.Future[Any]] = {stream, came}
            await asyncio.wait(ends, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stream.cancel()
            await asyncio.gather(stream, return_exceptions=True)
    return came.result() if came.done() else None
