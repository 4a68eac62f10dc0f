"""The grpc.aio channel of the cold path: reflection and health, one plaintext connection to one address."""

from __future__ import annotations

import asyncio
import ipaddress
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from lbctl import __version__
from lbctl.model import Endpoint
from lbctl.rpc.probe import CLOSED, Kind, Obstacle, probe, silent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import ModuleType

    import grpc.aio

MAX_MESSAGE: Final = 64 * 1024 * 1024
MAX_TEXT: Final = 200
# Below this a probe could only repeat that time ran out.
MIN_PROBE_S: Final = 0.05


def load_grpc() -> ModuleType:
    """Import grpc, which takes a while, only when something is called; lbctl.rpc has settled how it behaves."""
    import grpc.aio

    module: ModuleType = grpc  # typed, whether or not stubs for grpc are installed
    return module


def open_channel(endpoint: Endpoint) -> grpc.aio.Channel:
    """Make an idle channel with a connection of its own; the caller closes it."""
    authority = Endpoint(endpoint.host.partition("%")[0], endpoint.port)  # an IPv6 zone means nothing elsewhere
    options = [
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.service_config_disable_resolution", 1),
        ("grpc.enable_retries", 0),
        ("grpc.max_receive_message_length", MAX_MESSAGE),
        ("grpc.default_authority", str(authority)),
        ("grpc.primary_user_agent", f"lbctl/{__version__}"),
    ]
    channel: grpc.aio.Channel = load_grpc().aio.insecure_channel(target(endpoint), options=options)
    return channel


@asynccontextmanager
async def channel_to(endpoint: Endpoint) -> AsyncIterator[grpc.aio.Channel]:
    """Lend a channel for a block and close it afterwards, whatever happens."""
    channel = open_channel(endpoint)
    try:
        yield channel
    finally:
        await channel.close(None)


async def connect(channel: grpc.aio.Channel, endpoint: Endpoint, timeout_s: float) -> Obstacle | None:
    """Bring a channel's connection up; where that fails, say what stands at the address."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    try:
        async with asyncio.timeout_at(deadline):
            if await _becomes_ready(channel):
                return None
    except TimeoutError:
        return silent(timeout_s)
    return await diagnose(endpoint, timeout_s, deadline) or CLOSED


async def diagnose(endpoint: Endpoint, timeout_s: float, deadline: float) -> Obstacle | None:
    """Probe an address in what is left of a time limit; running out of it is said of the whole limit."""
    left = deadline - asyncio.get_running_loop().time()
    found = await probe(endpoint, max(left, MIN_PROBE_S))
    return silent(timeout_s) if found is not None and found.kind is Kind.TIMEOUT else found


async def _becomes_ready(channel: grpc.aio.Channel) -> bool:
    states = load_grpc().ChannelConnectivity
    while (state := channel.get_state(try_to_connect=True)) is not states.READY:
        if state in (states.TRANSIENT_FAILURE, states.SHUTDOWN):
            return False
        await channel.wait_for_state_change(state)
    return True


def target(endpoint: Endpoint) -> str:
    """Spell an endpoint as a gRPC target whose scheme the registry cannot choose."""
    try:
        version = ipaddress.ip_address(endpoint.host).version
    except ValueError:
        return f"dns:///{quote(endpoint.host, safe='')}:{endpoint.port}"
    return f"ipv{version}:{quote(str(endpoint), safe=':[]')}"


def printable(text: str, limit: int = MAX_TEXT) -> str:
    """Make one line of a text from the network that cannot move the cursor or change colours."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in " ".join(text[: limit * 2].split()))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
