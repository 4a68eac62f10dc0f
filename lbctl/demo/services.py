"""The two services of a demo backend; every reply names the backend that sent it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc
import grpc.aio

from lbctl.balance.load_report import LOAD_REPORT, encoded
from lbctl.demo.latency import Behaviour
from lbctl.demo.load_meter import LoadMeter
from lbctl.demo.protos import echo_pb2, math_pb2

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Requests: TypeAlias = AsyncIterator[echo_pb2.SayRequest]

MOST_REPLIES = 100_000
_INT64 = range(-(2**63), 2**63)


def trailers(meter: LoadMeter) -> tuple[tuple[str, bytes], ...]:
    """The load as it is now, as trailers carry it."""
    return ((LOAD_REPORT.decode(), encoded(meter.report())),)


class Front:
    """What all methods of one backend share: its name, its call counter, its delays and failures, and its load.

    With a ``meter`` every reply has a load report in its trailers.
    """

    def __init__(self, address: str, behaviour: Behaviour, meter: LoadMeter | None = None) -> None:
        self.address = address
        self._behaviour = behaviour
        self._meter = meter
        self._calls = 0

    async def admit(self, context: Context) -> int:
        """Take one call: wait as the latency model says, fail it or return its number (from 1)."""
        self._calls += 1
        number = self._calls
        fails = self._behaviour.fails()
        begun_ns = self._meter.begin() if self._meter is not None else 0
        try:
            delay = self._behaviour.delay()
            if delay > 0:
                await asyncio.sleep(delay)
        finally:
            if self._meter is not None:
                self._meter.end(begun_ns, failed=fails)
        if self._meter is not None:
            context.set_trailing_metadata(trailers(self._meter))
        if fails:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "injected by lbctl demo --errors")
        return number


class Echo:
    """demo.echo.v1.Echo: one method of each kind."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def Say(self, request: echo_pb2.SayRequest, context: Context) -> echo_pb2.SayReply:  # noqa: N802 - the method's name on the wire
        """One request, one reply."""
        return self._reply(request.message, await self._front.admit(context))

    async def Repeat(self, request: echo_pb2.RepeatRequest, context: Context) -> AsyncIterator[echo_pb2.SayReply]:  # noqa: N802
        """One request, as many replies as it asks for."""
        if request.count > MOST_REPLIES:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"count {request.count} is above {MOST_REPLIES}")
        number = await self._front.admit(context)
        for index in range(request.count or 1):
            yield self._reply(request.message, number, index)

    async def Collect(self, requests: Requests, context: Context) -> echo_pb2.CollectReply:  # noqa: N802
        """Many requests, one reply with all their messages."""
        messages = [request.message async for request in requests]
        number = await self._front.admit(context)
        return echo_pb2.CollectReply(
            message="\n".join(messages), backend=self._front.address, sequence=number, count=len(messages)
        )

    async def Chat(self, requests: Requests, context: Context) -> AsyncIterator[echo_pb2.SayReply]:  # noqa: N802
        """Many requests, one reply to each."""
        number = await self._front.admit(context)
        index = 0
        async for request in requests:
            yield self._reply(request.message, number, index)
            index += 1

    def _reply(self, message: str, number: int, index: int = 0) -> echo_pb2.SayReply:
        return echo_pb2.SayReply(message=message, backend=self._front.address, sequence=number, index=index)


class Math:
    """demo.math.v1.MathService: a method with numbers in and out."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def Add(self, request: math_pb2.AddRequest, context: Context) -> math_pb2.AddReply:  # noqa: N802
        """The sum of two numbers."""
        number = await self._front.admit(context)
        total = request.a + request.b
        if total not in _INT64:
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, f"{request.a} + {request.b} does not fit 64 bits")
        return math_pb2.AddReply(sum=total, backend=self._front.address, sequence=number)
