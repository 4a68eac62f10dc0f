"""Calls that fail and are made again, over real servers: who gets how many, and what keeps a storm down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from lbctl.model import Endpoint
from tests.e2e.runs import hammer, lbctl, row_of
from tests.fakes import until
from tests.rpc.servers import serving

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

METHOD = ("p.S/M", "--binary-file", "/dev/null", "-o", "json")
RETRY = {  # grpcio 1.85.3 never comes back from a backoff of 1 ms
    "maxAttempts": 3,
    "initialBackoff": "0.005s",
    "maxBackoff": "0.005s",
    "backoffMultiplier": 1,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
THROTTLING = {"maxTokens": 10, "tokenRatio": 0.1}

BOTH = ["wire", pytest.param("grpcio", marks=pytest.mark.slow)]

Answer = Callable[[Any], Awaitable[bytes]]


def config(**parts: Any) -> str:  # noqa: ANN401  # whatever JSON has
    """A service config with this retry policy for every method, and more."""
    return json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": RETRY}], **parts})


class Counted:
    """A real server, the calls it got, and what their grpc-previous-rpc-attempts said."""

    def __init__(self, answer: Answer) -> None:
        self.calls = 0
        self.previous: list[str] = []
        self.cancelled = 0
        self.endpoint: Endpoint
        self._answer = answer

    async def handle(self, _: bytes, context: Any) -> bytes:  # noqa: ANN401  # grpc has no type for it
        self.calls += 1
        self.previous += [
            value for name, value in context.invocation_metadata() if name == "grpc-previous-rpc-attempts"
        ]
        try:
            return await self._answer(context)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    @property
    def address(self) -> str:
        return str(self.endpoint)


@asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[Counted]:
    """A server of ``p.S/M`` that answers like this."""
    counted = Counted(answer)
    method = grpc.unary_unary_rpc_method_handler(counted.handle)
    async with serving([grpc.method_handlers_generic_handler("p.S", {"M": method})]) as endpoint:
        counted.endpoint = endpoint
        yield counted


async def fine(_: Any) -> bytes:  # noqa: ANN401
    return b""


async def down(context: Any) -> bytes:  # noqa: ANN401
    await context.abort(grpc.StatusCode.UNAVAILABLE, "down")
    raise AssertionError("abort raises")


async def never(_: Any) -> bytes:  # noqa: ANN401
    await asyncio.Event().wait()
    return b""


def calling(next_one: str, service_config: str) -> tuple[Answer, grpc.aio.Channel]:
    """A handler that calls the next server, with retries of its own, and fails as that does."""
    channel = grpc.aio.insecure_channel(next_one, options=[("grpc.service_config", service_config)])
    method: Any = channel.unary_unary("/p.S/M")

    async def answer(context: Any) -> bytes:  # noqa: ANN401
        try:
            return bytes(await method(b"", timeout=20))
        except grpc.aio.AioRpcError as error:
            await context.abort(error.code(), error.details() or "")
            raise AssertionError("abort raises") from error

    return answer, channel


@asynccontextmanager
async def chain(service_config: str) -> AsyncIterator[list[Counted]]:
    """Three servers: the first two call the next one, the last one is down."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(served(down))]
        for _ in range(2):
            answer, channel = calling(servers[0].address, service_config)
            stack.push_async_callback(channel.close)
            servers.insert(0, await stack.enter_async_context(served(answer)))
        yield servers


# ---- storms ----------------------------------------------------------------------------------------------------------


async def test_three_hops_with_three_attempts_each_make_27_calls_of_one() -> None:
    calls = 10
    wanted = config()
    async with chain(wanted) as servers:
        ended = await hammer(
            "--backends", servers[0].address, *METHOD, "-n", str(calls), "-c", "1", "--service-config", wanted
        )
    assert [server.calls for server in servers] == [3 * calls, 9 * calls, 27 * calls]
    document = ended.document
    assert (document["errors"], document["retries"], document["attempts"]) == (calls, 2 * calls, 3 * calls)
    assert document["amplification"] == 3.0
    assert document["repeated"]["exhausted"] == calls
    assert servers[0].previous == ["1", "2"] * calls


async def test_throttling_at_every_hop_keeps_the_storm_under_a_tenth() -> None:
    calls = 100
    wanted = config(retryThrottling=THROTTLING)
    async with chain(wanted) as servers:
        ended = await hammer(
            "--backends", servers[0].address, *METHOD, "-n", str(calls), "-c", "1", "--service-config", wanted
        )
    seen = [server.calls for server in servers]
    assert seen[0] == calls + 3  # five failures take the tokens to half; the third of them was a last attempt
    for before, after in zip([calls, *seen], seen, strict=False):
        assert before <= after < 1.1 * before
    assert seen[2] < 1.1 * calls
    document = ended.document
    assert document["amplification"] == seen[0] / calls
    assert (document["repeated"]["tokens"], document["repeated"]["sent"]) == (0.0, 3)
    assert document["repeated"]["throttled"] == calls - 1


# ---- retries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["wire", "grpcio"])
async def test_with_one_of_three_down_every_call_ends_well(engine: str) -> None:
    async with served(fine) as one, served(down) as dead, served(fine) as other:
        backends = ",".join(server.address for server in (one, dead, other))
        ended = await hammer(
            "--backends", backends, *METHOD, "-n", "60", "-c", "6", "--engine", engine, "--service-config", config()
        )
    document = ended.document
    assert (document["ok"], document["errors"]) == (60, 0)
    assert one.calls + dead.calls + other.calls == document["attempts"] == 60 + dead.calls
    assert document["retries"] == document["repeated"]["sent"] == dead.calls == len(one.previous + other.previous)
    assert document["repeated"]["codes"] == {"UNAVAILABLE": dead.calls}
    assert not dead.previous  # no second attempt goes where the first was
    row = row_of(document, dead.address)
    assert (row["passed"], row["errors"], row["ok"]) == (dead.calls, 0, 0)
    assert document["balance"]["verdict"] == "balanced"


async def test_the_flag_alone_retries_what_is_unavailable() -> None:
    async with served(fine) as one, served(down) as dead:
        ended = await hammer(
            "--backends", f"{one.address},{dead.address}", *METHOD, "-n", "20", "-c", "2", "--max-attempts", "2"
        )
    document = ended.document
    assert (document["ok"], document["repeated"]["max_attempts"]) == (20, 2)
    assert document["repeated"]["sent"] == dead.calls > 0


async def test_a_budget_bounds_the_retries_of_a_run() -> None:
    async with served(down) as dead:
        ended = await hammer(
            *("--backends", dead.address, *METHOD, "-n", "40", "-c", "1"),
            *("--max-attempts", "3", "--retry-budget", "10%,0,60s"),
        )
    assert dead.calls == 44
    assert ended.document["repeated"]["throttled"] > 0


# ---- hedges ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["wire", "grpcio"])
async def test_a_backend_that_never_answers_costs_no_call_when_calls_are_hedged(engine: str) -> None:
    async with served(fine) as quick, served(never) as silent:
        ended = await hammer(
            *("--backends", f"{quick.address},{silent.address}", *METHOD, "-n", "20", "-c", "2"),
            *("--hedge", "20ms", "--engine", engine),
        )
        await until(lambda: silent.cancelled == silent.calls, 10)
    document = ended.document
    assert (document["ok"], document["errors"], document["retries"]) == (20, 0, 0)
    assert document["repeated"]["policy"] == "hedging"
    unheard = document["repeated"]["cancelled"] - silent.calls  # cancelled before a busy server had begun with them
    assert 0 <= unheard < document["repeated"]["cancelled"]
    assert document["attempts"] == quick.calls + silent.calls + unheard == 20 + document["repeated"]["sent"]
    assert row_of(document, silent.address)["ok"] == 0


@asynccontextmanager
async def streamed(counted: Counted, messages: int, code: grpc.StatusCode | None = None) -> AsyncIterator[Counted]:
    """A server whose ``p.S/M`` waits for its answer, and then streams so many messages, or ends with a code."""

    async def handle(request: bytes, context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        await counted.handle(request, context)
        for _ in range(messages):
            yield b""
        if code is not None:
            await context.abort(code, "no more")

    method = grpc.unary_stream_rpc_method_handler(handle)
    async with serving([grpc.method_handlers_generic_handler("p.S", {"M": method})]) as endpoint:
        counted.endpoint = endpoint
        yield counted


@pytest.mark.parametrize("engine", BOTH)
async def test_a_stream_is_hedged_until_its_reply_begins(engine: str) -> None:
    async with streamed(Counted(fine), 3) as quick, streamed(Counted(never), 0) as silent:
        ended = await hammer(
            *("--backends", f"{quick.address},{silent.address}", *METHOD, "-n", "20", "-c", "2", "--stream", "server"),
            *("--hedge", "20ms", "--engine", engine),
        )
        await until(lambda: silent.cancelled == silent.calls, 10)
    document = ended.document
    assert (document["ok"], document["errors"]) == (20, 0)
    assert document["streams"]["received"] == 60
    unheard = document["repeated"]["cancelled"] - silent.calls  # cancelled before a busy server had begun with them
    assert 0 <= unheard < document["repeated"]["cancelled"]
    assert document["attempts"] == quick.calls + silent.calls + unheard == 20 + document["repeated"]["sent"]


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize("messages", [0, 1])
async def test_a_stream_is_retried_unless_its_reply_has_begun(engine: str, messages: int) -> None:
    async with streamed(Counted(fine), messages, grpc.StatusCode.UNAVAILABLE) as bad:
        ended = await hammer(
            *("--backends", bad.address, *METHOD, "-n", "10", "-c", "2", "--stream", "server"),
            *("--engine", engine, "--service-config", config()),
        )
    assert ended.document["codes"] == {"UNAVAILABLE": 10}
    assert ended.document["attempts"] == bad.calls == (10 if messages else 30)


async def test_a_breaker_counts_hedges_among_its_requests() -> None:
    async with served(never) as silent:
        ended = await hammer(
            *("--backends", silent.address, *METHOD, "-n", "4", "-c", "2", "-t", "1s"),
            *("--hedge", "20ms", "--max-attempts", "4", "--breaker", "max-requests,limit=3"),
        )
    document = ended.document
    assert document["codes"] == {"DEADLINE_EXCEEDED": 4}
    assert document["attempts"] == silent.calls == 6  # of every two calls one could be hedged, once
    assert document["turned_away"] == {"max-requests": 4}


# ---- what a config says ----------------------------------------------------------------------------------------------


async def test_a_config_from_a_file_sets_policy_deadline_and_retries_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    parts = {
        "loadBalancingConfig": [{"weighted_random": {}}],
        "methodConfig": [
            {"name": [{"service": "p.S"}], "timeout": "0.2s"},
            {"name": [{"service": "other"}], "retryPolicy": RETRY},
        ],
    }
    file.write_text(json.dumps(parts), encoding="utf-8")
    async with served(never) as silent:
        ended = await hammer("--backends", silent.address, *METHOD, "-n", "2", "--service-config", str(file))
    document = ended.document
    assert document["policy"] == "weighted_random"
    assert document["codes"] == {"DEADLINE_EXCEEDED": 2}
    assert document["load"]["timeout_s"] == 0.2
    assert document["repeated"] is None
    assert "policy weighted_random by the service config" in ended.err


async def test_the_flag_counts_before_the_config_and_the_shorter_deadline_counts() -> None:
    parts = {"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [{"name": [{}], "timeout": "30s"}]}
    async with served(never) as silent:
        ended = await hammer(
            *("--backends", silent.address, *METHOD, "-n", "1", "-t", "100ms", "--policy", "random"),
            *("--service-config", json.dumps(parts)),
        )
    document = ended.document
    assert (document["policy"], document["load"]["timeout_s"]) == ("random", 0.1)
    assert "--policy random counts, not round_robin of the config" in ended.err


async def test_a_second_config_is_refused_with_what_grpc_makes_of_it() -> None:
    ended = await lbctl(
        *("hammer", "--backends", "127.0.0.1:1", *METHOD),
        *("--service-config", config(), "--service-config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
    )
    assert ended.status == 2
    assert "--service-config was given 2 times" in ended.err
    assert "a second WithDefaultServiceConfig replaces the first" in ended.err
