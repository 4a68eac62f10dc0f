"""Load reports beside calls (xds.service.orca.v3.OpenRcaService): a stream on which a server writes one at times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from google.protobuf.duration_pb2 import Duration

from lbctl.model import Reply
from lbctl.rpc.caller import Caller
from lbctl.wire.request import Headers

STREAM_PATH: Final = "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics"


async def stream_core_metrics(
    caller: Caller, period_s: float, told: Callable[[bytes], None], metadata: Headers = ()
) -> Reply:
    """Have a backend report its load every so often, to ``told`` as it stands on the wire; returns how that ended.

    A server may keep to a longer period of its own; most do not go below 30 s unless they are told to.
    """
    return (await caller.follow(STREAM_PATH, request_of(period_s), told, metadata=metadata)).reply


def request_of(period_s: float) -> bytes:
    """An OrcaLoadReportRequest: the period is its first field."""
    period = Duration()
    period.FromNanoseconds(round(period_s * 1e9))
    body = period.SerializeToString()
    return bytes((0x0A, len(body))) + body
