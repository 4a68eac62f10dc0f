"""The health of every backend, asked once by grpc.health.v1."""

from __future__ import annotations

from collections.abc import Mapping

from lbctl.doctor.case import Case
from lbctl.model import Endpoint
from lbctl.rpc.health import Health, Status, check_all


async def health(case: Case) -> Mapping[Endpoint, Health]:
    """What every address says of itself, or why it does not; one that took too long is asked once more.

    The first time everything is asked at once, and a machine that has much to do may be what was slow.
    """
    ways = case.ways
    found = await check_all(ways, timeout_s=case.order.timeout_s)
    late = {endpoint: ways[endpoint] for endpoint, seen in found.items() if seen.status is Status.TIMEOUT}
    return {**found, **await check_all(late, timeout_s=case.order.timeout_s)} if late else found


async def reachable(case: Case) -> tuple[Endpoint, ...]:
    """The addresses where a gRPC server answered."""
    return tuple(endpoint for endpoint, found in (await case.once(health)).items() if found.rtt_s is not None)
