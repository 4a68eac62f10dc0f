"""A watch on one gRPC stream on one connection: it is opened, read, and breaks; it never mends itself."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc
import grpc.aio

from lbctl.etcd.channel import Channel
from lbctl.etcd.failures import AccessDenied, Compacted, Kind, canceled, kind_of, reason_of, refused
from lbctl.etcd.ranges import KeyRange
from lbctl.etcd.session import Session
from lbctl.etcd.stubs import Message, pb

FIRST_REPLY_S = 5.0
_NEEDS_LEADER = ("hasleader", "true")  # else a member that is cut off from the others keeps its watches, and is silent

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
    """A watch of ``ranges`` from revisions on. Nobody shares it, and where one range ends all do.

    Before 3.4.22 and 3.5.6 a range that etcd refuses silences others of its stream.
    """

    def __init__(self, session: Session, channel: Channel, ranges: Sequence[KeyRange]) -> None:
        self._session = session
        self._channel = channel
        self._ranges = ranges
        self._numbers: dict[int, int] = {}  # by watch id: which of the ranges
        self._early: deque[Message] = deque()  # of ranges that etcd has consented to while others were waiting
        self._call: Any = None

    async def open(self, starts: Sequence[int]) -> Message:
        """Ask for everything in each range from its revision on; return the header of etcd's last consent."""
        try:
            return await self._unless_closed(self._ask(starts))
        except grpc.RpcError as error:
            raise self._failure(error) from error

    async def read(self, revision: int = 0) -> Message:
        """Return the header of a read on the same member; it answers once it knows all that the others do.

        Raises HistoryGone where ``revision`` is no longer kept.
        """
        keys = self._ranges[0]
        request = pb.RangeRequest(key=keys.start, range_end=keys.end, count_only=True, revision=revision)
        try:
            metadata = await self._session.credentials(self._channel, FIRST_REPLY_S)
            with _ended_by_close():
                reply = await self._channel.kv.Range(request, timeout=FIRST_REPLY_S, metadata=metadata)
        except grpc.RpcError as error:
            failure = self._failure(error)
            gone = isinstance(failure, Compacted)
            raise HistoryGone(f"revision {revision} was compacted") if gone else failure from error
        return reply.header

    async def next(self) -> tuple[int, Message]:
        """Return the next reply, events or a progress mark without any, and the number of the range it is about."""
        if self._early:
            reply = self._early.popleft()
        else:
            try:
                reply = await self._read()
            except grpc.RpcError as error:
                raise self._failure(error) from error
        self._check(reply)
        return self._numbers.get(reply.watch_id, 0), reply

    async def _unless_closed(self, asking: Coroutine[None, None, Message]) -> Message:
        """Bound the wait for the first reply; grpc.aio leaves a write hanging when its channel is closed under it."""
        answer = asyncio.create_task(asking)
        closed = asyncio.create_task(self._channel.closed.wait())
        try:
            waited_s = await self._first_of(answer, closed)
            if answer.done():
                return answer.result()
        finally:
            answer.cancel()
            closed.cancel()
        raise Broken(
            "the connection was closed" if self._channel.closed.is_set() else f"no answer within {waited_s:g}s"
        )

    async def _first_of(self, *ends: asyncio.Task[Any]) -> float:
        """Wait until one is done, or for as long as is due: less where there is no connection yet."""
        dial_s = min(self._session.config.dial_timeout_s, FIRST_REPLY_S)
        done, _ = await asyncio.wait(ends, timeout=dial_s, return_when=asyncio.FIRST_COMPLETED)
        if done or not self._channel.connected:
            return dial_s
        await asyncio.wait(ends, timeout=FIRST_REPLY_S - dial_s, return_when=asyncio.FIRST_COMPLETED)
        return FIRST_REPLY_S

    async def _ask(self, starts: Sequence[int]) -> Message:
        metadata = await self._session.credentials(self._channel, FIRST_REPLY_S)
        self._call = self._channel.stream(lambda channel: channel.watch.Watch, (*metadata, _NEEDS_LEADER))
        with _ended_by_close():
            for keys, start in zip(self._ranges, starts, strict=True):
                await self._call.write(pb.WatchRequest(create_request=_create(keys, start)))
        while True:  # etcd consents in the order it was asked in
            reply = await self._read()
            if reply.created:
                self._check(reply)
                self._numbers[reply.watch_id] = len(self._numbers)
                if len(self._numbers) == len(self._ranges):
                    return reply.header
            elif not self._numbers:
                raise Broken("etcd answered a watch request with something else")
            else:
                self._early.append(reply)

    async def _read(self) -> Message:
        with _ended_by_close():
            reply = await self._call.read()
        if reply is grpc.aio.EOF:
            raise Broken("etcd ended the stream")
        return reply

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
        return Broken(reason_of(error, answered=self._session.answered))


def _create(keys: KeyRange, start: int) -> Message:
    return pb.WatchCreateRequest(key=keys.start, range_end=keys.end, start_revision=start, progress_notify=True)


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
