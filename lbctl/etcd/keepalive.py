"""One registration kept alive for ever: through outages, expiry and restarts of etcd; taken back at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

import grpc
import grpc.aio

from lbctl.errors import RegistryError
from lbctl.etcd.backoff import Backoff
from lbctl.etcd.channel import Stream
from lbctl.etcd.client import Etcd
from lbctl.etcd.failures import Kind, LeaseGone, SessionClosed, kind_of, reason_of
from lbctl.etcd.stubs import Message, pb

_BEATS_PER_TTL = 3
_MIN_REPLY_S = 1.0
_REVOKE_WITHIN_S = 2.0

Notice = Callable[[str], None]


class LeaseKeeper:
    """Holds ``key = value`` in etcd under a lease of its own, as an async context manager.

    ``on_notice`` gets one line per change of state (contact lost, found, registered anew).
    """

    def __init__(self, etcd: Etcd, key: bytes, value: bytes, ttl_s: int, on_notice: Notice = lambda _: None) -> None:
        """Take what to register; nothing is written before :meth:`start`."""
        self.key = key
        self.lease = 0
        self._etcd = etcd
        self._value = value
        self._ttl = ttl_s
        self._notice = on_notice
        self._backoff = Backoff(etcd.session.rng, limit_s=min(2.0, ttl_s / 5))  # back before a fresh lease expires
        self._lost = False
        self._attempt = 0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def value(self) -> bytes:
        return self._value

    async def start(self) -> None:
        """Register now, or raise RegistryError; from then on no outage is an error."""
        await self._register()
        self._task = asyncio.create_task(self._keep(), name=f"lease of {self.key!r}")

    async def put(self, value: bytes) -> None:
        """Change the value under the same lease; it is also what a new registration would write."""
        self._value = value
        await self._etcd.put(self.key, value, self.lease)

    async def close(self) -> bool:
        """Stop and revoke the lease, which deletes the key; False when etcd could not be told in time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if not self.lease:
            return True
        try:
            async with asyncio.timeout(_REVOKE_WITHIN_S):
                await self._etcd.revoke(self.lease)
        except (RegistryError, TimeoutError):
            return False
        self.lease = 0
        return True

    async def _register(self) -> None:
        self.lease = await self._etcd.grant(self._ttl)
        await self._etcd.put(self.key, self._value, self.lease)

    async def _keep(self) -> None:
        while True:
            try:
                await self._beat_until_broken()
            except LeaseGone:
                await self._register_again()
            except SessionClosed:
                return
            except (RegistryError, grpc.RpcError, asyncio.InvalidStateError, TimeoutError) as error:
                self._note_loss(error)
            await asyncio.sleep(self._backoff.next())

    async def _register_again(self) -> None:
        try:
            await self._register()
        except RegistryError as error:
            self._note_loss(error)
        else:
            self._lost = False
            self._notice(f"the lease had expired; registered anew as {self.lease:x}")

    async def _beat_until_broken(self) -> None:
        session = self._etcd.session
        channel = session.open_stream_channel(self._attempt)
        try:
            metadata = await session.credentials(channel, self._reply_within)
            call = channel.stream(lambda channel: channel.lease.LeaseKeepAlive, metadata)
            while True:
                left = await self._beat(call)
                await asyncio.sleep(left / _BEATS_PER_TTL)
        finally:
            await session.close_stream_channel(channel)

    async def _beat(self, call: Stream) -> int:
        """Renew the lease once and return its seconds; raise LeaseGone when etcd no longer knows it."""
        async with asyncio.timeout(self._reply_within):
            if not call.done():  # a stream that broke between two beats: reading tells why, writing does not
                await call.write(pb.LeaseKeepAliveRequest(ID=self.lease))
            reply: Message = await call.read()
        if reply is grpc.aio.EOF:
            raise RegistryError("etcd ended the stream")
        if reply.TTL <= 0:  # not an error on the wire
            raise LeaseGone("the lease is gone")
        self._backoff.reset()
        if self._lost:
            self._lost = False
            self._notice("etcd answers again; the lease was kept")
        return int(reply.TTL)

    @property
    def _reply_within(self) -> float:
        return max(self._ttl / _BEATS_PER_TTL, _MIN_REPLY_S)

    def _note_loss(self, error: Exception) -> None:
        """Go on to the next endpoint, log in anew where the token was refused, and tell an outage once."""
        self._attempt += 1
        reason = str(error) or "no answer"
        if isinstance(error, grpc.RpcError):
            reason = reason_of(error)
            if kind_of(error) is Kind.STALE_TOKEN:
                self._etcd.session.forget_credentials()
        if not self._lost:
            self._lost = True
            self._notice(f"etcd does not answer: {reason}")
