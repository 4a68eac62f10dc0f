"""Guards in real runs against real servers: who fails is taken out and comes back, and nothing of it is silent."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

import grpc
import grpc.aio
import pytest
from grpc_health.v1._async import HealthServicer
from jsonschema import Draft202012Validator

from lbctl.model import Endpoint
from tests.e2e.conftest import Standing
from tests.e2e.runs import _RUN, events_of, hammer, row_of, running
from tests.rpc.servers import health_of, serving

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

GRPC = ("--engine", "grpcio", "--policy", "grpc:round_robin")
RAW = ("p.S/M", "--binary-file", "/dev/null")
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Server:
    """Answers every call; the first ``bad`` ones with UNAVAILABLE."""

    def __init__(self, bad: int = 0) -> None:
        self.bad = bad
        self.calls = 0
        self.endpoint = Endpoint("", 0)

    async def answer(self, _: bytes, context: Context) -> bytes:
        self.calls += 1
        if self.calls <= self.bad:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "not well")
        return b""

    @property
    def address(self) -> str:
        return str(self.endpoint)


@asynccontextmanager
async def servers(*bad: int, health: Sequence[HealthServicer] = ()) -> AsyncIterator[list[Server]]:
    """So many servers, each bad for as many calls."""
    async with AsyncExitStack() as running_ones:
        found = [Server(count) for count in bad]
        for number, each in enumerate(found):
            method = {"M": grpc.unary_unary_rpc_method_handler(each.answer)}
            handlers = [grpc.method_handlers_generic_handler("p.S", method)]
            servicer = health[number] if health else None
            each.endpoint = await running_ones.enter_async_context(serving(handlers, healthy=servicer))
        yield found


def backends(found: Sequence[Server]) -> tuple[str, ...]:
    return ("--backends", ",".join(each.address for each in found), *RAW)


def reasons(document: dict[str, Any]) -> dict[str, int]:
    return {f"{group['origin']}: {group['message']}": group["count"] for group in document["error_groups"]}


@pytest.mark.slow
async def test_a_failing_backend_is_ejected_and_comes_back_once_it_is_well() -> None:
    async with servers(30, 0, 0, 0, 0) as found:
        chosen = "interval=200ms,base-ejection-time=300ms,success-volume=10,failure-volume=10"
        load = ("-r", "500", "-z", "4s", "--policy", "round_robin", "-o", "json")
        done = await hammer(*backends(found), *load, "--outlier-detection", chosen)
    document, bad = done.document, found[0].address
    assert [address for address, _ in events_of(document, "ejected")] == [bad] * len(events_of(document, "ejected"))
    assert len(events_of(document, "ejected")) >= 1
    assert len(events_of(document, "restored")) == len(events_of(document, "ejected"))
    row = row_of(document, bad)
    assert row["state"] == "ready"
    assert row["ejections"] == len(events_of(document, "ejected"))
    assert 30 <= row["picks"] == found[0].calls < document["requests"] / 5 - 50  # it missed what it was away for
    assert document["errors"] == 30
    assert document["balance"]["verdict"] == "balanced"
    assert document["guards"] == {"outlier-detection": {
        "interval": "200ms", "base-ejection-time": "300ms", "success-volume": "10", "failure-volume": "10",
    }}  # fmt: skip


BREAKER = ("--breaker", "consecutive,failures=3,open-time=300ms")


async def test_with_wait_calls_wait_until_a_breaker_lets_one_through() -> None:
    async with servers(4, 4) as found:
        done = await hammer(
            *backends(found), *BREAKER, "-n", "200", "-c", "1", "--when-all-out", "wait", "-o", "json",
            "--policy", "round_robin",
        )  # fmt: skip
    document = done.document
    # three failures each, then one probe each; whatever else there was has waited for the probe after that
    assert reasons(document) == {"server: not well": 8}
    assert (document["requests"], document["ok"]) == (200, 192)
    assert [row["trips"] for row in document["backends"]] == [2, 2]
    assert document["duration_s"] >= 0.6
    assert document["turned_away"] == {}
    assert any("calls wait" in text for _, text in events_of(document, "health"))
    assert [text for address, text in events_of(document, "breaker") if address == found[0].address] == [
        "breaker open for 0.3s: 3 failures in a row, last UNAVAILABLE",
        "breaker half-open: 1 call to try",
        "breaker open for 0.3s: a probe failed with UNAVAILABLE",
        "breaker half-open: 1 call to try",
        "breaker closed",
    ]


async def test_with_fail_calls_fail_at_once_and_only_probes_are_sent() -> None:
    async with servers(4, 4) as found:
        done = await hammer(
            *backends(found), *BREAKER, "-r", "200", "-z", "1500ms", "--when-all-out", "fail", "-o", "json",
            "--policy", "round_robin",
        )  # fmt: skip
    document = done.document
    told = "client: every backend that can be reached is out of the rotation"
    assert set(reasons(document)) == {"server: not well", told}
    assert reasons(document)["server: not well"] == 8
    assert reasons(document)[told] == document["turned_away"]["all-out"] > 20
    assert document["attempts"] == found[0].calls + found[1].calls == document["requests"] - reasons(document)[told]
    assert document["retries"] == 0
    assert {row["state"] for row in document["backends"]} == {"ready"}


async def test_with_panic_all_that_can_be_reached_are_used() -> None:
    async with servers(40, 40) as found:
        done = await hammer(
            *backends(found), "--breaker", "consecutive,failures=3,open-time=60s", "-n", "200", "-c", "1", "-o", "json",
            "--policy", "round_robin",
        )  # fmt: skip
    document = done.document
    assert reasons(document) == {"server: not well": 80}
    assert (document["requests"], document["ok"]) == (200, 120)
    assert {row["state"] for row in document["backends"]} == {"breaker_open"}
    assert [row["trips"] for row in document["backends"]] == [1, 1]
    assert document["balance"]["verdict"] == "balanced"


@pytest.mark.slow
async def test_a_backend_that_does_not_serve_gets_nothing_and_comes_back() -> None:
    health = [health_of(1), health_of(1)]
    async with servers(0, 0, health=health) as found:
        arguments = (*backends(found), "-r", "200", "-z", "60s", "--health-check", "-o", "json")
        async with running("hammer", *arguments, "--ui", "plain", "--interval", "100ms") as run:
            await run.hears("hammer 0", "backends 2/2")
            await health[1].set("", 2)
            await run.hears("event", found[1].address, "health NOT_SERVING -> removed from rotation")
            await run.hears("hammer 0", "backends 1/2")  # what was on its way has arrived
            before = [each.calls for each in found]
            for _ in range(3):
                await run.hears("hammer 0", "backends 1/2")
            assert found[1].calls == before[1]
            assert found[0].calls > before[0] + 20
            silent = found[1].calls
            await health[1].set("", 1)
            await run.hears("event", found[1].address, "health SERVING -> back in rotation")
            for _ in range(3):
                await run.hears("hammer 0", "backends 2/2")
            assert found[1].calls > silent
            run.send(signal.SIGINT)
            done = await run.ended()
    document = done.document
    assert document["errors"] == 0
    assert document["balance"]["verdict"] == "balanced"
    assert [address for address, _ in events_of(document, "health")] == [found[1].address] * 2


async def test_health_of_the_demo_is_watched_without_a_word(demo: Standing) -> None:
    done = await hammer("echo", "-n", "500", "--health-check", "--outlier-detection", "-o", "json", etcd=demo.etcd)
    document = done.document
    assert (document["ok"], document["errors"]) == (500, 0)
    assert events_of(document, "health") == []
    assert document["guards"] == {"health-check": {}, "outlier-detection": {}}


async def test_a_breaker_before_the_pick_turns_calls_away_and_says_so() -> None:
    async with servers(10**9) as found:
        done = await hammer(*backends(found), "-r", "500", "-z", "1s", "--breaker", "kratos")
    assert "Guards\n  breaker kratos\n" in done.out
    assert "calls turned away: kratos" in done.out
    assert "dropped by breaker kratos" in done.out
    assert found[0].calls < 200


async def test_of_a_subset_the_others_get_no_connection() -> None:
    async with servers(0, 0, 0, 0) as found:
        done = await hammer(*backends(found), "-n", "100", "--subset", "2,seed=1", "-o", "json")
    document = done.document
    Draft202012Validator(_RUN).validate(document)
    states = sorted(row["state"] for row in document["backends"])
    assert states == ["not_in_subset", "not_in_subset", "ready", "ready"]
    assert sum(each.calls == 0 for each in found) == 2
    unused = [row for row in document["backends"] if row["state"] == "not_in_subset"]
    assert [row["wire"]["opened"] for row in unused] == [0, 0]


@pytest.mark.parametrize(("arguments", "words"), [
    (("--outlier-detection", "interval=banana"), ("--outlier-detection: interval=banana is not a duration",)),
    (("--outlier-detection", "intervall=1s"), ("--outlier-detection has no option 'intervall'", "mean interval?")),
    (("--breaker", "fuse"), ("--breaker: 'fuse' is not one of consecutive, sre, kratos, gozero, max-requests",)),
    (("--breaker", "sre", "--breaker", "sre,k=3"), ("--breaker sre is given twice",)),
    (("--breaker", "consecutive,codes=MAYBE"), ("'MAYBE' is not a status code",)),
    (("--subset", "0"), ("--subset: size=0 is out of range: a whole number at least 1",)),
    (("--zone", "key=az"), ("--zone needs the name of a zone",)),
    (("--when-all-out", "cry"), ("'cry' is not one of panic, wait, fail",)),
    (("--panic-threshold", "150"), ("'150' is not a percentage from 0 to 100",)),
    (("--health-check", *GRPC), ("--health-check: grpc:round_robin picks by itself",)),
])  # fmt: skip
async def test_what_cannot_be_is_told_before_anything_is_sent(arguments: Sequence[str], words: Sequence[str]) -> None:
    done = await hammer("--backends", "127.0.0.1:1", *RAW, *arguments)
    assert done.status == 2
    said = " ".join(done.err.split())
    assert all(word in said for word in words), done.err
