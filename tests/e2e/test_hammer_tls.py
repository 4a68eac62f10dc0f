"""Backends by TLS: what is checked, under which name, where the settings may stand, and what a refusal advises."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckResponse

from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint
from tests.e2e.runs import Ended, hammer, lbctl
from tests.rpc.servers import CERTS, V1, Reflection, credentials, echo_files, health_of, reflecting, serving
from tests.scripted import ScriptedServer, answering
from tests.wire import frames as h2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SERVING = HealthCheckResponse.SERVING
CA = ("--tls-ca", str(CERTS / "ca.pem"))
CLIENT = ("--tls-cert", str(CERTS / "client.pem"), "--tls-key", str(CERTS / "client.key"))


async def say(request: bytes, context: object) -> bytes:
    return request


@asynccontextmanager
async def echo_server(tls: grpc.ServerCredentials | None) -> AsyncIterator[Endpoint]:
    """test.Echo/Say with server reflection, behind TLS or not."""
    echo = grpc.method_handlers_generic_handler("test.Echo", {"Say": grpc.unary_unary_rpc_method_handler(say)})
    handlers = [echo, *reflecting(Reflection(echo_files(), ["test.Echo"]), V1)]
    async with serving(handlers, tls=tls or False) as endpoint:
        yield endpoint


async def calls(endpoint: Endpoint, *options: str, cwd: Path | None = None, **environ: str) -> Ended:
    command = ("--backends", str(endpoint), "shop", "Echo/Say", "-n", "20", "-o", "json", *options)
    return await hammer(*command, cwd=cwd, environ=environ)


def refused(done: Ended, status: int, reason: str, hint: str) -> None:
    assert (done.status, done.out) == (status, "")
    assert done.err.endswith(f"{reason}\nhint: {hint}\n"), done.err


async def test_reflection_and_calls_go_by_tls_and_the_certificate_is_checked() -> None:
    async with echo_server(credentials()) as endpoint:
        done = await calls(endpoint, *CA)
    assert (done.status, done.document["ok"]) == (0, 20)
    assert "connecting to 1 backend of shop (TLS) ...\n" in done.err


async def test_an_unknown_authority_is_refused_and_may_be_accepted() -> None:
    async with echo_server(credentials()) as endpoint:
        done = await calls(endpoint, "--tls")
        accepted = await calls(endpoint, "--tls-skip-verify")
    refused(
        done,
        5,
        f"{endpoint} cannot be trusted: the certificate is signed by an unknown authority",
        "give --tls-ca FILE: the authority that signed it; or --tls-skip-verify to accept any certificate",
    )
    assert accepted.document["ok"] == 20


async def test_a_certificate_for_another_name_is_told_with_its_names_and_the_option() -> None:
    async with echo_server(credentials("other")) as endpoint:
        done = await calls(endpoint, *CA)
        named = await calls(endpoint, *CA, "--tls-server-name", "other.example", "-v")
    refused(
        done,
        5,
        "the certificate is not for 127.0.0.1 but for other.example, *.other.example, 192.0.2.7",
        "give --tls-server-name NAME: the name its certificate is for",
    )
    assert named.document["ok"] == 20
    assert "connecting to 1 backend of shop (TLS, authority other.example) ...\n" in named.err
    assert f"backend {endpoint}: TLS, server name other.example, authority other.example\n" in named.err


async def test_a_certificate_that_has_expired_may_be_accepted_all_the_same() -> None:
    async with echo_server(credentials("expired")) as endpoint:
        done = await calls(endpoint, *CA)
        accepted = await calls(endpoint, "--tls-skip-verify")
    advice = "give --tls-skip-verify, to accept it all the same"
    refused(done, 5, f"{endpoint} cannot be trusted: the certificate has expired", advice)
    assert accepted.document["ok"] == 20


async def test_the_name_checked_is_that_of_the_authority() -> None:
    async with echo_server(credentials("other")) as endpoint:
        done = await calls(endpoint, *CA, "--authority", "a.other.example:99", "-v")
    assert done.document["ok"] == 20
    assert f"backend {endpoint}: TLS, server name a.other.example, authority a.other.example:99\n" in done.err


async def test_a_server_that_wants_a_client_certificate_gets_one() -> None:
    async with echo_server(credentials(mutual=True)) as endpoint:
        without = await calls(endpoint, *CA)
        done = await calls(endpoint, *CA, *CLIENT)
    assert (without.status, without.out) == (5, "")
    hint = "hint: give --tls-cert FILE and --tls-key FILE: a certificate that the server accepts\n"
    assert without.err.endswith(hint), without.err
    assert done.document["ok"] == 20


async def test_what_speaks_plaintext_is_told_so() -> None:
    async with echo_server(None) as endpoint:
        done = await calls(endpoint, *CA)
        raw = await hammer("--backends", str(endpoint), "test.Echo/Say", "--binary-file", "/dev/null", "--tls")
    refused(done, 5, f"{endpoint} does not speak TLS", "give --plaintext")
    refused(raw, 5, f"{endpoint} does not speak TLS", "give --plaintext")


async def test_a_tls_server_is_told_with_the_options_that_reach_it() -> None:
    async with echo_server(credentials()) as endpoint:
        done = await calls(endpoint)
    hint = "give --tls, and --tls-ca FILE where its certificate is not from a public authority"
    refused(done, 5, f"{endpoint} speaks TLS, not plaintext HTTP/2", hint)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ((*CA, "--plaintext"), "--plaintext and --tls-ca contradict each other", "leave one of them out"),
        (("--tls-skip-verify", "--plaintext"), "--plaintext and --tls-skip-verify contradict each other", None),
        (CLIENT[:2], "--tls-cert and --tls-key belong together", "give both, or neither"),
        (CLIENT[2:], "--tls-cert and --tls-key belong together", "give both, or neither"),
        (
            ("--tls-ca", "/nowhere/ca.pem"),
            "the CA file /nowhere/ca.pem cannot be read: no such file or directory",
            "see --tls-ca, LBCTL_TLS_CA or tls.ca in the settings file",
        ),
        (("--tls-ca", ""), "--tls-ca: no file is named", ""),
        (("--tls-server-name", "a:1"), "--tls-server-name: 'a:1' is not a host name or an IP address", ""),
    ],
)
async def test_tls_options_that_cannot_be_meant_are_refused_before_anybody_is_asked(
    options: tuple[str, ...], message: str, hint: str | None
) -> None:
    done = await calls(Endpoint("127.0.0.1", 1), *options)
    hint = "leave one of them out" if hint is None else hint
    assert (done.status, done.out) == (2, "")
    assert done.err == f"error: {message}\nhint: {hint or 'see: lbctl hammer --help'}\n"


async def test_the_settings_may_come_from_the_environment_or_a_file_and_a_flag_wins(tmp_path: Path) -> None:
    ca = str(CERTS / "ca.pem")
    async with echo_server(credentials()) as endpoint:
        by_environment = await calls(endpoint, LBCTL_TLS="1", LBCTL_TLS_CA=ca)
        (tmp_path / "lbctl.yaml").write_text(f"tls: {{enabled: true, ca: {ca}, server_name: echo}}\n")
        by_file = await calls(endpoint, "-v", cwd=tmp_path)
        by_flag = await calls(endpoint, "--plaintext", cwd=tmp_path)
    assert by_environment.document["ok"] == by_file.document["ok"] == 20
    assert "setting: tls from lbctl.yaml: tls.enabled\n" in by_file.err.replace(f"{tmp_path}/", "")
    assert f"backend {endpoint}: TLS, server name echo, authority echo\n" in by_file.err
    assert (by_flag.status, f"{endpoint} speaks TLS" in by_flag.err) == (5, True)


async def test_a_file_that_only_says_how_does_not_switch_tls_on(tmp_path: Path) -> None:
    (tmp_path / "lbctl.yaml").write_text("tls: {ca: /nowhere/ca.pem}\n")
    async with echo_server(None) as endpoint:
        done = await calls(endpoint, cwd=tmp_path)
    assert done.document["ok"] == 20


async def test_a_discovered_service_is_called_by_its_name(etcd: Etcd) -> None:
    async with serving(healthy=health_of(SERVING), tls=credentials()) as endpoint:
        await etcd.put(f"/services/echo/{endpoint}".encode(), f"{endpoint}|5".encode())
        done = await hammer("echo", "-n", "9", "-o", "json", "-v", *CA, etcd=etcd.endpoints[0])
        listed = await lbctl("ls", "echo", "--check", "-o", "json", *CA, etcd=etcd.endpoints[0])
        plain = await lbctl("ls", "echo", "--check", etcd=etcd.endpoints[0])
    assert done.document["ok"] == 9
    assert "connecting to 1 backend of echo (TLS, authority echo) ...\n" in done.err
    assert f"backend {endpoint}: TLS, server name echo, authority echo\n" in done.err
    assert '"health": "SERVING"' in listed.out
    assert "  TLS  " in plain.out


@pytest.mark.parametrize(("options", "authority"), [((), None), (("--authority", "shop.example"), b"shop.example")])
async def test_the_authority_of_a_direct_backend_is_its_address_or_what_is_given(
    options: tuple[str, ...], authority: bytes | None
) -> None:
    async with ScriptedServer(answering(h2.reply)) as server:
        command = ("--backends", str(server.endpoint), "test.Echo/Say", "--binary-file", "/dev/null", "-n", "1")
        done = await hammer(*command, *options)
        (peer,) = server.served
        (request,) = peer.requests.values()
    assert done.status == 0
    assert request.header(b":authority") == (authority or str(server.endpoint).encode())
    assert request.header(b":scheme") == b"http"
