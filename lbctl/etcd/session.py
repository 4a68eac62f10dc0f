"""Unary calls on an etcd cluster: deadline, retry, endpoint rotation, log-in; nothing about keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import grpc

from lbctl.errors import RegistryError
from lbctl.etcd.backoff import Backoff
from lbctl.etcd.channel import Channel, Metadata
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.failures import Kind, SessionClosed, kind_of, reason_of, refused, unreachable
from lbctl.etcd.pinning import Pin, shown_by
from lbctl.etcd.stubs import Message, pb

Method = Callable[[Channel], Any]

_MIN_TRY_S = 0.05
_NO_ANSWER = "connected, but the request timed out; has the cluster a leader?"


class _NoConnection(grpc.RpcError):  # type: ignore[misc]  # its stubs do not know it
    """No connection came about in time, so nothing was sent."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.DEADLINE_EXCEEDED

    def details(self) -> str:
        return "deadline exceeded"


class Deadlines:
    """When one call gives up: sooner while there is no connection, later while etcd is at work."""

    def __init__(self, config: EtcdConfig, now: float) -> None:
        self._dial_timeout = config.dial_timeout_s
        self._command = now + config.command_timeout_s
        self.dial_from(now)

    def dial_from(self, now: float) -> None:
        """Begin to look for a connection."""
        self._dial = min(now + self._dial_timeout, self._command)

    def left(self, now: float, *, connected: bool) -> float:
        return (self._command if connected else self._dial) - now


class Session:
    """The connections of one :class:`EtcdConfig`; closes everything it opened."""

    def __init__(self, config: EtcdConfig, rng: Random) -> None:
        self.config = config
        self.rng = rng
        self.closed = False
        self.answered = False  # at least once, whichever endpoint
        self._at = 0
        self._unary: dict[str, Channel] = {}
        self._streams: set[Channel] = set()
        self._pins: dict[str, Pin] = {}
        self._token: str | None = None
        self._login = asyncio.Lock()

    @property
    def endpoint(self) -> str:
        """The endpoint that unary calls use now."""
        return self.config.endpoints[self._at]

    async def call(self, method: Method, request: Message, *, repeatable: bool) -> Message:
        """Make one call and return the reply, or raise a RegistryError that says what happened.

        A call that is not ``repeatable`` is only tried again when the first try surely never left.
        """
        clock = asyncio.get_running_loop().time
        deadlines, backoff = Deadlines(self.config, clock()), Backoff(self.rng, 0.05, 0.5)
        may_log_in = self.config.user is not None
        while True:
            await self.learn_certificate(self.endpoint)
            channel = self._channel()
            connected = channel.connected
            try:
                return await self._try(channel, method, request, deadlines)
            except grpc.RpcError as error:
                kind, failure = kind_of(error), error
            connected = connected or channel.connected
            at_work = kind is Kind.BUSY or (kind is Kind.TIMEOUT and channel.connected)
            if at_work:
                deadlines.dial_from(clock())  # there was a connection: finding another one is a new search
            if kind is Kind.STALE_TOKEN and may_log_in:
                may_log_in = False
                continue
            if not _may_repeat(kind, repeatable=repeatable):
                raise self._explain(kind, failure, channel.endpoint, connected=connected) from failure
            self._rotate(channel)  # also away from a member that says it has no leader: others may have one
            pause = backoff.next()
            if deadlines.left(clock(), connected=False) < pause + _MIN_TRY_S:
                raise self._explain(kind, failure, channel.endpoint, connected=connected) from failure
            await asyncio.sleep(pause)

    async def credentials(self, channel: Channel, timeout_s: float) -> Metadata:
        """Return the metadata that proves who we are; logs in on first use, through ``channel``."""
        if self.config.user is None:
            return ()
        async with self._login:
            if self._token is None:
                request = pb.AuthenticateRequest(name=self.config.user, password=self.config.password or "")
                reply = await channel.auth.Authenticate(request, timeout=timeout_s)
                self._token = str(reply.token)
            return (("token", self._token),)

    def forget_credentials(self, refused: Metadata | None = None) -> None:
        """Log in again at the next use, unless that has been done since ``refused`` was given out."""
        if refused is None or refused == (("token", self._token),):
            self._token = None

    @property
    def position(self) -> int:
        """Which of the endpoints unary calls use now: an ``attempt`` of streams that begins there."""
        return self._at

    def stream_endpoint(self, attempt: int) -> str:
        """Name the endpoint of a stream's n-th attempt; streams go round on their own."""
        return self.config.endpoints[attempt % len(self.config.endpoints)]

    async def learn_certificate(self, endpoint: str) -> None:
        """Take the certificate that an endpoint shows for good, where none is to be verified."""
        if not (self.config.secure and self.config.skip_verify) or endpoint in self._pins:
            return
        pin = await asyncio.to_thread(shown_by, endpoint, self.config)
        if pin is not None:
            self._pins[endpoint] = pin

    def open_stream_channel(self, attempt: int) -> Channel:
        """Open a connection that serves one stream alone; ``attempt`` counts through the endpoints."""
        self._check_open()
        endpoint = self.stream_endpoint(attempt)
        channel = Channel(self.config, endpoint, pin=self._pins.get(endpoint))
        self._streams.add(channel)
        return channel

    async def close_stream_channel(self, channel: Channel) -> None:
        self._streams.discard(channel)
        await channel.close()

    async def close(self) -> None:
        """Close every connection; streams that are still read end."""
        self.closed = True
        channels = [*self._unary.values(), *self._streams]
        self._unary.clear()
        self._streams.clear()
        for channel in channels:
            await channel.close()

    def _check_open(self) -> None:
        if self.closed:
            raise SessionClosed("the etcd session is closed")

    def _channel(self) -> Channel:
        self._check_open()
        endpoint = self.config.endpoints[self._at]
        if endpoint not in self._unary:
            self._unary[endpoint] = Channel(self.config, endpoint, self.config.max_answer, self._pins.get(endpoint))
        return self._unary[endpoint]

    def _rotate(self, failed: Channel) -> None:
        """Go to the next endpoint, unless another call did so while this one failed."""
        endpoints = self.config.endpoints
        if endpoints[self._at] == failed.endpoint:
            self._at = (self._at + 1) % len(endpoints)

    async def _try(self, channel: Channel, method: Method, request: Message, deadlines: Deadlines) -> Message:
        """Make the call once: with part of the time only where other endpoints may have to be tried, too."""
        parts, now = 2 if len(self.config.endpoints) > 1 else 1, asyncio.get_running_loop().time()
        within = max(deadlines.left(now, connected=True) / parts, _MIN_TRY_S)
        exchange = self._exchange(channel, method, request, within)
        if channel.connected:
            return await exchange
        dialling = max(deadlines.left(now, connected=False) / parts, _MIN_TRY_S)
        async with _cancelled_at_end(asyncio.create_task(exchange)) as work:
            done, _ = await asyncio.wait({work}, timeout=dialling)
            if not done and not channel.connected:
                raise _NoConnection
            return await work

    async def _exchange(self, channel: Channel, method: Method, request: Message, timeout: float) -> Message:
        metadata = await self.credentials(channel, timeout)
        channel.check_open()
        try:
            answer = await method(channel)(request, timeout=timeout, metadata=metadata)
        except grpc.RpcError as error:
            if kind_of(error) is Kind.STALE_TOKEN:
                self.forget_credentials(metadata)
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():  # closing a channel cancels those who use it
                channel.check_open()
            raise
        self.answered = True
        return answer

    def _explain(self, kind: Kind, error: grpc.RpcError, endpoint: str, *, connected: bool) -> RegistryError:
        if kind in {Kind.FATAL, Kind.STALE_TOKEN, Kind.BUSY}:
            return refused(error, endpoint)
        if not connected:
            reason = reason_of(error, answered=self.answered)
            return unreachable(self.config.endpoints, self.config.dial_timeout_s, reason)
        reason = _NO_ANSWER if kind is Kind.TIMEOUT else reason_of(error, answered=self.answered)
        return unreachable(self.config.endpoints, self.config.command_timeout_s, reason)


def _may_repeat(kind: Kind, *, repeatable: bool) -> bool:
    if kind is Kind.NOT_SENT:
        return True
    return repeatable and kind in {Kind.BROKEN, Kind.BUSY, Kind.TIMEOUT}


@asynccontextmanager
async def _cancelled_at_end(work: asyncio.Task[Message]) -> AsyncIterator[asyncio.Task[Message]]:
    try:
        yield work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
