"""One etcd watch on one gRPC stream on one connection: it is opened, read, and breaks; it never mends itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc
import grpc.aio

from lbctl.etcd.channel import Channel
from lbctl.etcd.failures import AccessDenied, Kind, canceled, kind_of, reason_of, refused
from lbctl.etcd.ranges import KeyRange
from lbctl.etcd.session import Session
from lbctl.etcd.stubs import Message, pb

FIRST_REPLY_S = 5.0


# A server that goes down ends its streams with these, whatever their usual meaning.
_TRANSIENT: Sequence[grpc.StatusCode] = (
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)


class Broken(Exception):
    """The stream ended or could not be opened; another may do better."""


class HistoryGone(Exception):
    """The revisions to resume from are no longer kept: list again."""


class WatchStream:
    """A watch of ``keys`` from a revision on; shared streams are unsafe on several etcd versions."""

    def __init__(self, session: Session, channel: Channel, keys: KeyRange) -> None:
        self._session = session
        self._channel = channel
        self._keys = keys
        self._call: Any = None

    async def open(self, start: int) -> Message:
        """Ask for everything from revision ``start`` on; return the header of etcd's consent."""
        try:
            reply = await self._unless_closed(self._ask(start))
        except grpc.RpcError as error:
            raise self._failure(error) from error
        if not reply.created:
            raise Broken("etcd answered a watch request with something else")
        self._check(reply)
        return reply.header

    async def next(self) -> Message:
        """Return the next reply: events, or a progress mark without any."""
        try:
            reply = await self._read()
        except grpc.RpcError as error:
            raise self._failure(error) from error
        self._check(reply)
        return reply

    async def _unless_closed(self, asking: Coroutine[None, None, Message]) -> Message:
        """Bound the wait for the first reply; grpc.aio leaves a write hanging when its channel is closed under it."""
        answer = asyncio.create_task(asking)
        closed = asyncio.create_task(self._channel.closed.wait())
        try:
            await asyncio.wait({answer, closed}, timeout=FIRST_REPLY_S, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
        finally:
            answer.cancel()
            closed.cancel()
        raise Broken(
            "the connection was closed" if self._channel.closed.is_set() else f"no answer within {FIRST_REPLY_S:g}s"
        )

    async def _ask(self, start: int) -> Message:
        metadata = await self._session.credentials(self._channel, FIRST_REPLY_S)
        self._call = self._channel.stream(lambda channel: channel.watch.Watch, metadata)
        with _ended_by_close():
            await self._call.write(pb.WatchRequest(create_request=self._create(start)))
        return await self._read()

    async def _read(self) -> Message:
        with _ended_by_close():
            reply = await self._call.read()
        if reply is grpc.aio.EOF:
            raise Broken("etcd ended the stream")
        return reply

    def _create(self, start: int) -> Message:
        return pb.WatchCreateRequest(
            key=self._keys.start, range_end=self._keys.end, start_revision=start, progress_notify=True
        )

    def _check(self, reply: Message) -> None:
        if not reply.canceled:
            return
        if reply.compact_revision:
            raise HistoryGone(f"revisions up to {reply.compact_revision} were compacted")
        raise canceled(reply.cancel_reason, self._channel.endpoint)

    def _failure(self, error: grpc.RpcError) -> Exception:
        kind = kind_of(error)
        if kind is Kind.STALE_TOKEN:
            return AccessDenied(str(refused(error, self._channel.endpoint)))
        if kind is Kind.FATAL and error.code() not in _TRANSIENT:
            return refused(error, self._channel.endpoint)
        return Broken(reason_of(error))


@contextmanager
def _ended_by_close() -> Iterator[None]:
    """Turn what grpc does to the users of a closed channel into an end of the stream; it cancels them, too."""
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():  # it is us who are cancelled
            raise
        raise Broken("the connection was closed") from None
    except (grpc.aio.UsageError, asyncio.InvalidStateError):
        raise Broken("the connection was closed") from None
