"""A tap by itself, in front of a backend that cannot be reached."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket

import pytest

from lbctl.model import Endpoint
from lbctl.rpc.dial import Dialled, Network
from lbctl.rpc.grpcio.tap import Tap
from lbctl.rpc.options import ConnectionOptions, Secure

NOWHERE = Endpoint("127.0.0.1", 1)


class Nobody:
    """A watcher that is not interested."""

    def saw(self, tap: Tap, number: int) -> None:
        """A call."""

    def moved(self, tap: Tap) -> None:
        """A state."""


@pytest.mark.parametrize("turns", range(5))
async def test_whoever_connects_while_a_tap_closes_is_hung_up_on_and_nobody_is_dialled_afterwards(turns: int) -> None:
    dialled: list[Endpoint] = []

    async def dial(endpoint: Endpoint, protocol: Dialled, secure: Secure | None = None) -> None:
        dialled.append(endpoint)
        await asyncio.Event().wait()

    tap = Tap(NOWHERE, None, ConnectionOptions(), Network(dial), Nobody())
    tap.open()
    with socket.create_connection(("127.0.0.1", tap.port)) as connection:
        for _ in range(turns):
            await asyncio.sleep(0)
        await tap.aclose()
        before = list(dialled)
        connection.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()  # an open socket would be a warning here, and warnings are errors
    assert (dialled, tap.sockets) == (before, 0)
