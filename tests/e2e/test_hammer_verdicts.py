"""Exit status 1: dropped calls of an open loop, replies that a check is false of, backends that bend the rules."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Standing
from tests.e2e.runs import Ended, hammer
from tests.scripted import Connection, ScriptedServer, answering
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RAW = ("test.Echo/Say", "--binary-file", "/dev/null", "-o", "json")
SAY = ("Echo/Say", "-d", '{"message": "hi"}')


async def at(server: ScriptedServer, *options: str) -> Ended:
    return await hammer("--backends", str(server.endpoint), *RAW, *options)


# An open loop.


async def test_a_rate_sends_that_many_calls_a_second(demo: Standing) -> None:
    done = await hammer("echo", "-r", "500", "-n", "200", "-o", "json", etcd=demo.etcd)
    document = done.document
    assert done.status == 0
    assert (document["ok"], document["dropped"]) == (200, 0)
    assert document["load"] | {"timeout_s": 0} == {
        "mode": "open",
        "requests": 200,
        "duration_s": None,
        "concurrency": None,
        "connections": 1,
        "rps": 500.0,
        "arrival": "constant",
        "stages": [{"seconds": None, "first_rps": 500.0, "last_rps": 500.0}],
        "timeout_s": 0,
        "latency_correction": True,
        "count_errors": False,
    }
    assert document["duration_s"] >= 0.39  # the last of 200 calls is due 398 ms after the first


async def test_a_rate_of_0_is_a_closed_loop(demo: Standing) -> None:
    document = (await hammer("echo", "-r", "0", "-n", "20", "-o", "json", etcd=demo.etcd)).document
    assert (document["load"]["mode"], document["load"]["rps"]) == ("closed", None)


@pytest.mark.parametrize("bound", ["-c", "--max-outstanding"])
async def test_calls_that_may_not_be_in_flight_are_dropped_and_that_is_1(bound: str) -> None:
    async def behave(peer: Connection) -> None:
        first = await peer.request()  # and no answer to anything until our deadline
        await peer.gone()
        assert first.stream == 1

    async with ScriptedServer(behave) as server:
        done = await at(server, "-r", "1k", "-z", "100ms", bound, "3", "-t", "300ms")
    document = done.document
    assert (done.status, document["requests"], document["errors"]) == (1, 3, 3)
    assert document["dropped"] > 50
    assert done.err.endswith(
        f"error: {document['dropped']} calls were dropped: as many as allowed were in flight already\n"
        "hint: lower -r, or allow more: -c and --max-outstanding\n"
    )


async def test_a_bound_of_an_open_loop_needs_one() -> None:
    done = await hammer("--backends", "127.0.0.1:1", *RAW, "--max-outstanding", "5")
    assert (done.status, done.out) == (2, "")
    assert done.err == "error: --max-outstanding is for an open loop\nhint: give a rate too: -r 500\n"


# Checks of replies.


async def test_a_check_that_holds_changes_nothing(demo: Standing) -> None:
    check = 'resp.message == "hi" and resp.backend != "" and resp.sequence > 0'
    done = await hammer("echo", *SAY, "-n", "50", "-o", "json", "--check", check, etcd=demo.etcd)
    assert (done.status, done.document["ok"], done.document["codes"]) == (0, 50, {"OK": 50})


@pytest.mark.parametrize("engine", [(), ("--engine", "grpcio"), ("--engine", "grpcio", "--policy", "grpc:round_robin")])
async def test_replies_that_a_check_is_false_of_are_errors_and_that_is_1(
    engine: tuple[str, ...], demo: Standing
) -> None:
    first = demo.backends[0]
    check = f'resp.backend != "{first}"'
    done = await hammer(
        "echo", *SAY, "-n", "90", "--policy", "round_robin", "-o", "json", "--check", check, *engine, etcd=demo.etcd
    )
    document = done.document
    assert (done.status, document["ok"], document["errors"], document["codes"]) == (1, 60, 30, {"OK": 90})
    (group,) = document["error_groups"]
    assert group == {
        "code": "OK",
        "origin": "client",
        "message": f"check failed: {check}",
        "example": f"check failed: {check}",
        "count": 30,
        "backends": {first: 30},
    }
    assert done.err.endswith(f"error: 30 replies of 90 failed --check: {check}\n")


async def test_a_check_needs_the_schema_also_where_the_message_is_raw(demo: Standing) -> None:
    method = ("demo.echo.v1.Echo/Say", "--binary-file", "/dev/null", "-n", "9", "-o", "json")
    done = await hammer("echo", *method, "--check", 'resp.message == ""', etcd=demo.etcd)
    assert (done.status, done.document["ok"]) == (0, 9)


async def test_a_mistake_in_a_check_is_told_with_its_column_before_any_call(demo: Standing) -> None:
    done = await hammer("echo", *SAY, "--check", "resp.sequense > 0", etcd=demo.etcd)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "error: --check: column 6: demo.echo.v1.SayReply has no field 'sequense'; did you mean 'sequence'?\n"
        "  resp.sequense > 0\n"
        "       ^\n"
        "hint: see: lbctl hammer --help\n"
    )


async def test_what_is_no_expression_is_told_before_anybody_is_asked() -> None:
    done = await hammer("--backends", "127.0.0.1:1", "a.B/C", "--check", "resp.code = 3")
    assert (done.status, done.out) == (2, "")
    expected = "error: --check: column 11: this is not an expression (equal is ==)\n"
    assert done.err == expected + "  resp.code = 3\n            ^\nhint: see: lbctl hammer --help\n"


# Rules of HTTP/2 and gRPC.


def bent(stream: int) -> bytes:
    """A good reply, but for a binary trailer that is none."""
    return h2.okh(stream) + h2.msg(stream) + h2.trailers(stream, 0, ("details-bin", "!!!"))


async def test_bent_rules_are_counted_and_only_strict_makes_them_1() -> None:
    async with ScriptedServer(answering(bent)) as server:
        lenient = await at(server, "-n", "4")
        strict = await at(server, "-n", "4", "--strict")
    assert (lenient.status, strict.status) == (0, 1)
    assert lenient.document["ok"] == strict.document["ok"] == 4
    ((kind, count),) = strict.document["wire"]["anomalies"].items()
    assert count == 4
    assert strict.err.endswith(f"error: --strict: {server.endpoint} {kind}, 4 times\n")


async def test_strict_is_content_with_backends_that_keep_the_rules(demo: Standing) -> None:
    done = await hammer("echo", *SAY, "-n", "50", "--strict", etcd=demo.etcd)
    assert done.status == 0
