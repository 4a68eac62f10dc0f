"""One call through a grpcio channel, of any of the four kinds, on raw bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from lbctl.model import Code, Origin, Reply
from lbctl.rpc.grpcio.outcome import Ending, ending
from lbctl.wire.request import Request, Stream

Metadata = tuple[tuple[str, str | bytes], ...]


def _nobody() -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class Progress:
    """What a stream has come to; also right when the call is ended from outside. Times in ns of ``now``.

    ``began`` is called when the first message comes: when headers come without one grpcio does not tell.
    """

    now: Callable[[], int]
    keep: bool = False
    sent: int = 0
    received: int = 0
    first_ns: int = 0  # response headers, where grpcio tells when they came
    last_ns: int = 0  # the last message
    gaps: list[int] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    began: Callable[[], None] = _nobody

    def took(self, message: bytes) -> None:
        now = self.now()
        if not self.received:
            self.began()
        if self.received:
            self.gaps.append(now - self.last_ns)
        self.last_ns = now
        self.received += 1
        if self.keep:
            self.messages.append(message)


class Rpcs:
    """The calls of one channel; a call never raises but for cancellation, which cancels it at the server."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._methods: dict[tuple[str, bool, bool], Any] = {}

    async def call(self, request: Request, progress: Progress, timeout_s: float | None, metadata: Metadata) -> Ending:
        """Make one call and wait for its end."""
        options: dict[str, Any] = {"timeout": timeout_s, "metadata": metadata}
        if request.gzip:
            options["compression"] = grpc.Compression.Gzip
        try:
            if request.stream is None:
                return await self._unary(request, progress, options)
            return await self._stream(request, request.stream, progress, options)
        except grpc.aio.AioRpcError as error:
            return ending(error.code().value[0], error.details() or "")
        except (ValueError, TypeError, grpc.aio.UsageError) as error:  # metadata that C-core does not take
            return Ending(Reply(Code.INTERNAL, Origin.CLIENT, f"grpcio refuses the call: {error}"))

    def _method(self, path: str, client: bool, server: bool) -> Any:  # noqa: ANN401  # grpc has no type for it
        """The kind's callable without serializers; made once."""
        key = (path, client, server)
        if key not in self._methods:
            kinds = {
                (False, False): self._channel.unary_unary,
                (False, True): self._channel.unary_stream,
                (True, False): self._channel.stream_unary,
                (True, True): self._channel.stream_stream,
            }
            self._methods[key] = kinds[client, server](path, None, None)
        return self._methods[key]

    async def _unary(self, request: Request, progress: Progress, options: dict[str, Any]) -> Ending:
        message = await self._method(request.path, False, False)(request.message, **options)
        return Ending(Reply(Code.OK, message=(message or b"") if progress.keep else b""))

    async def _stream(self, request: Request, stream: Stream, progress: Progress, options: dict[str, Any]) -> Ending:
        method = self._method(request.path, stream.client, stream.server)
        rpc = method(**options) if stream.client else method(stream.messages[0], **options)
        talk = _Talk(rpc, stream, progress, request.since_ns)
        progress.sent = int(not stream.client)
        writing = asyncio.create_task(talk.write()) if stream.client else None
        heading = asyncio.create_task(talk.await_head())
        try:
            if stream.client:
                await talk.read_to_the_end()
            else:
                await talk.read()
        finally:
            for task in filter(None, (writing, heading)):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        return Ending(Reply(Code.OK))


class _Talk:
    """Both sides of one streaming call."""

    def __init__(self, rpc: Any, stream: Stream, progress: Progress, since_ns: int) -> None:  # noqa: ANN401
        self._rpc = rpc
        self._stream = stream
        self._late_ns = progress.now() - since_ns if since_ns else 0  # how long ago the call began
        self._progress = progress
        self._enough = asyncio.Event()

    async def await_head(self) -> None:
        """Note when the response headers came."""
        with suppress(grpc.aio.AioRpcError):
            await self._rpc.initial_metadata()
            self._progress.first_ns = self._progress.now()

    async def write(self) -> None:
        """Send the messages at their pace, and end our side."""
        stream, progress = self._stream, self._progress
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # the server has ended the call: so be it
            while not self._enough.is_set() and (not stream.count or progress.sent < stream.count):
                if progress.sent and stream.interval_ns and progress.sent * stream.interval_ns > self._late_ns:
                    await self._pause(stream.interval_ns / 1e9)
                    continue
                await self._write_next()
            await self._rpc.done_writing()

    @property
    def _left_s(self) -> float:
        """What is left of its duration."""
        return max(0, self._stream.duration_ns - self._late_ns) / 1e9

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._enough.wait()
        except TimeoutError:
            await self._write_next()

    async def _write_next(self) -> None:
        messages = self._stream.messages
        await self._rpc.write(messages[self._progress.sent % len(messages)])
        self._progress.sent += 1

    async def read_to_the_end(self) -> None:
        """Read until the server ends the call; after the limit or the duration only our side is ended."""
        timer = None
        if self._stream.duration_ns:
            timer = asyncio.get_running_loop().call_later(self._left_s, self._enough.set)
        try:
            if not self._stream.server:
                self._progress.took(await self._rpc or b"")
                return
            while await self._read_one():
                if self._progress.received == self._stream.limit:
                    self._enough.set()
        finally:
            if timer is not None:
                timer.cancel()

    async def read(self) -> None:
        """Read until the server ends the call, or there is enough: then it is cancelled, and counts as OK."""
        try:
            async with asyncio.timeout(self._left_s if self._stream.duration_ns else None):
                while await self._read_one():
                    if self._progress.received == self._stream.limit:
                        break
        except TimeoutError:
            pass
        self._rpc.cancel()

    async def _read_one(self) -> bool:
        message = await self._rpc.read()
        if message is grpc.aio.EOF:
            return False
        self._progress.took(message)
        return True
