"""What an attempt to connect leaves behind when it fails: nothing."""

from __future__ import annotations

import gc
import socket

import pytest

from lbctl.model import Endpoint
from lbctl.rpc.dial import dial_socket
from lbctl.rpc.options import Secure
from lbctl.rpc.tls import Credentials, TlsOptions
from tests.rpc.tls_servers import CA, context, serving, settings_only


class Nobody:
    """Is never told of a connection."""

    stage = ""


async def garbage_of(endpoint: Endpoint, secure: Secure | None, attempts: int) -> int:
    """Objects that only the collector would find after so many failed attempts."""

    async def fail() -> None:
        with pytest.raises(OSError, match=r"."):
            await dial_socket(endpoint, Nobody(), secure)  # type: ignore[arg-type]  # it never gets that far

    await fail()
    gc.collect()
    gc.disable()
    try:
        for _ in range(attempts):
            await fail()
        return gc.collect()
    finally:
        gc.enable()


async def test_a_refused_connection_leaves_no_cycles_for_the_collector() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert await garbage_of(Endpoint(*bound.getsockname()), None, 20) < 20


async def test_a_failed_handshake_leaves_no_cycles_for_the_collector() -> None:
    with serving(context("other"), settings_only) as endpoint:
        secure = Credentials(TlsOptions(ca=CA)).secure("127.0.0.1")
        assert await garbage_of(endpoint, secure, 5) < 5
