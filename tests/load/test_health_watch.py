"""Health watches against real servers: who is in the rotation, from when, and what is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any, TypeAlias

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.health import HealthOptions
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.selection import Mode, Selection, standing
from lbctl.load.health_watch import HealthWatch
from lbctl.model import Endpoint, Instance
from lbctl.rpc.access import Access
from lbctl.rpc.options import ConnectionOptions
from tests.fakes import quiet_loop, until
from tests.rpc.servers import HEALTH, checking, health_of, refused_port, serving

__all__ = ["quiet_loop"]

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
FAST = ConnectionOptions(connect_timeout_s=2.0)


class Clinic:
    """One backend whose calls could be sent, and the watch over its health."""

    def __init__(self, endpoint: Endpoint, options: HealthOptions) -> None:
        self.told: list[str] = []
        self.balancer = Balancer(POLICIES["round_robin"], Random(1))
        self.balancer.select(Selection(when_all_out=Mode.FAIL))
        self.watch = HealthWatch(options, self.balancer, lambda _: Access(options=FAST), Random(2), self._note)
        (self.peer,) = self.balancer.update([Instance("A", "echo", "seed", endpoint)]).added
        self.watch.joined(self.peer)
        self.balancer.mark(self.peer, ready=True)

    def _note(self, kind: str, backend: str | None, text: str, level: str) -> None:
        assert (kind, backend) == ("health", self.peer.instance.address)
        self.told.append(f"{level}: {text}")

    @property
    def is_in(self) -> bool:
        return self.balancer.picker is not None


@asynccontextmanager
async def clinic(endpoint: Endpoint, **values: object) -> AsyncIterator[Clinic]:
    found = Clinic(endpoint, HealthOptions(**values))  # type: ignore[arg-type]
    try:
        yield found
    finally:
        await found.watch.aclose()


async def test_a_backend_is_not_ready_until_it_has_told_its_health() -> None:
    async with serving(healthy=health_of(SERVING)) as endpoint, clinic(endpoint) as one:
        assert not one.is_in
        assert (standing(one.peer), one.balancer.mode) == ("connecting", Mode.NORMAL)
        await one.watch.settled()
        assert one.is_in
        assert one.told == []


async def test_a_backend_that_does_not_serve_gets_nothing_and_comes_back_when_it_does() -> None:
    servicer = health_of(SERVING)
    async with serving(healthy=servicer) as endpoint, clinic(endpoint) as one:
        await one.watch.settled()
        await servicer.set("", NOT_SERVING)
        await until(lambda: not one.is_in)
        assert standing(one.peer) == "unhealthy"
        await servicer.set("", SERVING)
        await until(lambda: one.is_in)
    assert one.told == [
        "bad: health NOT_SERVING -> removed from rotation",
        "good: health SERVING -> back in rotation",
    ]


async def test_a_backend_that_does_not_serve_from_the_beginning_is_out_at_once() -> None:
    async with serving(healthy=health_of(NOT_SERVING)) as endpoint, clinic(endpoint) as one:
        await one.watch.settled()
        assert (one.is_in, one.balancer.mode) == (False, Mode.FAIL)
        assert one.told == ["bad: health NOT_SERVING -> removed from rotation"]


async def test_where_the_policy_ignores_health_nobody_is_said_to_be_removed() -> None:
    servicer = health_of(NOT_SERVING)
    async with serving(healthy=servicer) as endpoint, clinic(endpoint) as one:
        one.balancer.switch(POLICIES["pick_first"])
        await one.watch.settled()
        assert one.is_in
        await servicer.set("", SERVING)
        await until(lambda: len(one.told) == 2)
    assert one.told == [
        "bad: health NOT_SERVING, which pick_first ignores",
        "good: health SERVING, which pick_first ignores",
    ]


async def test_one_service_is_asked_for_by_name() -> None:
    servicer = health_of(SERVING, "test.Echo")
    async with serving(healthy=servicer) as endpoint:
        async with clinic(endpoint, service="test.Echo") as one:
            await one.watch.settled()
            assert one.is_in
        async with clinic(endpoint, service="test.Nobody") as one:
            await one.watch.settled()
            assert one.told == ["bad: health SERVICE_UNKNOWN -> removed from rotation"]


async def test_a_server_without_health_checks_is_in_and_asked_no_more() -> None:
    async with serving() as endpoint, clinic(endpoint, interval=0.01) as one:
        await one.watch.settled()
        assert one.is_in
        assert one.told == ["info: health UNIMPLEMENTED: counts as serving, and is asked no more"]
        await until(lambda: one.watch._tasks[one.peer].done())


class Checked:
    """A server with Check alone, whose answers are counted."""

    def __init__(self) -> None:
        self.status = 1
        self.asked = 0

    async def answer(self, _: object) -> bytes:
        self.asked += 1
        return b"\x08" + bytes([self.status])

    async def after(self, more: int) -> None:
        """Wait for so many checks."""
        wanted = self.asked + more
        await until(lambda: self.asked >= wanted)


async def test_without_watch_check_is_asked_again_and_again_and_believed_by_its_thresholds() -> None:
    server = Checked()
    async with (
        serving([checking(server.answer)]) as endpoint,
        clinic(endpoint, interval=0.02, failures=3, successes=2) as one,
    ):
        await one.watch.settled()
        assert one.is_in
        server.status, before = 2, server.asked
        await until(lambda: not one.is_in)
        assert server.asked - before >= 3
        server.status, before = 1, server.asked
        await until(lambda: one.is_in)
        assert server.asked - before >= 2
    assert one.told == [
        "bad: health NOT_SERVING -> removed from rotation",
        "good: health SERVING -> back in rotation",
    ]


async def test_check_alone_can_be_asked_for() -> None:
    async with serving(healthy=health_of(NOT_SERVING)) as endpoint, clinic(endpoint, mode="check") as one:
        await one.watch.settled()
        assert one.told == ["bad: health NOT_SERVING -> removed from rotation"]


async def test_a_check_that_hangs_is_a_failure_in_time() -> None:
    hanging = asyncio.Event()

    async def answer(_: object) -> bytes:
        await hanging.wait()
        return b"\x08\x01"

    async with serving([checking(answer)]) as endpoint, clinic(endpoint, mode="check", timeout=0.05) as one:
        await until(lambda: one.told)
        assert one.told[0].startswith("bad: health unknown, Check ended: ")
        hanging.set()


def watching(answer: Callable[[bytes, Any], AsyncIterator[bytes]]) -> grpc.GenericRpcHandler[Any, Any]:
    return grpc.method_handlers_generic_handler(HEALTH, {"Watch": grpc.unary_stream_rpc_method_handler(answer)})


async def test_a_watch_without_an_answer_takes_the_backend_out_in_time() -> None:
    over = asyncio.Event()

    async def answer(_: bytes, context: object) -> AsyncIterator[bytes]:
        await over.wait()
        yield b"\x08\x01"
        await asyncio.Event().wait()

    async with serving([watching(answer)]) as endpoint, clinic(endpoint, timeout=0.05) as one:
        await until(lambda: one.told)
        assert one.told == ["bad: health unknown, no answer within 0.05s -> removed from rotation"]
        over.set()
        await until(lambda: one.is_in)  # late, and believed all the same


async def test_a_watch_that_is_refused_takes_the_backend_out_and_is_tried_again() -> None:
    asked = 0

    async def answer(_: bytes, context: Context) -> AsyncIterator[bytes]:
        nonlocal asked
        asked += 1
        if asked == 1:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")
        yield b"\x08\x01"
        await asyncio.Event().wait()

    async with serving([watching(answer)]) as endpoint, clinic(endpoint) as one:
        await one.watch.settled()
        assert not one.is_in
        assert one.told[0].startswith("bad: health unknown, Watch ended: answered PERMISSION_DENIED: not you")
        await until(lambda: one.is_in)


async def test_a_backend_whose_server_is_gone_is_connecting_until_it_has_answered_anew() -> None:
    async with serving(healthy=health_of(SERVING)) as endpoint:
        pass
    async with clinic(endpoint) as one:
        await one.watch.settled()  # who cannot be reached is not waited for
        assert standing(one.peer) == "connecting"
        async with serving(healthy=health_of(SERVING), port=endpoint.port):
            await until(lambda: one.is_in, 5)
            assert one.told == []  # that there is no connection others tell
        await until(lambda: not one.is_in)  # what it says of its end is more than that


async def test_a_backend_that_leaves_is_let_go_of() -> None:
    async with serving(healthy=health_of(SERVING)) as endpoint, clinic(endpoint) as one:
        await one.watch.settled()
        one.watch.left(one.peer)
        one.watch.left(one.peer)
        assert not one.watch._tasks


async def test_nobody_waits_longer_than_an_answer_may_take() -> None:
    with refused_port() as endpoint:
        async with clinic(endpoint, timeout=0.05) as one:
            await asyncio.wait_for(one.watch.settled(), 2)
            assert not one.is_in


@pytest.mark.parametrize("message", [b"\xff\xff", b"\x08\x63"])
async def test_what_is_no_health_status_is_not_serving(message: bytes) -> None:
    async def answer(_: bytes, context: object) -> AsyncIterator[bytes]:
        yield message
        await asyncio.Event().wait()

    async with serving([watching(answer)]) as endpoint, clinic(endpoint) as one:
        await one.watch.settled()
        assert one.told == ["bad: health UNKNOWN -> removed from rotation"]
