"""Load reports beside calls (xds.service.orca.v3.OpenRcaService): a stream on which a server writes one at times."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError

from lbctl.model import Reply

if TYPE_CHECKING:  # a demo backend reads requests without ever making one
    from lbctl.rpc.caller import Caller
    from lbctl.wire.request import Headers

SERVICE: Final = "xds.service.orca.v3.OpenRcaService"
METHOD: Final = "StreamCoreMetrics"
STREAM_PATH: Final = f"/{SERVICE}/{METHOD}"


async def stream_core_metrics(
    caller: Caller, period_s: float, told: Callable[[bytes], None], metadata: Headers = ()
) -> Reply:
    """Have a backend report its load every so often, to ``told`` as it stands on the wire; returns how that ended.

    A server may keep to a longer period of its own; most do not go below 30 s unless they are told to.
    """
    return (await caller.follow(STREAM_PATH, request_of(period_s), told, metadata=metadata)).reply


def period_of(request: bytes) -> float:
    """The period in seconds that such a request asks for; 0 where it names none, or is malformed."""
    period = Duration()
    if request[:1] == b"\x0a":
        with suppress(DecodeError, IndexError):
            period = Duration.FromString(request[2 : 2 + request[1]])
    return period.ToNanoseconds() / 1e9


def request_of(period_s: float) -> bytes:
    """An OrcaLoadReportRequest: the period is its first field."""
    period = Duration()
    period.FromNanoseconds(round(period_s * 1e9))
    body = period.SerializeToString()
    return bytes((0x0A, len(body))) + body
