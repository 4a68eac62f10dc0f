"""The same scripted servers met by lbctl and by grpc.aio: they agree, or differ as a list says, with the reason.

Each behaviour meets a unary call and a call whose replies are a stream. The calls go through grpc.aio itself, not
through lbctl's engine of that name.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from lbctl.model import Code, Endpoint
from lbctl.wire.request import Request, Stream
from tests.scripted import ScriptedServer
from tests.wire import harness
from tests.wire.behaviours import BEHAVIOURS
from tests.wire.differences import (
    DIFFERENCES,
    NOT_UNPACKED_IN_A_LOAD,
    STREAM_DIFFERENCES,
    UNSTEADY,
    UNSTEADY_STREAM,
    WAITING,
)
from tests.wire.hot_client import HotClient
from tests.wire.saying import Scripted

SHORT_S, LONG_S = 0.8, 5.0  # the long one never decides a test


class Outcome(NamedTuple):
    """How a call ended, and how many messages it got; only streams count."""

    code: Code
    received: int = 0


def timeout_of(name: str) -> float:
    return SHORT_S if name in WAITING else LONG_S


def serving(script: Scripted) -> ScriptedServer:
    return ScriptedServer(script.behave, settings=script.settings, strict=False)


async def unary(name: str, door: str, patch: pytest.MonkeyPatch) -> Outcome:
    patch.setenv(harness.DOOR, door)
    async with serving(BEHAVIOURS[name]) as server, harness.dial(server.endpoint, connect_timeout_s=LONG_S) as client:
        return Outcome((await harness.call(client, timeout_s=timeout_of(name))).reply.code)


async def streaming(name: str, *, keep: bool) -> Outcome:
    spec = Stream(client=False, server=True, messages=(b"request",), count=1)
    request = Request(harness.PATH, b"", "echo", int(timeout_of(name) * 1e9), stream=spec)
    async with (
        serving(BEHAVIOURS[name]) as server,
        HotClient(server.endpoint, authority="echo", connect_timeout_s=LONG_S, keep_messages=keep) as client,
    ):
        reply = (await client.call(request)).reply
    return Outcome(reply.code, reply.received)


async def by_grpcio(name: str, *, stream: bool) -> Outcome:
    async with serving(BEHAVIOURS[name]) as server:
        return await _grpcio_call(server.endpoint, timeout_of(name), stream=stream)


async def _grpcio_call(endpoint: Endpoint, timeout_s: float, *, stream: bool) -> Outcome:
    import grpc.aio

    received = 0
    options = [("grpc.default_authority", "echo"), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(str(endpoint), options=options) as channel:
        try:
            if stream:
                async for _ in channel.unary_stream(harness.PATH, None, None)(b"request", timeout=timeout_s):
                    received += 1
            else:
                await channel.unary_unary(harness.PATH, None, None)(b"request", timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            return Outcome(Code(error.code().value[0]), received)
    return Outcome(Code.OK, received)


def test_there_are_enough_behaviours_and_the_lists_name_no_other() -> None:
    assert len(BEHAVIOURS) >= 150
    assert set(DIFFERENCES) <= set(BEHAVIOURS)
    assert set(STREAM_DIFFERENCES) <= set(BEHAVIOURS)


@pytest.mark.slow
@pytest.mark.parametrize("name", BEHAVIOURS)
async def test_a_single_call_a_load_and_grpcio_agree_or_differ_as_listed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_call, by_load = await unary(name, "caller", monkeypatch), await unary(name, "hot", monkeypatch)
    streamed, counted = await streaming(name, keep=True), await streaming(name, keep=False)
    if name in NOT_UNPACKED_IN_A_LOAD:
        assert [each.code for each in (by_call, by_load, streamed, counted)] == [Code.INTERNAL, Code.OK] * 2
    else:
        assert (by_call, streamed) == (by_load, counted)
    await unary_calls_agree(name, by_call)
    await streams_agree(name, streamed, by_call)


async def unary_calls_agree(name: str, ours: Outcome) -> None:
    """With grpcio, or differ as listed."""
    if UNSTEADY.fullmatch(name):
        assert ours.code == Code.OK
        return
    theirs = await by_grpcio(name, stream=False)
    if name in DIFFERENCES:
        assert (ours.code, theirs.code) == DIFFERENCES[name][:2]
    else:
        assert ours.code == theirs.code


async def streams_agree(name: str, ours: Outcome, unary: Outcome) -> None:
    """With grpcio, or differ as listed; where grpcio is of two minds, with a unary call."""
    if UNSTEADY_STREAM.fullmatch(name):
        assert ours.code == unary.code
        return
    theirs = await by_grpcio(name, stream=True)
    if name in STREAM_DIFFERENCES:
        assert (ours.code, theirs.code) == STREAM_DIFFERENCES[name][:2]
    else:
        assert ours.code == theirs.code
        assert ours.received == theirs.received or ours.code != Code.OK
