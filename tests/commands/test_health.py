"""``lbctl health`` asks every backend once, or follows it, and tells what it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from jsonschema import Draft202012Validator

from lbctl.commands.health import HealthCheck, run, watch
from lbctl.commands.ls import Ls
from lbctl.discovery.checkup import Checkup, Row
from lbctl.errors import NotFound
from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint
from lbctl.rpc.access import plain
from lbctl.view.health import health_csv, health_document, health_notes
from tests.fakes import until
from tests.rpc.servers import checking, health_of, refused_port, serving

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "health.schema.json"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
PATIENCE_S = 20
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


def wanted(service: str | None = "echo", *, asked: str = "", strict: bool = False) -> HealthCheck:
    return HealthCheck(Ls(service), plain, asked, timeout_s=5, interval_s=0.01, strict=strict)


async def put(etcd: Etcd, endpoint: Endpoint, weight: int = 1, service: str = "echo") -> None:
    await etcd.put(f"/services/{service}/{endpoint}".encode(), f"{endpoint}|{weight}".encode())


def said(found: Checkup) -> dict[str, str]:
    return {row.instance.address: str(row.health.status) for row in found.rows}


async def test_every_backend_is_asked_and_one_that_does_not_serve_fails(etcd: Etcd) -> None:
    async with serving(healthy=health_of(SERVING)) as well, serving(healthy=health_of(NOT_SERVING)) as ill:
        with refused_port() as gone:
            for endpoint in (well, ill, gone):
                await put(etcd, endpoint)
            found = await run(etcd, wanted())
    assert said(found) == {str(well): "SERVING", str(ill): "NOT_SERVING", str(gone): "REFUSED"}
    assert not found.healthy
    assert {row.instance.address for row in found.failing} == {str(ill), str(gone)}
    assert list(health_notes(found)) == ["1 of 3 in the rotation serve"]
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(health_document(found))
    assert len(health_csv(found).splitlines()) == 4


async def test_one_that_nobody_picks_may_be_down(etcd: Etcd) -> None:
    async with serving(healthy=health_of(SERVING)) as well, serving(healthy=health_of(NOT_SERVING)) as drained:
        await put(etcd, well)
        await put(etcd, drained, weight=0)
        found = await run(etcd, wanted())
    assert found.healthy
    assert list(health_notes(found)) == ["1 of 1 in the rotation serve; 1 out of it"]


async def test_one_that_nobody_picks_does_not_count_as_serving_without_health_checks(etcd: Etcd) -> None:
    async with serving() as silent, serving() as drained, serving(healthy=health_of(SERVING)) as well:
        await put(etcd, silent)
        await put(etcd, well)
        await put(etcd, drained, weight=0)
        found = await run(etcd, wanted())
    assert list(health_notes(found)) == [
        "2 of 2 in the rotation serve; 1 out of it",
        "note: 1 backend without grpc.health.v1 counted as serving (--strict: as failing)",
    ]


async def test_where_nobody_is_in_the_rotation_it_is_not_healthy(etcd: Etcd) -> None:
    async with serving(healthy=health_of(SERVING)) as endpoint:
        await put(etcd, endpoint, weight=0)
        assert not (await run(etcd, wanted())).healthy


async def test_a_server_without_health_checks_fails_only_where_that_is_asked_for(etcd: Etcd) -> None:
    async with serving() as endpoint:
        await put(etcd, endpoint)
        assert (await run(etcd, wanted())).healthy
        found = await run(etcd, wanted(strict=True))
    assert said(found) == {str(endpoint): "UNIMPLEMENTED"}
    assert not found.healthy


async def test_the_health_of_one_grpc_service_may_be_asked_for(etcd: Etcd) -> None:
    async with serving(healthy=health_of(NOT_SERVING, "shop.Cart")) as endpoint:
        await put(etcd, endpoint)
        assert said(await run(etcd, wanted(asked="shop.Cart"))) == {str(endpoint): "NOT_SERVING"}
        assert said(await run(etcd, wanted(asked="shop.Nobody"))) == {str(endpoint): "SERVICE_UNKNOWN"}


async def test_a_service_without_a_usable_instance_is_an_error_and_an_empty_registry_is_none(etcd: Etcd) -> None:
    assert (await run(etcd, wanted(None))).healthy
    await etcd.put(b"/services/echo/x", b"not an address|1")
    with pytest.raises(NotFound, match='service "echo" has no usable instances'):
        await run(etcd, wanted())


class Heard:
    """What a watch has shown so far."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self._news = asyncio.Event()

    def show(self, row: Row) -> None:
        self.rows.append((row.instance.address, str(row.health.status)))
        self._news.set()

    async def until(self, *row: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while row not in self.rows:
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def watching(etcd: Etcd, service: str | None = "echo") -> AsyncIterator[Heard]:
    heard = Heard()
    task = asyncio.create_task(watch(etcd, wanted(service), Random(1), heard.show, heard.notes.append))
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_watch_tells_every_change_of_a_server_that_has_health_watch(etcd: Etcd) -> None:
    servicer = health_of(SERVING)
    async with serving(healthy=servicer) as endpoint:
        await put(etcd, endpoint)
        async with watching(etcd) as heard:
            await heard.until(str(endpoint), "SERVING")
            await servicer.set("", NOT_SERVING)
            await heard.until(str(endpoint), "NOT_SERVING")
    assert heard.rows == [(str(endpoint), "SERVING"), (str(endpoint), "NOT_SERVING")]


async def test_a_server_without_health_watch_is_checked_again_and_again(etcd: Etcd) -> None:
    answers = [SERVING, SERVING, NOT_SERVING]

    async def check(_: object) -> bytes:
        status = answers.pop(0) if len(answers) > 1 else answers[0]
        return bytes(health_pb2.HealthCheckResponse(status=status).SerializeToString())

    async with serving([checking(check)]) as endpoint:
        await put(etcd, endpoint)
        async with watching(etcd) as heard:
            await heard.until(str(endpoint), "NOT_SERVING")
    assert heard.rows == [(str(endpoint), "SERVING"), (str(endpoint), "NOT_SERVING")]


async def test_a_watch_follows_backends_that_join_and_forgets_those_that_leave(etcd: Etcd) -> None:
    ill = health_of(NOT_SERVING)
    async with serving(healthy=health_of(SERVING)) as first, serving(healthy=ill) as second:
        await put(etcd, first)
        async with watching(etcd) as heard:
            await heard.until(str(first), "SERVING")
            await put(etcd, second)
            await heard.until(str(second), "NOT_SERVING")
            await etcd.delete(f"/services/echo/{second}".encode())
            await put(etcd, Endpoint("127.0.0.1", 1))
            await heard.until("127.0.0.1:1", "REFUSED")
            await ill.set("", SERVING)
    assert (str(second), "SERVING") not in heard.rows


async def test_an_ended_watch_of_a_server_is_told(etcd: Etcd) -> None:
    async def refuse(_: bytes, context: Context) -> None:
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")

    methods = {"Watch": grpc.unary_stream_rpc_method_handler(refuse)}
    handler = grpc.method_handlers_generic_handler("grpc.health.v1.Health", methods)
    async with serving([handler]) as endpoint:
        await put(etcd, endpoint)
        async with watching(etcd) as heard:
            await heard.until(str(endpoint), "ERROR")


async def test_a_watch_of_all_services_waits_for_one_that_can_be_asked(etcd: Etcd) -> None:
    await etcd.put(b"/rpcx/arith/tcp@127.0.0.1:1", b"")
    async with serving(healthy=health_of(SERVING)) as endpoint, watching(etcd, None) as heard:
        await until(lambda: heard.notes, PATIENCE_S)
        await put(etcd, endpoint)
        await heard.until(str(endpoint), "SERVING")
    assert heard.notes == ['no instance of "arith" speaks gRPC: tcp; waiting for others']
