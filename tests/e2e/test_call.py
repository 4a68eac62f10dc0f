"""``lbctl call`` against real servers: the reply, where it came from and why, and every way in which a call fails."""

from __future__ import annotations

import json
import re
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import grpc.aio
import pytest
import yaml

from tests.e2e.calls import Server, called, document, message_of, text
from tests.e2e.conftest import Standing
from tests.e2e.runs import Ended, lbctl, running
from tests.fakes import until
from tests.rpc.servers import CERTS, answering, credentials, refused_port, serving

pytestmark = pytest.mark.e2e

SAY: Final = "test.Echo/Say"


def said(message: str) -> tuple[str, str]:
    return "-d", json.dumps({"message": message})


async def test_the_reply_is_printed_and_where_it_came_from_and_why(demo: Standing) -> None:
    ended = await lbctl("call", "echo", "Echo/Say", "-d", '{"message": "hi"}', etcd=demo.etcd)
    heaviest = demo.backends[0]
    assert (ended.status, json.loads(ended.out)["backend"]) == (0, heaviest)
    assert ended.out.startswith('{"message": "hi", "backend": ')
    assert re.fullmatch(rf"-> {re.escape(heaviest)}  smooth_wrr pick 1, weight 5/7  OK \d[\d.]*[mu]?s\n", ended.err)
    quiet = await lbctl("call", "echo", "Echo/Say", "-q", etcd=demo.etcd)
    assert (quiet.status, quiet.err) == (0, "")


async def test_repeated_calls_go_through_one_policy(demo: Standing) -> None:
    ended = await lbctl("call", "echo", "Echo/Say", "--repeat", "7", "-o", "json", etcd=demo.etcd)
    found = document(ended)
    assert (found["ok"], found["failed"], found["method"]) == (7, 0, "demo.echo.v1.Echo/Say")
    counts = [sum(each["backend"]["address"] == one for each in found["calls"]) for one in demo.backends]
    assert counts == [5, 1, 1]
    assert [each["pick"]["policy"] for each in found["calls"]] == ["smooth_wrr"] * 7
    assert [len(each["replies"]) for each in found["calls"]] == [1] * 7
    assert len(ended.err.splitlines()) == 7


async def test_one_call_is_made_for_each_request_that_is_given(demo: Standing, tmp_path: Path) -> None:
    tmp_path.joinpath("two.json").write_text('{"message": "a"}\n{"message": "b"}\n')
    for given in (("-d", "@two.json"), ("-D", "two.json"), ("-d", '[{"message": "a"}, {"message": "b"}]')):
        ended = await lbctl("call", "echo", "Say", *given, etcd=demo.etcd, cwd=tmp_path)
        assert [json.loads(line)["message"] for line in ended.out.splitlines()] == ["a", "b"]
    three = await lbctl("call", "echo", "Say", "-d", "@two.json", "--repeat", "3", etcd=demo.etcd, cwd=tmp_path)
    assert [json.loads(line)["message"] for line in three.out.splitlines()] == ["a", "b", "a"]


async def test_a_policy_may_be_chosen_and_picks_by_a_key(demo: Standing) -> None:
    by_key = ("call", "echo", "Say", "--policy", "rendezvous", "--hash-key", "field:message")
    first = await lbctl(*by_key, *said("carts-17"), "--repeat", "2", etcd=demo.etcd)
    assert len({json.loads(line)["backend"] for line in first.out.splitlines()}) == 1
    assert "  rendezvous pick 2, key carts-17  OK " in first.err


async def test_a_policy_that_goes_by_no_weight_and_no_key_tells_its_reason(demo: Standing) -> None:
    ended = await lbctl("call", "echo", "Say", "--policy", "random", etcd=demo.etcd)
    assert "  random pick 1: drawn from 3 backends, each with the same chance  OK " in ended.err


async def test_where_every_weight_is_0_that_is_said() -> None:
    async with called() as one, called() as other:
        ended = await lbctl("call", "--backends", f"{one}=0,{other}=0", SAY)
    assert "  smooth_wrr pick 1, every weight is 0  OK " in ended.err


async def test_a_lone_word_beside_backends_is_the_method() -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, "Say", *said("hi"))
        unknown = await lbctl("call", "--backends", address, "Sya")
    assert (ended.status, json.loads(ended.out)["message"]) == (0, "hi")
    assert (unknown.status, unknown.err) == (4, 'error: no method "Sya"\nhint: did you mean test.Echo/Say?\n')


async def test_a_backend_may_be_named_and_no_policy_is_asked(demo: Standing) -> None:
    ended = await lbctl("call", "echo", "Say", "--backend", demo.backends[2], etcd=demo.etcd)
    assert json.loads(ended.out)["backend"] == demo.backends[2]
    assert ended.err.startswith(f"-> {demo.backends[2]}  OK ")
    by_port = await lbctl("call", "echo", "Say", "--backend", demo.backends[1].partition(":")[2], etcd=demo.etcd)
    assert json.loads(by_port.out)["backend"] == demo.backends[1]
    nobody = await lbctl("call", "echo", "Say", "--backend", "127.0.0.1:1", etcd=demo.etcd)
    assert (nobody.status, nobody.out) == (4, "")
    assert nobody.err.startswith('error: "echo" has no backend 127.0.0.1:1\nhint: it has: 127.0.0.1:')


async def test_verbose_tells_the_reasons_and_everything_beside_the_messages() -> None:
    async with called() as address:
        ended = await lbctl(
            "call", "--backends", address, SAY, *said("hi"), "-v",
            *("-H", "authorization: Bearer s3cret", "-H", "x-tenant: a", "--sensitive", "x-plan", "-H", "x-plan: gold"),
        )  # fmt: skip
    lines = ended.err.splitlines()
    assert (ended.status, json.loads(ended.out)) == (0, {"message": "hi", "count": "1"})
    assert f"Why  call 1 goes to {address}" in lines
    assert {"> authorization: ***", "> x-tenant: a", "> x-plan: ***"} <= set(lines)
    assert {"< x-served-by: b1", "< trailer x-cost: 3", "< trailer set-cookie: ***", "< status OK"} <= set(lines)
    assert "s3cret" not in ended.err
    assert "gold" not in ended.err


async def test_metadata_is_sent_with_binary_values_and_variables(tmp_path: Path) -> None:
    server = Server()
    async with called(server) as address:
        ended = await lbctl(
            "call", "--backends", address, SAY, "--expand-headers", "-H", "x-token: ${TOKEN}", "-H", "k-bin: AAE=",
            *("-m", '{"x-several": "one"}'), "-o", "json", environ={"TOKEN": "t0ps3cret"},
        )  # fmt: skip
    (heard,) = server.heard
    assert (heard["x-token"], heard["k-bin"], heard["x-several"]) == ("t0ps3cret", b"\x00\x01", "one")
    (call,) = document(ended)["calls"]
    assert {"name": "x-token", "value": "***"} in call["metadata"]
    assert {"name": "x-cost", "value": "3"} in call["trailers"]
    assert {"name": "x-served-by", "value": "b1"} in call["headers"]
    assert "t0ps3cret" not in ended.out + ended.err
    async with called() as address:
        plain = await lbctl("call", "--backends", address, SAY, "-H", "x-user: ${USER}")
    assert "note: metadata x-user is sent with ${USER} as it stands; --expand-headers replaces it\n" in plain.err


async def test_a_failed_call_ends_with_its_code_and_tells_the_details() -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, SAY, *said("missing"))
        found = await lbctl("call", "--backends", address, SAY, *said("missing"), "-o", "json")
    assert (ended.status, ended.out) == (69, "")
    first, *rest = ended.err.splitlines()
    assert "  NOT_FOUND " in first
    assert rest[0] == "error: NOT_FOUND: no such cart"
    detail = json.loads(rest[1].removeprefix("  detail: "))
    assert detail == {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "CART_GONE", "domain": "shop",
    }  # fmt: skip
    (call,) = document(found)["calls"]
    assert (found.status, call["status"]["code"], call["status"]["details"], call["replies"]) == (69, 5, [detail], [])


async def test_an_unoffered_method_is_told_with_who_to_ask() -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, "test.Admin/Reset")
    assert ended.status == 76
    assert "hint: see who offers it: lbctl methods " in ended.err


async def test_a_reply_that_is_too_large_is_told_with_the_option_that_allows_it() -> None:
    async with called() as address:
        refused = await lbctl("call", "--backends", address, SAY, *said("large"))
        allowed = await lbctl("call", "--backends", address, SAY, *said("large"), "--max-msg-size", "6MiB", "-q")
    assert refused.status == 72
    assert "error: RESOURCE_EXHAUSTED: message of 5242885 bytes is larger than 4194304 (by lbctl)" in refused.err
    assert "hint: allow larger replies: --max-msg-size 6MiB" in refused.err
    assert (allowed.status, len(json.loads(allowed.out)["message"])) == (0, 5 << 20)


async def test_where_nobody_can_be_called_every_backend_has_its_reason() -> None:
    with refused_port() as nobody:
        async with serving(tls=True) as encrypted, answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as web:
            listed = f"{nobody},{encrypted},{web}"
            ended = await lbctl("call", "--backends", listed, SAY)
    assert (ended.status, ended.out) == (5, "")
    assert ended.err.startswith('error: none of the 3 backends of "test.Echo" can be called: ')
    assert f"{nobody} refused the connection" in ended.err
    assert f"{encrypted} speaks TLS, not plaintext HTTP/2" in ended.err
    assert f"{web} speaks HTTP/1.x, not HTTP/2" in ended.err
    assert "hint: give --tls" in ended.err


async def test_of_tls_it_is_told_what_is_wrong_with_it() -> None:
    authority = ("--tls-ca", str(CERTS / "ca.pem"))
    ours = ("--tls-cert", str(CERTS / "client.pem"), "--tls-key", str(CERTS / "client.key"))
    async with called() as address:
        plain = await lbctl("call", "--backends", address, SAY, "--tls")
    async with called(tls=credentials(mutual=True)) as address:
        asked = await lbctl("call", "--backends", address, SAY, *authority)
        shown = await lbctl("call", "--backends", address, SAY, *authority, *ours, *said("hi"))
    assert (plain.status, asked.status, shown.status) == (5, 5, 0)
    assert re.search(r'the only backend of "test.Echo" cannot be called: [\d.]+:\d+ does not speak TLS', plain.err)
    assert "client certificate" in asked.err
    assert json.loads(shown.out)["message"] == "hi"


async def test_who_cannot_be_called_is_left_out_and_said() -> None:
    with refused_port() as nobody:
        async with called() as address:
            ended = await lbctl("call", "--backends", f"{nobody},{address}", SAY, *said("hi"))
    assert ended.status == 0
    assert ended.err.splitlines()[0] == f"note: left out: {nobody} refused the connection"
    assert f"-> {address}  smooth_wrr pick 1, weight 1/1  OK " in ended.err


@pytest.mark.parametrize("spelled", ["unix:{}", "unix://{}", "unix:b.sock"])
async def test_a_unix_socket_is_called_as_localhost(tmp_path: Path, spelled: str) -> None:
    socket = tmp_path / "b.sock"
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(tuple(Server().handlers()))
    server.add_insecure_port(f"unix:{socket}")
    await server.start()
    try:
        ended = await lbctl("call", "--backends", spelled.format(socket), SAY, *said("hi"), "-v", cwd=tmp_path)
    finally:
        await server.stop(None)
    assert (ended.status, json.loads(ended.out)["message"]) == (0, "hi")
    assert ": plaintext, authority localhost" in ended.err


async def test_no_data_is_an_empty_message_and_a_deadline_is_none_or_as_long_as_one_likes() -> None:
    async with called() as address:
        for number, timeout in enumerate(("8784h", "0", "1e12s"), 1):
            ended = await lbctl("call", "--backends", address, SAY, "-t", timeout)
            assert (ended.status, ended.out) == (0, f'{{"count": "{number}"}}\n')


async def test_proxies_of_the_environment_are_not_for_backends() -> None:
    with refused_port() as nobody:
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "grpc_proxy", "ALL_PROXY"), f"http://{nobody}")
        async with called() as address:
            ended = await lbctl("call", "--backends", address, SAY, environ=proxies)
    assert ended.status == 0


async def test_octets_need_nobody_who_describes_the_method(tmp_path: Path) -> None:
    tmp_path.joinpath("hi.bin").write_bytes(text("hi"))
    raw = ("call", "--binary-file", "hi.bin", SAY)
    server = Server()
    async with serving(server.handlers()[:1]) as endpoint:
        ended = await lbctl(*raw, "--backends", str(endpoint), "-o", "json", cwd=tmp_path)
        plain = await lbctl(*raw, "--backends", str(endpoint), cwd=tmp_path)
        unknown = await lbctl("call", SAY, "--backends", str(endpoint))
    assert server.messages == ["hi", "hi"]
    (call,) = document(ended)["calls"]
    assert (document(ended)["described_by"], call["replies"]) == (None, ["CgJoaRAB"])
    assert plain.out == '"CgJoaRAC"\n'
    assert unknown.status == 5
    assert "--protoset FILE" in unknown.err


async def test_a_reply_that_nobody_can_read_is_told_with_who_sent_it() -> None:
    async with called() as address:
        say = ("call", "--backends", address, SAY, *said("garbage"))
        ended = await lbctl(*say, "--repeat", "2")
        whole = await lbctl(*say, "-o", "json")
        checked = await lbctl(*say, "--check", 'resp.message == "hi"')
        raw = await lbctl(*say, "-o", "raw")
        every = await lbctl(*say, "--each")
    assert (ended.status, ended.out, checked.status) == (5, "", 5)
    assert ended.err.count(f"-> {address}  ") == 2
    assert "error: the reply is not a test.Text message\nhint: its octets are shown by -o raw" in ended.err
    (call,) = document(whole)["calls"]
    assert (call["ok"], call["status"]["name"], call["received"]) == (False, "OK", 1)
    assert call["replies"] == [{"@error": "the reply is not a test.Text message", "@value": "CgVh"}]
    assert (raw.status, raw.out) == (0, "\n\x05a")
    assert every.status == 1
    assert every.out.splitlines()[1].split()[:2] == [address, "UNREADABLE"]


async def interrupted(server: Server, *arguments: str) -> Ended:
    """Interrupt lbctl once the server has got its call."""
    heard = len(server.messages)
    async with running("call", *arguments) as run:
        await until(lambda: len(server.messages) > heard, bound_s=30)
        run.send(signal.SIGINT)
        return await run.ended()


async def test_a_call_that_is_cancelled_is_told_like_one_that_has_ended() -> None:
    server, other = Server(), Server(str)
    async with called(server) as address, called(other) as second:
        hang = (SAY, *said("hang"))
        plain = await interrupted(server, "--backends", address, *hang)
        whole = await interrupted(server, "--backends", address, *hang, "-o", "json")
        every = await interrupted(server, "--backends", f"{address},{second}", *hang, "--each", "-o", "csv")
    assert (plain.status, plain.out) == (130, "")
    assert re.fullmatch(r"-> .*  CANCELLED \S+\ncancelled by Ctrl-C\n", plain.err)
    found = document(whole)
    (call,) = found["calls"]
    assert (whole.status, found["ok"], found["failed"], call["backend"]["address"]) == (130, 0, 0, address)
    assert (call["status"]["name"], call["status"]["origin"]) == ("CANCELLED", "client")
    assert every.status == 130
    assert sorted(line.split(",")[0] for line in every.out.splitlines()[1:]) == sorted((address, second))
    assert [line.split(",")[4] for line in every.out.splitlines()[1:]] == ["CANCELLED", "CANCELLED"]


async def test_what_was_called_before_the_last_backend_went_is_in_the_document() -> None:
    server = Server()
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(called(server))
        hang = ("call", "--backends", address, SAY, *said("hang"), "--repeat", "1k", "-o", "json")
        async with running(*hang) as run:
            await until(lambda: server.messages, bound_s=30)
            await stack.aclose()
            ended = await run.ended()
    found = document(ended)
    assert (ended.status, found["ok"], found["calls"][0]["status"]["name"]) == (5, 0, "UNAVAILABLE")
    assert ended.err.endswith('error: no backend of "test.Echo" is connected any more\n')


async def test_a_check_that_does_not_hold_is_an_error() -> None:
    async with called() as address:
        ended = await lbctl("call", "--backends", address, SAY, *said("hi"), "--check", 'resp.message == "ho"')
    assert (ended.status, json.loads(ended.out)["message"]) == (1, "hi")
    assert 'resp.message == "ho"' in ended.err


async def test_the_reply_has_other_forms(tmp_path: Path) -> None:
    async with called() as address:
        call = ("call", "--backends", address, SAY, *said("hi"), "-o")
        pretty = await lbctl(*call, "pretty")
        as_text = await lbctl(*call, "text")
        as_yaml = await lbctl(*call, "yaml")
        lines = await lbctl(*call, "jsonl", "--repeat", "2")
        raw = await lbctl(*call, "raw")
        whole = await lbctl(*call, "pretty", "--defaults", "-d", "{}")
    assert pretty.out == '{\n  "message": "hi",\n  "count": "1"\n}\n'
    assert as_text.out == 'message: "hi" count: 2\n'
    assert yaml.safe_load(as_yaml.out)["calls"][0]["replies"] == [{"message": "hi", "count": "3"}]
    assert [json.loads(line)["call"] for line in lines.out.splitlines()] == [1, 2]
    assert message_of(raw.out.encode()) == "hi"
    assert json.loads(whole.out)["message"] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "call needs a SERVICE"),
        (("echo",), "call needs a METHOD"),
        (("--backends", "127.0.0.1:1"), "call needs a METHOD"),
        (("echo", "Say", "--backend", "a:1", "--policy", "p2c"), "--backend names who is called, and --policy is for"),
        (("echo", "Say", "--policy", "ring_hash"), "policy ring_hash picks by the hash key of a call"),
        (("echo", "Say", "-d", "{"), "-d: request is not valid JSON: line 1 column 2"),
        (("echo", "Say", "-d", "{}", "-D", "x"), "-d and -D are two requests"),
        (("echo", "Say", "--repeat", "0"), "Invalid value for '--repeat'"),
    ],
)
async def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], message: str) -> None:
    ended = await lbctl("call", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {message}")


async def test_a_method_that_does_not_exist_and_a_field_that_does_not_are_told(demo: Standing) -> None:
    method = await lbctl("call", "echo", "Sya", etcd=demo.etcd)
    field = await lbctl("call", "echo", "Say", "-d", '{"mesage": "hi"}', etcd=demo.etcd)
    service = await lbctl("call", "ehco", "Say", etcd=demo.etcd)
    assert (method.status, field.status, service.status) == (4, 2, 4)
    assert 'error: demo.echo.v1.SayRequest has no field "mesage"' in field.err
