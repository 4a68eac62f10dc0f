"""How backends are reached behind taps, and why they are not: the reason is told, and the others serve."""

from __future__ import annotations

import pytest

from lbctl.clock import SystemClock
from lbctl.load.run import Run
from lbctl.model import Endpoint
from lbctl.rpc.tls import Credentials, TlsOptions
from tests.rpc.grpcio.backends import CERTS, Backend, backends
from tests.rpc.grpcio.runs import consistent, instance, row, run_to_its_end, task
from tests.rpc.servers import answering, black_hole, refused_port


async def test_the_taps_speak_tls_to_the_backends() -> None:
    secure = Credentials(TlsOptions(ca=CERTS / "ca.pem")).secure("localhost")
    async with backends(2, tls=True) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=100, secure=secure), servers)
    consistent(report, servers)
    assert [backend.unary for backend in servers] == [50, 50]


async def test_behind_taps_certificates_need_not_be_verified() -> None:
    secure = Credentials(TlsOptions(skip_verify=True)).secure("localhost")
    async with backends(1, tls=True) as servers:
        report = await run_to_its_end(task("grpc:pick_first", requests=10, secure=secure), servers)
    assert report.ok == 10


async def test_why_a_backend_cannot_be_reached_is_told_and_the_others_serve() -> None:
    with refused_port() as nobody:
        async with backends(1) as servers:
            report = await run_to_its_end(task("grpc:round_robin", requests=50), [Backend(nobody), *servers])
    consistent(report, servers)
    assert report.ok == 50
    assert row(report, Backend(nobody)).picks == 0
    assert any("connection refused" in event.text for event in report.events)


@pytest.mark.parametrize("policy", ["grpc:round_robin", "grpc:pick_first"])
async def test_where_nobody_can_be_reached_each_reason_is_known(policy: str) -> None:
    with refused_port() as one, refused_port() as other:
        run = Run(task(policy), SystemClock())
        try:
            run.apply([instance(Backend(one)), instance(Backend(other))])
            await run.backends.settled()
            assert run.backends.failures() == {str(one): "connection refused", str(other): "connection refused"}
        finally:
            await run.aclose()


async def test_a_backend_that_accepts_and_says_nothing_is_given_up_in_the_time_it_has() -> None:
    with black_hole() as silent:
        async with backends(1) as servers:
            wanted = task("grpc:round_robin", requests=20, connect_timeout_s=0.2)
            report = await run_to_its_end(wanted, [Backend(silent), *servers])
    assert (report.ok, row(report, Backend(silent)).picks) == (20, 0)
    assert any(event.text == "no HTTP/2 SETTINGS within 0.2s" for event in report.events)


async def test_a_backend_that_speaks_http1_is_named() -> None:
    async with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as foreign, backends(1) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=20), [Backend(foreign), *servers])
    assert report.ok == 20
    assert any("HTTP/1.x" in event.text for event in report.events)


async def test_a_channel_over_an_address_that_is_none_ends() -> None:
    nowhere = Backend(Endpoint("no such host", 1))
    async with backends(1) as servers:
        report = await run_to_its_end(task("grpc:round_robin", requests=10), [nowhere, *servers])
    assert report.ok == 10
