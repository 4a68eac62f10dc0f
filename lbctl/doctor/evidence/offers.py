"""What every backend that answers offers, asked by server reflection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.health import reachable
from lbctl.model import Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.schemas.offers import offered

_AT_ONCE: Final = 32


async def offers(case: Case) -> Mapping[Endpoint, tuple[str, ...] | None]:
    """The gRPC services of every address that answers; None where it does not tell."""
    slots, ways = asyncio.Semaphore(_AT_ONCE), case.ways

    async def ask(endpoint: Endpoint, access: Access) -> tuple[str, ...] | None:
        async with slots:
            return await offered(endpoint, access, timeout_s=case.order.timeout_s)

    asked = await case.once(reachable)
    answers = await asyncio.gather(*(ask(endpoint, ways[endpoint]) for endpoint in asked))
    return dict(zip(asked, answers, strict=True))
