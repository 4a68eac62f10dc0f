"""A demo by TLS: what a client needs for it, and that a client without it gets nowhere."""

from __future__ import annotations

import ssl
from dataclasses import replace

import grpc.aio
import pytest

from lbctl.demo.certificates import CA, CLIENT, SERVER, Tls, client_environment
from lbctl.demo.guest import guest_environment
from lbctl.demo.latency import Behaviour, Fixed
from lbctl.demo.notice import standing, summary
from lbctl.demo.protos import echo_pb2, echo_pb2_grpc
from lbctl.demo.server import BackendServer
from tests.demo.test_notice import FACTS, SETUP
from tests.e2e.runs import lbctl


def test_the_certificates_belong_together() -> None:
    context = ssl.create_default_context(cafile=str(CA))
    for certificate, key in (SERVER, CLIENT):
        context.load_cert_chain(certificate, key)


def test_a_command_is_told_how_to_reach_the_backends_and_nothing_of_others() -> None:
    environ = {"LBCTL_TLS": "0", "LBCTL_TLS_CA": "mine.pem", "LBCTL_AUTHORITY": "mine", "HOME": "/home/me"}
    plain = guest_environment(environ, "127.0.0.1:1")
    assert not [name for name in plain if name.startswith(("LBCTL_TLS", "LBCTL_AUTHORITY"))]
    secure = guest_environment(environ, "127.0.0.1:1", Tls.SERVER)
    assert (secure["LBCTL_TLS"], secure["LBCTL_TLS_CA"], secure["HOME"]) == ("true", str(CA), "/home/me")
    assert "LBCTL_AUTHORITY" not in secure
    assert client_environment(Tls.MUTUAL)["LBCTL_TLS_CERT"] == str(CLIENT[0])


def test_a_waiting_demo_says_what_to_export() -> None:
    facts = replace(FACTS, setup=replace(SETUP, tls=Tls.SERVER))
    assert f"  export LBCTL_TLS=true\n  export LBCTL_TLS_CA={CA}\n" in standing(facts)
    assert summary(facts).endswith("weights 5,1, by TLS")


@pytest.mark.parametrize("tls", [Tls.SERVER, Tls.MUTUAL])
async def test_a_server_by_tls_answers_those_who_come_as_it_asks(tls: Tls) -> None:
    server = BackendServer(tls)
    await server.start(Behaviour(Fixed(0.0), 0.0, "0"))
    own = (CLIENT[1].read_bytes(), CLIENT[0].read_bytes()) if tls is Tls.MUTUAL else (None, None)
    secret = grpc.ssl_channel_credentials(CA.read_bytes(), *own)
    try:
        async with grpc.aio.secure_channel(str(server.endpoint), secret) as channel:
            reply = await echo_pb2_grpc.EchoStub(channel).Say(echo_pb2.SayRequest(message="hi"))
    finally:
        await server.stop(0)
    assert reply.message == "hi"


@pytest.mark.e2e
@pytest.mark.parametrize("option", ["--tls", "--mtls"])
async def test_a_command_in_a_demo_by_tls_needs_no_options_of_its_own(option: str) -> None:
    command = ("lbctl", "hammer", "echo", "Echo/Say", "-n", "70", "-o", "json")
    done = await lbctl("demo", "-b", "2", option, "--", *command)
    assert (done.status, done.document["ok"]) == (0, 70)
    assert "connecting to 2 backends of echo (TLS, authority echo) ...\n" in done.err
