"""gRPC channels to one etcd endpoint; every option stands for a failure that happened without it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import grpc
import grpc.aio

from lbctl.etcd.config import EtcdConfig, read_file
from lbctl.etcd.failures import SessionClosed
from lbctl.etcd.pinning import Pin
from lbctl.etcd.stubs import Message, rpc

_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")

Metadata = tuple[tuple[str, str], ...]

_UNLIMITED = -1  # a watch that catches up sends more than 4 MiB in one message
_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),  # the default leaves calls failing for 15 s after an outage
    ("grpc.min_reconnect_backoff_ms", 5_000),  # this one is the connect timeout
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # watches and calls do not share a TCP connection
)


class Stream(Protocol):
    """What is used of grpc.aio's bidirectional call; reading gives ``grpc.aio.EOF`` at its end."""

    async def write(self, request: Message) -> None: ...

    async def read(self) -> Message: ...

    def cancel(self) -> bool: ...

    def done(self) -> bool: ...


class Channel:
    """One connection to one endpoint, with the stubs lbctl uses."""

    def __init__(
        self, config: EtcdConfig, endpoint: str, max_message: int = _UNLIMITED, pin: Pin | None = None
    ) -> None:
        self.endpoint = endpoint
        self._channel = _open(config, endpoint, max_message, pin)
        self._streams: list[Stream] = []
        self.closed = asyncio.Event()
        self.kv = rpc.KVStub(self._channel)
        self.lease = rpc.LeaseStub(self._channel)
        self.watch = rpc.WatchStub(self._channel)
        self.auth = rpc.AuthStub(self._channel)
        self.maintenance = rpc.MaintenanceStub(self._channel)
        self.cluster = rpc.ClusterStub(self._channel)

    @property
    def connected(self) -> bool:
        ready: bool = self._channel.get_state() is grpc.ChannelConnectivity.READY
        return ready

    def check_open(self) -> None:
        if self.closed.is_set():
            raise SessionClosed("the etcd session is closed")

    def stream(self, method: Callable[[Channel], Any], metadata: Metadata) -> Stream:
        """Start a bidirectional stream that ends with this channel."""
        self.check_open()
        call: Stream = method(self)(metadata=metadata)
        self._streams.append(call)
        return call

    async def close(self) -> None:
        """End every stream and close the connection."""
        self.closed.set()
        for call in self._streams:
            call.cancel()
        await self._channel.close(None)


def _open(config: EtcdConfig, endpoint: str, max_message: int, pin: Pin | None) -> grpc.aio.Channel:
    options: list[tuple[str, Any]] = [*_OPTIONS, *_keepalive(config), ("grpc.max_receive_message_length", max_message)]
    if not config.secure:
        return grpc.aio.insecure_channel(endpoint, options)
    name = pin.name if pin else config.server_name
    if name:
        options.append(("grpc.ssl_target_name_override", name))
    trusted = pin.certificate if pin else read_file(config.cacert or _authorities())
    credentials = grpc.ssl_channel_credentials(trusted, read_file(config.key), read_file(config.cert))
    return grpc.aio.secure_channel(endpoint, credentials, options)


def _authorities() -> str | None:
    """Name the file of those whom this system trusts (or SSL_CERT_FILE); None: gRPC has some of its own."""
    named = (ssl.get_default_verify_paths().cafile, *_BUNDLES)
    return next((name for name in named if name and Path(name).is_file()), None)


def _keepalive(config: EtcdConfig) -> tuple[tuple[str, int], ...]:
    """Ask after silence, and only while something is under way: etcd cuts clients that ask when idle, or too often."""
    timeout_ms = round(config.keepalive_timeout_s * 1e3)
    return (
        ("grpc.keepalive_time_ms", round(config.keepalive_s * 1e3)),
        ("grpc.keepalive_timeout_ms", timeout_ms),
        ("grpc.http2.ping_timeout_ms", timeout_ms),  # without it a dead peer is noticed after 70 s instead of 15 s
    )
