"""TLS by grpcio, from the same files as lbctl's own."""

from __future__ import annotations

import pytest

from lbctl.errors import UsageError
from lbctl.model import Code
from lbctl.rpc.tls import Credentials, TlsOptions
from lbctl.rpc.transport import Connectivity
from tests.fakes import until
from tests.rpc.grpcio.backends import CERTS, PATIENCE_S, asking, backends, line

CA = CERTS / "ca.pem"


async def test_a_trusted_server_is_called() -> None:
    secure = Credentials(TlsOptions(ca=CA)).secure("localhost")
    async with backends(tls=True) as (backend,), line(backend.endpoint, asking("Say"), secure=secure) as calls:
        await calls.ready()
        (reply,) = await calls.ask()
    assert reply.code is Code.OK


async def test_a_client_certificate_is_shown() -> None:
    options = TlsOptions(ca=CA, cert=CERTS / "client.pem", key=CERTS / "client.key")
    secure = Credentials(options).secure("localhost")
    async with (
        backends(tls=True, mutual=True) as (backend,),
        line(backend.endpoint, asking("Say"), secure=secure) as calls,
    ):
        await calls.ready()
        (reply,) = await calls.ask()
    assert reply.code is Code.OK


async def test_another_name_than_the_certificates_is_refused_with_the_reason() -> None:
    secure = Credentials(TlsOptions(ca=CA)).secure("elsewhere.test")
    async with backends(tls=True) as (backend,), line(backend.endpoint, asking("Say"), secure=secure) as calls:
        await until(lambda: calls.transport.state is Connectivity.TRANSIENT_FAILURE, PATIENCE_S)
        assert "not for elsewhere.test" in calls.transport.reason


async def test_an_authority_nobody_trusts_is_refused_with_the_reason() -> None:
    secure = Credentials(TlsOptions(ca=CERTS / "alone.pem")).secure("localhost")
    async with backends(tls=True) as (backend,), line(backend.endpoint, asking("Say"), secure=secure) as calls:
        await until(lambda: calls.transport.state is Connectivity.TRANSIENT_FAILURE, PATIENCE_S)
        assert "certificate" in calls.transport.reason


async def test_not_verifying_cannot_be_done_and_that_is_said() -> None:
    secure = Credentials(TlsOptions(skip_verify=True)).secure("localhost")
    async with backends(tls=True) as (backend,):
        with pytest.raises(UsageError, match="always verifies") as caught:
            async with line(backend.endpoint, asking("Say"), secure=secure):
                pass
    assert "wire engine" in caught.value.hint
