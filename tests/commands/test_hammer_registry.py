"""What the registry does between the moment a run reads it and its first call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from lbctl.balance.policies.table import POLICIES
from lbctl.clock import SystemClock
from lbctl.commands.hammer import Finished, Hammer, Tell, run
from lbctl.demo.etcd_server import EtcdServer
from lbctl.errors import CannotCall, NotFound
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.load.controls import Controls, Question
from lbctl.load.plan import Plan
from lbctl.model import Endpoint
from lbctl.stats.report import Report
from tests.fakes import until
from tests.rpc.servers import V1, Reflection, checking, echo_files, reflecting, serving

OK: bytes = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING).SerializeToString()
REQUEST = Hammer(
    service="echo",
    method="grpc.health.v1.Health/Check",
    policy=POLICIES["smooth_wrr"],
    plan=Plan(concurrency=4, requests=40, duration_s=None, timeout_s=5.0),
    seed=1,
)


class NoScreen:
    def showing(self, report: object, controls: object) -> nullcontext[None]:
        return nullcontext()


class Meddling(Reflection):
    """Server reflection that does something before it answers: the service was read, and is not followed yet."""

    def __init__(self, meddle: Callable[[], Awaitable[object]]) -> None:
        super().__init__(echo_files(), ["grpc.health.v1.Health", "test.Echo"])
        self._meddle = meddle

    async def converse(self, questions: Any, context: object) -> AsyncIterator[Any]:  # noqa: ANN401 # as the base
        await self._meddle()
        async for answer in super().converse(questions, context):
            yield answer


@asynccontextmanager
async def backend(meddle: Callable[[], Awaitable[object]]) -> AsyncIterator[Endpoint]:
    async def answer(_: object) -> bytes:
        return OK

    handlers: list[grpc.GenericRpcHandler[Any, Any]] = [checking(answer), *reflecting(Meddling(meddle), V1)]
    async with serving(handlers) as endpoint:
        yield endpoint


async def hammered(etcd: Etcd, request: Hammer = REQUEST) -> Finished:
    return await run(etcd, SystemClock(), request, NoScreen(), Tell(note=lambda line: None, detail=lambda line: None))


async def put(etcd: Etcd, endpoint: Endpoint) -> bytes:
    key = f"/services/echo/{endpoint}".encode()
    await etcd.put(key, f"{endpoint}|1".encode())
    return key


async def test_a_registry_lost_before_the_first_call_does_not_hold_the_run_up(own_etcd: EtcdServer) -> None:
    async with (
        backend(own_etcd.kill) as endpoint,
        Etcd(EtcdConfig((own_etcd.endpoint,), dial_timeout_s=0.3)) as etcd,
    ):
        await put(etcd, endpoint)
        report = (await hammered(etcd)).report
    assert report is not None
    assert (report.ok, report.errors) == (40, 0)
    kinds = [(event.kind, event.text.partition(":")[0]) for event in report.events]
    assert kinds == [("resync", "registry lost"), ("joined", "resolved /services/echo/")]


async def test_a_service_emptied_before_the_first_call_has_no_usable_instances(etcd: Etcd) -> None:
    keys: list[bytes] = []

    async def unregister() -> None:
        await etcd.delete(keys[0])

    async with backend(unregister) as endpoint:
        keys.append(await put(etcd, endpoint))
        with pytest.raises(NotFound, match='service "echo" has no usable instances'):
            await hammered(etcd)


async def test_what_joined_before_the_first_call_is_called(etcd: Etcd) -> None:
    async def nothing() -> None:
        return

    async with backend(nothing) as late:

        async def register() -> None:
            await put(etcd, late)

        async with backend(register) as early:
            await put(etcd, early)
            report = (await hammered(etcd)).report
    assert report is not None
    assert sorted(row.picks for row in report.backends) == [20, 20]
    assert [event.text for event in report.events] == ["resolved /services/echo/: 2 backends of echo"]


async def test_the_same_address_under_two_keys_is_one_backend_as_the_newer_key_has_it(etcd: Etcd) -> None:
    async def nothing() -> None:
        return

    async with backend(nothing) as endpoint:
        await put(etcd, endpoint)
        await etcd.put(b"/services/echo/127.0.0.1:9", f"{endpoint}|3".encode())
        report = (await hammered(etcd)).report
    assert report is not None
    assert [(row.address, row.picks, row.weight) for row in report.backends] == [(str(endpoint), 40, 3)]
    assert "registered under 2 keys: it counts once" in [event.text for event in report.events]


async def test_a_service_may_be_meant_by_its_prefix(etcd: Etcd) -> None:
    async def nothing() -> None:
        return

    async with backend(nothing) as endpoint:
        await put(etcd, endpoint)
        report = (await hammered(etcd, replace(REQUEST, service="/services/echo/"))).report
    assert report is not None
    assert (report.service, report.ok) == ("echo", 40)


def kratos(*endpoints: str) -> bytes:
    return json.dumps({"id": "1", "name": "echo", "version": "", "metadata": {}, "endpoints": endpoints}).encode()


async def test_an_endpoint_of_another_protocol_is_not_called(etcd: Etcd) -> None:
    async def nothing() -> None:
        return

    async with backend(nothing) as endpoint:
        await etcd.put(b"/microservices/echo/1", kratos(f"http://127.0.0.1:{endpoint.port + 1}", f"grpc://{endpoint}"))
        report = (await hammered(etcd)).report
    assert report is not None
    assert [(row.address, row.ok) for row in report.backends] == [(str(endpoint), 40)]
    assert "resolved /microservices/echo/: 1 backend of echo" in [event.text for event in report.events]


async def test_a_service_that_speaks_no_grpc_at_all_is_told_so(etcd: Etcd) -> None:
    await etcd.put(b"/microservices/echo/1", kratos("http://127.0.0.1:8000", "tcp://127.0.0.1:7000"))
    with pytest.raises(CannotCall, match='no instance of "echo" speaks gRPC: http, tcp'):
        await hammered(etcd)


class Draining:
    """A screen at which somebody drains a backend for every client, and stops the run once it is out."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.questions: list[Question] = []

    @asynccontextmanager
    async def showing(self, report: Callable[[], Report], controls: Controls) -> AsyncIterator[None]:
        async def play() -> None:
            registry = controls.registry
            registry.turn(self.address)
            await until(lambda: registry.question is not None or _drains(report()))
            if registry.question is not None:
                self.questions.append(registry.question)
                registry.answer(yes=True)
                await until(lambda: report().backends[0].weight == 0)
            controls.stop()

        playing = asyncio.create_task(play())
        try:
            yield
        finally:
            await playing


def _drains(report: Report) -> list[str]:
    return [event.text for event in report.events if event.kind == "drain"]


@pytest.mark.parametrize("refusal", ["", "--read-only: nothing is written to etcd"])
async def test_a_backend_is_drained_for_every_client_from_the_screen(own_etcd: EtcdServer, refusal: str) -> None:
    async with (
        backend(_nothing) as endpoint,
        backend(_nothing) as other,
        Etcd(EtcdConfig((own_etcd.endpoint,))) as etcd,
    ):
        key = await put(etcd, min(endpoint, other))
        await put(etcd, max(endpoint, other))
        address = key.decode().removeprefix("/services/echo/")
        screen, endless = Draining(address), replace(REQUEST.plan, requests=None, duration_s=60.0)
        wanted = replace(REQUEST, plan=endless, read_only=refusal)
        tell = Tell(note=lambda line: None, detail=lambda line: None)
        report = (await run(etcd, SystemClock(), wanted, screen, tell)).report
        held = await etcd.get(key)
    assert report is not None
    assert held is not None
    if refusal:
        assert (_drains(report), screen.questions) == ([f"drain: not done: {refusal}"], [])
        assert held.value == f"{address}|1".encode()
        return
    assert screen.questions == [
        (f"Drain {address} for every client?", "weight 1 -> 0, 1/2 in rotation"),
    ]
    assert held.value == f"{address}|0".encode()
    assert _drains(report)[0].startswith(f"{address} drained for every client at revision ")
    assert report.errors == 0


async def _nothing() -> None:
    """Leave the registry alone."""
