"""Damaged conversations, with streams, packed and abandoned calls; ``python -m tests.wire.fuzz`` goes on longer."""

from __future__ import annotations

import asyncio
import contextlib
from random import Random

import pytest

from lbctl.model import Reply
from tests.scripted import Connection, ScriptedServer
from tests.wire import fuzz, harness
from tests.wire.fuzz_server import conversation, damaged


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_damaged_conversations_raise_nothing_lose_no_call_and_may_be_cut_anywhere(seed: int) -> None:
    for number in range(seed, seed + 5):
        fuzz.play(number)


@pytest.mark.slow
def test_some_seconds_of_damaged_conversations_find_nothing() -> None:
    seen = fuzz.run(5.0, seed=1_000_000)
    assert seen["rounds"] > 0
    assert seen["ok"] > 0
    assert seen["closed"] > 0


async def misunderstanding(seed: int, door: str, patch: pytest.MonkeyPatch) -> list[Reply]:
    """Ten calls to a server that says a damaged conversation on its first connection; how they ended."""
    patch.setenv(harness.DOOR, door)

    async def behave(peer: Connection) -> None:
        rng = Random(seed + peer.index)
        streams = [(await peer.request()).stream for _ in range(10 if peer.index == 0 else 1)]
        said = b"".join(damaged(rng, conversation(rng, streams)))
        size = max(rng.choice([1, 9, 100, 1 << 20]), len(said) // 50)
        for at in range(0, len(said), size):
            if not peer.closed:
                peer.send_raw(said[at : at + size])
                await asyncio.sleep(0)
        if rng.random() < 0.3 and not peer.closed:
            with contextlib.suppress(OSError):  # the client may just have gone
                rng.choice([Connection.close, Connection.abort])(peer)

    async with ScriptedServer(behave, strict=False) as server, harness.dial(server.endpoint) as client:
        return [result.reply for result in await harness.calls(client, 10, timeout_s=0.2)]


@pytest.mark.slow
@pytest.mark.parametrize("door", ["caller", "hot"])
async def test_damaged_conversations_over_sockets_end_every_call(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unhandled: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(
        # asyncio's own server complains of tasks that were cancelled with it; that is the peer's side.
        lambda _, context: None if "StreamReaderProtocol" in str(context["message"]) else unhandled.append(context)
    )
    for first in range(0, 40, 8):
        rounds = [misunderstanding(seed, door, monkeypatch) for seed in range(first, first + 8)]
        async with asyncio.timeout(10):
            ended = await asyncio.gather(*rounds)
        assert all(len(replies) == 10 for replies in ended)
    assert unhandled == []
