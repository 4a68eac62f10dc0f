"""One registration kept alive for ever: through outages, expiry and restarts of etcd; taken back at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

import grpc
import grpc.aio

from lbctl.errors import ExitCode, LbctlError, RegistryError
from lbctl.etcd.backoff import Backoff
from lbctl.etcd.channel import Stream
from lbctl.etcd.client import Etcd
from lbctl.etcd.failures import Kind, LeaseGone, SessionClosed, kind_of, reason_of
from lbctl.etcd.stubs import Message, pb
from lbctl.etcd.swap import Swap, swap

_BEATS_PER_TTL = 3
_MIN_REPLY_S = 1.0
_REVOKE_WITHIN_S = 2.0

Notice = Callable[[str], None]
Spell = Callable[[int], tuple[bytes, bytes]]


class KeyTaken(LbctlError):
    """Somebody else wrote the key between our reading and our writing; what they wrote stands."""

    exit_code = ExitCode.CHECK_FAILED

    def __init__(self, key: bytes) -> None:
        name = key.decode("utf-8", "backslashreplace")
        super().__init__(f"{name} changed since it was read: nothing was written", "look at it and try again")


class LeaseKeeper:
    """Holds a key in etcd under a lease of its own, as an async context manager.

    ``spell`` says key and value for a lease: some layouts name a key by its lease. ``read_at`` is the revision that the
    key was read at, 0 where there was none: nobody else's is overwritten then, now or later. Without it whatever is
    there is. With ``restores`` a key that somebody deletes is back within a third of its lease's time. ``on_notice``
    gets one line per change of state (contact lost, found, registered anew).
    """

    def __init__(
        self,
        etcd: Etcd,
        spell: Spell,
        ttl_s: int,
        on_notice: Notice = lambda _: None,
        *,
        read_at: int | None = None,
        restores: bool = False,
    ) -> None:
        """Take what to register; nothing is written before :meth:`start`."""
        self.key = b""
        self.lease = 0
        self._etcd = etcd
        self._spell = spell
        self._ttl = ttl_s
        self._notice = on_notice
        self._read_at = read_at
        self._restores = restores
        self._backoff = Backoff(etcd.session.rng, limit_s=min(2.0, ttl_s / 5))  # back before a fresh lease expires
        self._lost = False
        self._taken = False
        self._attempt = 0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Register now, or raise RegistryError or KeyTaken; from then on no outage is an error."""
        self.lease = await self._etcd.grant(self._ttl)
        if not await self._place(self._read_at):
            await self.close()
            raise KeyTaken(self.key)
        self._task = asyncio.create_task(self._keep(), name=f"lease of {self._name}")

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

    @property
    def _name(self) -> str:
        return self.key.decode("utf-8", "backslashreplace")

    async def _place(self, read_at: int | None) -> bool:
        """Write the key under the lease; False where it is not as it was read."""
        self.key, value = self._spell(self.lease)
        if read_at is None:
            await self._etcd.put(self.key, value, self.lease)
            return True
        return (await swap(self._etcd, [Swap(self.key, value, read_at, self.lease)])).done

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
            self.lease = await self._etcd.grant(self._ttl)
            done = await self._place(None if self._read_at is None else 0)
        except RegistryError as error:
            self._note_loss(error)
            return
        self._lost = False
        if done:
            self._taken = False
            self._notice(f"the lease had expired; registered anew as {self.lease:x}")
        else:
            self._note_taken()

    async def _beat_until_broken(self) -> None:
        session = self._etcd.session
        channel = session.open_stream_channel(self._attempt)
        try:
            metadata = await session.credentials(channel, self._reply_within)
            call = channel.stream(lambda channel: channel.lease.LeaseKeepAlive, metadata)
            while True:
                left = await self._beat(call)
                if self._restores:
                    await self._look()
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

    async def _look(self) -> None:
        """See that the key is there, under our lease; put it back where it is not there at all."""
        async with asyncio.timeout(self._reply_within):
            entry = await self._etcd.get(self.key)
            if entry is None and await self._place(0):
                self._taken = False
                self._notice(f"{self._name} had been deleted; it was put back")
            elif entry is not None and entry.lease != self.lease:
                self._note_taken()

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

    def _note_taken(self) -> None:
        if not self._taken:
            self._taken = True
            self._notice(f"{self._name} belongs to somebody else now and is left alone")
