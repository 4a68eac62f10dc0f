"""The backend's server, asked over a real connection by grpcio's own client."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from lbctl.balance.load_report import LoadReport, decoded, from_metadata
from lbctl.demo.latency import Behaviour, Fixed
from lbctl.demo.load_meter import LoadMeter
from lbctl.demo.protos import echo_pb2, echo_pb2_grpc, math_pb2, math_pb2_grpc
from lbctl.demo.server import ECHO, REFLECTION, BackendServer
from lbctl.demo.services import MOST_REPLIES
from lbctl.model import Code, Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.caller import Caller
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.orca import STREAM_PATH, stream_core_metrics
from lbctl.wire.limits import Limits
from tests.fakes import until


class Served:
    """A running server and a channel to it."""

    def __init__(self, address: str, channel: grpc.aio.Channel) -> None:
        self.address = address
        self.channel = channel
        self.echo: Any = echo_pb2_grpc.EchoStub(channel)
        self.math: Any = math_pb2_grpc.MathServiceStub(channel)


@asynccontextmanager
async def serving(error_rate: float = 0.0, meter: LoadMeter | None = None) -> AsyncIterator[Served]:
    server = BackendServer()
    await server.start(Behaviour(Fixed(0.0), error_rate, "0"), meter)
    try:
        async with grpc.aio.insecure_channel(str(server.endpoint)) as channel:
            yield Served(str(server.endpoint), channel)
    finally:
        await server.stop(0)


async def reflected(
    served: Served, version: str, request: reflection_pb2.ServerReflectionRequest
) -> reflection_pb2.ServerReflectionResponse:
    ask = served.channel.stream_stream(
        f"/{version}/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    [reply] = [reply async for reply in ask(iter([request]))]
    return reply


async def test_say_tells_the_backend_the_message_and_the_number_of_the_call() -> None:
    async with serving() as served:
        replies = [await served.echo.Say(echo_pb2.SayRequest(message=text)) for text in ("first", "second")]
        assert replies == [
            echo_pb2.SayReply(message="first", backend=served.address, sequence=1),
            echo_pb2.SayReply(message="second", backend=served.address, sequence=2),
        ]


@pytest.mark.parametrize(("count", "sent"), [(0, 1), (1, 1), (3, 3)])
async def test_repeat_sends_as_many_replies_as_asked_for(count: int, sent: int) -> None:
    async with serving() as served:
        replies = [reply async for reply in served.echo.Repeat(echo_pb2.RepeatRequest(message="x", count=count))]
        assert [(reply.message, reply.backend, reply.sequence, reply.index) for reply in replies] == [
            ("x", served.address, 1, index) for index in range(sent)
        ]


async def test_repeat_refuses_to_run_for_ever() -> None:
    async with serving() as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            [_ async for _ in served.echo.Repeat(echo_pb2.RepeatRequest(count=MOST_REPLIES + 1))]
        assert (caught.value.code(), caught.value.details()) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "count 100001 is above 100000",
        )


async def test_collect_answers_once_for_all_messages() -> None:
    async with serving() as served:
        reply = await served.echo.Collect(iter([echo_pb2.SayRequest(message=text) for text in ("a", "b")]))
        assert reply == echo_pb2.CollectReply(message="a\nb", backend=served.address, sequence=1, count=2)


async def test_chat_answers_every_message_before_the_next_is_sent() -> None:
    async with serving() as served:
        call = served.echo.Chat()
        for index, text in enumerate(("a", "b", "c")):
            await call.write(echo_pb2.SayRequest(message=text))
            assert await call.read() == echo_pb2.SayReply(message=text, backend=served.address, sequence=1, index=index)
        await call.done_writing()
        assert await call.code() == grpc.StatusCode.OK


async def test_add_adds_and_tells_the_backend() -> None:
    async with serving() as served:
        reply = await served.math.Add(math_pb2.AddRequest(a=-2, b=44))
        assert reply == math_pb2.AddReply(sum=42, backend=served.address, sequence=1)


async def test_a_sum_beyond_64_bits_is_an_error_of_the_caller() -> None:
    async with serving() as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.math.Add(math_pb2.AddRequest(a=2**63 - 1, b=1))
        assert caught.value.code() == grpc.StatusCode.OUT_OF_RANGE


Ask = Callable[[Served], Any]


@pytest.mark.parametrize(
    "ask",
    [
        lambda served: served.echo.Say(echo_pb2.SayRequest()),
        lambda served: served.echo.Repeat(echo_pb2.RepeatRequest()).read(),
        # without a message: grpcio's own client has an internal error where it writes to a call that has ended
        lambda served: served.echo.Collect(iter(())),
        lambda served: served.echo.Chat(iter(())).read(),
        lambda served: served.math.Add(math_pb2.AddRequest()),
    ],
)
async def test_an_injected_failure_says_that_it_is_one(ask: Ask) -> None:
    async with serving(error_rate=1.0) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(served)
        assert (caught.value.code(), caught.value.details()) == (
            grpc.StatusCode.UNAVAILABLE,
            "injected by lbctl demo --errors",
        )


@pytest.mark.parametrize("service", ["", "demo.echo.v1.Echo", "demo.math.v1.MathService"])
async def test_health_says_serving_even_where_every_call_fails(service: str) -> None:
    async with serving(error_rate=1.0) as served:
        stub = health_pb2_grpc.HealthStub(served.channel)
        reply = await stub.Check(health_pb2.HealthCheckRequest(service=service))
        assert reply.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("version", REFLECTION)
async def test_reflection_lists_every_service_in_both_versions(version: str) -> None:
    async with serving() as served:
        reply = await reflected(served, version, reflection_pb2.ServerReflectionRequest(list_services="*"))
        assert [service.name for service in reply.list_services_response.service] == [
            "demo.echo.v1.Echo",
            "demo.math.v1.MathService",
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ]


@pytest.mark.parametrize("version", REFLECTION)
async def test_reflection_describes_the_methods_in_both_versions(version: str) -> None:
    async with serving() as served:
        for symbol in ("demo.echo.v1.Echo", "demo.echo.v1.Echo.Say"):
            request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)
            reply = await reflected(served, version, request)
            assert list(reply.file_descriptor_response.file_descriptor_proto) == [echo_pb2.DESCRIPTOR.serialized_pb]
        request = reflection_pb2.ServerReflectionRequest(file_containing_symbol="demo.echo.v1.Echo.Sing")
        assert (await reflected(served, version, request)).error_response.error_code == Code.NOT_FOUND


async def test_two_servers_never_share_a_port() -> None:
    servers = [BackendServer() for _ in range(20)]
    try:
        assert len({server.endpoint for server in servers}) == 20
    finally:
        for server in servers:
            await server.stop(0)


def a_meter() -> LoadMeter:
    """Of a backend that can do 200 calls a second, on a clock that stands still."""
    return LoadMeter(200.0, lambda: 10**12)


@asynccontextmanager
async def calling(error_rate: float, meter: LoadMeter) -> AsyncIterator[Caller]:
    """Lbctl's own caller, since grpcio keeps load reports to itself."""
    options = ConnectionOptions(limits=Limits(load_reports=True))
    async with serving(error_rate, meter) as served:
        host, _, port = served.address.rpartition(":")
        async with Access(options=options).caller(Endpoint(host, int(port))) as caller:
            yield caller


@pytest.mark.parametrize("error_rate", [0.0, 1.0])
async def test_with_a_meter_every_reply_reports_the_load(error_rate: float) -> None:
    async with calling(error_rate, a_meter()) as caller:
        for number in (1, 2):
            reply = (await caller.unary(f"/{ECHO}/Say", b"", timeout_s=5.0)).reply
            assert reply.code == (Code.UNAVAILABLE if error_rate else Code.OK)
            report = from_metadata(reply.metadata)
            assert report is not None
            assert report.rps_fractional == number * 10  # in the least time that rates are made of, a tenth of a second
            assert report.eps == number * 10 * error_rate
            assert report.application_utilization == number * 10 / 200
            assert set(report.named_metrics) == {"rif", "latency_ms"}


async def test_with_a_meter_health_checks_report_the_load_too() -> None:
    async with calling(0.0, a_meter()) as caller:
        reply = (await caller.unary("/grpc.health.v1.Health/Check", b"", timeout_s=5.0)).reply
        assert health_pb2.HealthCheckResponse.FromString(reply.message).status == health_pb2.HealthCheckResponse.SERVING
        report = from_metadata(reply.metadata)
        assert report is not None
        assert report.named_metrics == {"rif": 0.0, "latency_ms": 0.0}


async def test_with_a_meter_the_load_is_reported_out_of_band_as_often_as_asked_for() -> None:
    heard: list[bytes] = []
    async with calling(0.0, a_meter()) as caller:
        following = asyncio.create_task(stream_core_metrics(caller, 0.001, heard.append))
        await until(lambda: len(heard) >= 3)
        following.cancel()
    assert decoded(heard[0]) == LoadReport(named_metrics={"rif": 0.0, "latency_ms": 0.0})


async def test_without_a_meter_nobody_offers_load_reports() -> None:
    async with serving() as served:
        stream = served.channel.unary_stream(STREAM_PATH)(b"")
        assert await stream.code() == grpc.StatusCode.UNIMPLEMENTED
