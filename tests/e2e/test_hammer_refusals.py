"""What cannot be run: told in one sentence with what to try, by exit status, and nothing on standard output."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint
from tests.e2e.conftest import Standing
from tests.e2e.runs import Ended, events_of, hammer, row_of
from tests.rpc.servers import (
    V1,
    Reflection,
    answering,
    echo_files,
    reflecting,
    refused_port,
    serving,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RAW = ("test.Echo/Say", "--binary-file", "/dev/null")
HTTP1 = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def echo_server(*, tls: bool = False) -> AsyncIterator[Endpoint]:
    """A server whose reflection describes test.Echo, and that has no health check."""
    async with serving(reflecting(Reflection(echo_files(), ["test.Echo"]), V1), tls=tls) as endpoint:
        yield endpoint


def refused(done: Ended, status: int, message: str, hint: str = "", *, notes: str = "") -> None:
    """Hold a refusal to its exact words."""
    expected = f"{notes}error: {message}\n" + (f"hint: {hint}\n" if hint else "")
    assert (done.status, done.err, done.out) == (status, expected, "")


async def test_an_unknown_service_is_told_with_the_nearest_names(demo: Standing) -> None:
    done = await hammer("ecko", etcd=demo.etcd)
    refused(done, 4, 'no service "ecko" in etcd', "did you mean: echo")


async def test_a_name_like_none_is_sent_to_the_list(demo: Standing) -> None:
    done = await hammer("zebra", etcd=demo.etcd)
    refused(done, 4, 'no service "zebra" in etcd', "see what is registered: lbctl ls")


async def test_an_etcd_that_is_down_is_told_within_the_time_to_dial() -> None:
    with refused_port() as endpoint:
        done = await hammer("echo", "--dial-timeout", "300ms", etcd=str(endpoint))
    message = f"etcd {endpoint} did not answer within 0.3s (connection refused)"
    refused(done, 3, message, "set --endpoints or ETCDCTL_ENDPOINTS, or start one with: lbctl demo")


async def test_a_service_whose_keys_are_all_unusable_is_not_called(etcd: Etcd) -> None:
    await etcd.put(b"/services/broken/127.0.0.1:5001", b"no address|5")
    done = await hammer("broken", etcd=etcd.endpoints[0])
    refused(done, 4, 'service "broken" has no usable instances', "see why: lbctl ls broken")


async def test_a_backend_that_refuses_the_connection_is_named_with_its_reason(etcd: Etcd) -> None:
    with refused_port() as endpoint:
        await etcd.put(f"/services/gone/{endpoint}".encode(), f"{endpoint}|5".encode())
        done = await hammer("gone", etcd=etcd.endpoints[0])
    message = f'the only backend of "gone" cannot be asked for its methods: {endpoint} refused the connection'
    refused(done, 5, message, "is it running? lbctl ls gone shows what is registered")


async def test_backends_that_all_refuse_are_told_before_any_call_is_made() -> None:
    with refused_port() as first, refused_port() as second:
        done = await hammer("--backends", f"{first},{second}", *RAW)
    one, other = sorted((str(first), str(second)))
    message = f'none of the 2 backends of "test.Echo" can be called: refused the connection ({one}, {other})'
    refused(done, 5, message, "is it running?", notes="connecting to 2 backends of test.Echo ...\n")


async def test_a_server_without_reflection_is_told_what_to_do() -> None:
    async with serving() as endpoint:
        done = await hammer("--backends", str(endpoint), "shop", "Cart/Add")
    message = f'the only backend of "shop" does not answer gRPC server reflection: {endpoint} answered UNIMPLEMENTED'
    hint = (
        "turn reflection on in the server, give --protoset FILE or --proto FILE, or the "
        "full method and raw bytes: pkg.Service/Method --binary-file FILE"
    )
    refused(done, 5, message, hint)


async def test_a_server_without_a_health_check_needs_a_method() -> None:
    async with echo_server() as endpoint:
        done = await hammer("--backends", str(endpoint))
    message = f"no METHOD given, and {endpoint} does not offer grpc.health.v1.Health"
    hint = (
        "give one of its methods: test.Echo/Say, test.Echo/Watch (server streaming), "
        "test.Echo/Push (client streaming), test.Echo/Chat (bidirectional streaming)"
    )
    refused(done, 2, message, hint)


@pytest.mark.parametrize(
    ("method", "status", "message", "hint"),
    [
        ("Echo/Sya", 4, 'no method "Echo/Sya"', "did you mean test.Echo/Say?"),
        ("test.Echo", 4, '"test.Echo" is a service, not a method', None),
        ("/", 2, '"/" is not a method name', "write pkg.Service/Method, Service/Method or Method"),
    ],
)
async def test_a_method_that_cannot_be_called_is_told_with_those_that_can(
    method: str, status: int, message: str, hint: str | None
) -> None:
    async with echo_server() as endpoint:
        done = await hammer("--backends", str(endpoint), "shop", method)
    if hint is None:
        hint = "its methods: test.Echo/Say, test.Echo/Watch, test.Echo/Push, test.Echo/Chat"
    refused(done, status, message, hint)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"message": }', "-d: request is not valid JSON: line 1 column 13: expecting value"),
        ('{"message": "a",\n "b" 1}', "-d: request is not valid JSON: line 2 column 6: expecting ':' delimiter"),
        ('{"mesage": "a"}', 'test.Text has no field "mesage"; did you mean "message"?'),
        ('{"message": 5}', 'field "message" must be a string, not 5'),
        ("[1]", None),
    ],
)
async def test_a_bad_request_message_is_told_with_its_place(data: str, message: str | None) -> None:
    async with echo_server() as endpoint:
        done = await hammer("--backends", str(endpoint), "shop", "Say", "-d", data)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: {message or ''}")
    assert "internal" not in done.err


async def test_bad_json_on_standard_input_is_told_by_that_name() -> None:
    async with echo_server() as endpoint:
        done = await hammer("--backends", str(endpoint), "shop", "Say", "-d", "@", stdin=b'{\n "message": x}')
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: -d: standard input is not valid JSON: line 2 column 13: expecting value")


@pytest.mark.parametrize(
    ("more", "begins"),
    [
        ((), 'the only backend of "shop" cannot be asked for its methods: '),
        (RAW[1:], 'the only backend of "shop" cannot be called: '),
    ],
)
async def test_a_server_that_speaks_tls_is_recognised_with_and_without_reflection(
    more: tuple[str, ...], begins: str
) -> None:
    async with echo_server(tls=True) as endpoint:
        done = await hammer("--backends", str(endpoint), "shop", "test.Echo/Say", *more)
    assert (done.status, done.out) == (5, "")
    assert f"error: {begins}{endpoint} speaks TLS, not plaintext HTTP/2\n" in done.err


@pytest.mark.parametrize(
    ("more", "begins"),
    [
        ((), 'the only backend of "shop" cannot be asked for its methods: '),
        (RAW[1:], 'the only backend of "shop" cannot be called: '),
    ],
)
async def test_a_server_that_speaks_http_1_is_recognised_with_and_without_reflection(
    more: tuple[str, ...], begins: str
) -> None:
    async with answering(HTTP1) as endpoint:
        done = await hammer("--backends", str(endpoint), "shop", "test.Echo/Say", *more)
    assert (done.status, done.out) == (5, "")
    assert f"error: {begins}{endpoint} speaks HTTP/1.x, not HTTP/2\n" in done.err


@pytest.mark.parametrize("kind", ["http1", "tls", "refused"])
async def test_one_bad_backend_of_three_is_left_out_and_said(kind: str, demo: Standing) -> None:
    async with bad_backend(kind) as endpoint:
        good = demo.backends[1:]
        backends = ",".join((str(endpoint), *good))
        done = await hammer("--backends", backends, "-n", "200", "-o", "json")
    document = done.document
    assert done.status == 0
    bad = row_of(document, str(endpoint))
    reasons = {
        "http1": "peer speaks HTTP/1.x, not HTTP/2",
        "tls": "connection closed by peer before its HTTP/2 SETTINGS: it may want TLS",
        "refused": "connection refused",
    }
    assert (bad["state"], bad["reason"]) == ("transient_failure", reasons[kind])
    assert (bad["picks"], bad["ok"], bad["errors"], bad["share"], bad["latency_ms"]) == (0, 0, 0, 0.0, None)
    assert (document["ok"], document["errors"]) == (200, 0)
    assert [row_of(document, each)["picks"] for each in good] == [100, 100]
    assert (str(endpoint), reasons[kind]) in events_of(document, "health")
    assert f"event  00:00 x {endpoint} {reasons[kind]}\n" in done.err


@asynccontextmanager
async def bad_backend(kind: str) -> AsyncIterator[Endpoint]:
    match kind:
        case "http1":
            async with answering(HTTP1) as endpoint:
                yield endpoint
        case "tls":
            async with echo_server(tls=True) as endpoint:
                yield endpoint
        case _:
            with refused_port() as endpoint:
                yield endpoint


async def test_nothing_is_sent_where_the_result_could_not_be_saved(demo: Standing) -> None:
    done = await hammer("echo", "--save", "/nonexistent/run.json", etcd=demo.etcd)
    refused(
        done, 2, "--save: cannot write /nonexistent/run.json: no such file or directory", "see: lbctl hammer --help"
    )


async def test_a_disk_that_is_full_does_not_cost_the_result(demo: Standing) -> None:
    done = await hammer("echo", "-n", "10", "-o", "json", "--save", "/dev/full", etcd=demo.etcd)
    assert done.status == 1
    assert json.loads(done.out)["ok"] == 10
    assert done.err.endswith(
        "error: --save: cannot write /dev/full: no space left on device\n"
        "hint: the result was printed; -o json prints what the file was to hold\n"
    )
