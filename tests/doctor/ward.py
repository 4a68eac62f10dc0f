"""Backends with one fault each, ways to register them, and an examination of them all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import grpc
from grpc_health.v1 import health_pb2

from lbctl.balance.load_report import LoadReport, encoded
from lbctl.balance.policies.table import BY_NAME
from lbctl.clock import Clock, SystemClock
from lbctl.commands.doctor import run
from lbctl.doctor.case import Order
from lbctl.doctor.diagnosis import Diagnosis
from lbctl.doctor.table import selected
from lbctl.etcd.client import Etcd
from lbctl.etcd.stubs import pb
from lbctl.model import Endpoint, Instance
from lbctl.rpc import orca
from lbctl.rpc.access import plain
from lbctl.suggestion import Again
from tests.rpc.servers import V1, Reflection, checking, echo_files, health_of, reflecting, serving

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
OFFERS = ("test.Echo", "grpc.health.v1.Health")
TTL_S = 600


@asynccontextmanager
async def backend(
    *,
    status: health_pb2.HealthCheckResponse.ServingStatus | None = SERVING,
    offers: tuple[str, ...] | None = OFFERS,
    tls: bool = False,
    delay_s: float = 0.0,
    report: LoadReport | None = None,
) -> AsyncIterator[Endpoint]:
    """A server that is well but for what is said; without ``status`` it has no health, without ``offers`` no schema."""
    handlers = [] if offers is None else reflecting(Reflection(echo_files(), offers), V1)
    if report is not None:
        handlers.append(_reporting(report))
    if delay_s:
        handlers.append(_slow(delay_s))
    healthy = None if status is None or delay_s else health_of(status)
    async with serving(handlers, healthy=healthy, tls=tls) as endpoint:
        yield endpoint


def _slow(delay_s: float) -> grpc.GenericRpcHandler[Any, Any]:
    async def check(_: object) -> bytes:
        await asyncio.sleep(delay_s)
        return bytes(health_pb2.HealthCheckResponse(status=SERVING).SerializeToString())

    return checking(check)


def _reporting(report: LoadReport) -> grpc.GenericRpcHandler[Any, Any]:
    async def stream(request: bytes, _: object) -> AsyncIterator[bytes]:
        yield encoded(report)

    return grpc.method_handlers_generic_handler(
        orca.SERVICE, {orca.METHOD: grpc.unary_stream_rpc_method_handler(stream)}
    )


class Registry:
    """Keys of a test's own, under one lease that lasts unless said otherwise."""

    def __init__(self, etcd: Etcd, lease: int) -> None:
        self.etcd = etcd
        self._lease = lease

    async def add(
        self,
        endpoint: Endpoint | str,
        weight: int | str = 1,
        *,
        service: str = "echo",
        name: str = "",
        lease: int | None = None,
    ) -> str:
        """Register in lbctl's own layout; returns the key."""
        return await self.put(f"/services/{service}/{name or endpoint}", f"{endpoint}|{weight}", lease)

    async def add_json(self, endpoint: Endpoint, service: str, **metadata: str) -> str:
        """Register in the layout of etcd's own Go naming."""
        value = json.dumps({"Op": 0, "Addr": str(endpoint), "Metadata": metadata or None})
        return await self.put(f"/services/{service}/{endpoint}", value)

    async def put(self, key: str, value: str, lease: int | None = None) -> str:
        await self.etcd.put(key.encode(), value.encode(), self._lease if lease is None else lease)
        return key


async def registry_in(etcd: Etcd) -> Registry:
    return Registry(etcd, await etcd.grant(TTL_S))


async def examined(
    etcd: Etcd | None,
    service: str | None = None,
    *,
    select: tuple[str, ...] = (),
    policy: str = "smooth_wrr",
    probe: int = 0,
    canary: bool = False,
    prometheus: str = "",
    clock: Clock | None = None,
    timeout_s: float = 5.0,
    given: tuple[Instance, ...] = (),
    again: Again | None = None,
) -> Diagnosis:
    """Make these checks, all unless said otherwise."""
    checks = selected(select, ())
    order = Order(
        policy=BY_NAME[policy],
        access_for=plain,
        service=service,
        timeout_s=timeout_s,
        probe=probe,
        canary=canary,
        prometheus=prometheus,
        codes=frozenset(check.code for check in checks),
        given=given,
        again=again or Again(),
    )
    return await run(etcd, order, checks, clock or SystemClock(), Random(7))


def seen(found: Diagnosis) -> list[tuple[str, str, str]]:
    """Every finding as level, code and subject, in order of code."""
    return sorted((each.code, each.level.word, each.symptom.subject or each.symptom.service) for each in found.findings)


async def raise_alarm(etcd: Etcd) -> None:
    """Have etcd say that it has no space left; it takes no writes from then on."""
    request = pb.AlarmRequest(action=pb.AlarmRequest.ACTIVATE, alarm=pb.NOSPACE, memberID=await _member(etcd))
    await etcd.session.call(lambda channel: channel.maintenance.Alarm, request, repeatable=False)


async def _member(etcd: Etcd) -> int:
    reply = await etcd.session.call(lambda channel: channel.maintenance.Status, pb.StatusRequest(), repeatable=True)
    return int(reply.header.member_id)
