"""The health of every backend, asked once by grpc.health.v1."""

from __future__ import annotations

from collections.abc import Mapping

from lbctl.doctor.case import Case
from lbctl.model import Endpoint
from lbctl.rpc.health import Health, check_all


async def health(case: Case) -> Mapping[Endpoint, Health]:
    """What every address says of itself, or why it does not."""
    return await check_all(case.ways, timeout_s=case.order.timeout_s)


async def reachable(case: Case) -> tuple[Endpoint, ...]:
    """The addresses where a gRPC server answered."""
    return tuple(endpoint for endpoint, found in (await case.once(health)).items() if found.rtt_s is not None)
