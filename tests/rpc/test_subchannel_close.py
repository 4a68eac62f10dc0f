"""Closing always ends, whatever the transport below does not tell."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from lbctl.clock import SystemClock
from lbctl.model import Endpoint
from lbctl.rpc.dial import Dialled, Network
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import Secure
from lbctl.rpc.subchannel import Subchannel
from tests.fakes import turns
from tests.rpc.bench import REQUEST, Bench


class _MuteTransport(asyncio.Transport):
    """Closed below us as it came up: it will never report its loss, as uvloop's does when its opening is cancelled."""

    def write(self, data: Any) -> None: ...  # noqa: ANN401  # whatever asyncio calls bytes

    def close(self) -> None: ...

    def abort(self) -> None: ...

    def is_closing(self) -> bool:
        return True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default


async def test_a_connection_that_came_up_as_it_was_cancelled_does_not_keep_the_end_waiting() -> None:
    up = asyncio.Event()

    async def dial(endpoint: Endpoint, protocol: Dialled, secure: Secure | None = None) -> None:
        protocol.connection_made(_MuteTransport())
        up.set()
        await asyncio.Event().wait()

    subchannel = Subchannel(
        Endpoint("127.0.0.1", 1),
        REQUEST,
        Bench(),
        flusher=Flusher(),
        clock=SystemClock(),
        rng=Random(1),
        network=Network(dial=dial),
    )
    subchannel.connect()
    await up.wait()
    await turns()
    async with asyncio.timeout(5.0):
        await subchannel.aclose()
