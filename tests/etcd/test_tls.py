"""TLS to etcd itself: real certificates, real members, and what is said where the two ends do not agree."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest

from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from lbctl.etcd.events import Lost, Resumed
from lbctl.etcd.failures import Unreachable
from tests.etcd.guarding import READER, guard
from tests.etcd.members import member
from tests.etcd.mirror import mirrored
from tests.rpc.servers import CERTS

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CA, CLIENT, CLIENT_KEY = (str(CERTS / name) for name in ("ca.pem", "client.pem", "client.key"))
TLS = {"cert-file": str(CERTS / "server.pem"), "key-file": str(CERTS / "server.key")}
MUTUAL = {**TLS, "client-cert-auth": "true", "trusted-ca-file": CA}


async def test_a_trusted_etcd_is_read_and_followed_through_a_restart() -> None:
    async with member(TLS) as server:
        config = EtcdConfig((server.endpoint,), cacert=CA)
        async with Etcd(config) as etcd, mirrored(config, b"/") as mirror:
            await etcd.put(b"/k", b"1")
            await mirror.until(lambda: mirror.state == {b"/k": b"1"})
            await server.kill()
            await mirror.hears(Lost)
            await server.start()
            await mirror.hears(Resumed)
            await etcd.put(b"/k", b"2")
            await mirror.agrees_with(etcd, b"/")


async def test_who_is_trusted_on_this_system_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", CA)
    async with member(TLS) as server, Etcd(EtcdConfig((server.endpoint,), tls=True)) as etcd:
        assert (await etcd.status()).has_leader


async def test_what_does_not_agree_is_said_within_the_time_to_dial() -> None:
    async with member(TLS) as server:
        here = (server.endpoint,)
        nobody = await refusal(EtcdConfig(here, tls=True))
        other = await refusal(EtcdConfig(here, cacert=str(CERTS / "other.pem")))
        name = await refusal(EtcdConfig(here, cacert=CA, server_name="elsewhere.example"))
        plain = await refusal(EtcdConfig(here, dial_timeout_s=0.5))
        async with Etcd(EtcdConfig(here, cacert=CA, server_name="echo")) as etcd:
            assert (await etcd.status()).has_leader

    assert "its certificate is not trusted" in nobody
    assert "its certificate is not trusted" in other
    assert "the certificate is for another name" in name
    assert "TLS" in plain


async def test_a_client_certificate_is_shown_where_etcd_asks_for_one() -> None:
    async with member(MUTUAL) as server:
        config = EtcdConfig((server.endpoint,), cacert=CA, cert=CLIENT, key=CLIENT_KEY)
        async with Etcd(config) as etcd, mirrored(config, b"/") as mirror:
            await etcd.put(b"/k", b"1")
            await mirror.agrees_with(etcd, b"/")
        without = await refusal(EtcdConfig((server.endpoint,), cacert=CA))
        strange = EtcdConfig((server.endpoint,), cacert=CA, cert=str(CERTS / "alone.pem"), key=str(CERTS / "alone.key"))
        untrusted = await refusal(strange)
        mixed = await refusal(EtcdConfig((server.endpoint,), cacert=CA, cert=CLIENT, key=str(CERTS / "other.key")))

    assert without == untrusted == f"etcd {server.endpoint}: it wants a client certificate that it trusts"
    assert mixed == f"etcd {server.endpoint}: the certificates given cannot be used"


@pytest.mark.parametrize("name", ["server", "other", "alone"])  # of an unknown authority, for another name, its own
async def test_whatever_certificate_is_shown_is_taken_where_that_is_asked_for(name: str) -> None:
    shown = {"cert-file": str(CERTS / f"{name}.pem"), "key-file": str(CERTS / f"{name}.key")}
    wants = {"client-cert-auth": "true", "trusted-ca-file": CA}
    async with member({**shown, **wants}) as server:
        config = EtcdConfig((server.endpoint,), tls=True, cert=CLIENT, key=CLIENT_KEY)
        assert "its certificate is not trusted" in await refusal(config)
        config = replace(config, skip_verify=True)
        async with Etcd(config) as etcd, mirrored(config, b"/") as mirror:
            await etcd.put(b"/k", b"1")
            await mirror.until(lambda: mirror.state == {b"/k": b"1"})
            await server.kill()
            await mirror.hears(Lost)
            await server.start()
            await mirror.hears(Resumed)
            await mirror.agrees_with(etcd, b"/")


async def test_a_certificate_out_of_date_is_said_and_not_taken_even_then() -> None:
    for name, reason in (("expired", "its certificate has expired"), ("early", "its certificate is not valid yet")):
        flags = {"cert-file": str(CERTS / f"{name}.pem"), "key-file": str(CERTS / f"{name}.key")}
        async with member(flags) as server:
            said = await refusal(EtcdConfig((server.endpoint,), tls=True, skip_verify=True))
        assert said == f"etcd {server.endpoint}: {reason}"


async def test_the_variables_of_etcdctl_are_enough_for_every_way_to_prove_who_one_is() -> None:
    async with member(MUTUAL) as server:
        config = EtcdConfig((server.endpoint,), cacert=CA, cert=CLIENT, key=CLIENT_KEY)
        async with Etcd(config) as etcd:
            await etcd.put(b"/services/echo/127.0.0.1:1", b"127.0.0.1:1|5")
        await guard(config, (b"/services/",))
        variables = {
            "ETCDCTL_ENDPOINTS": f"https://{server.endpoint}",
            "ETCDCTL_CACERT": CA,
            "ETCDCTL_CERT": CLIENT,
            "ETCDCTL_KEY": CLIENT_KEY,
            "ETCDCTL_USER": ":".join(READER),
            "ETCDCTL_DIAL_TIMEOUT": "4s",
            "ETCDCTL_COMMAND_TIMEOUT": "6s",
        }
        names = await listed(variables)
        apart = {**variables, "ETCDCTL_USER": READER[0], "ETCDCTL_PASSWORD": READER[1]}
        insecure = {
            **{name: value for name, value in variables.items() if name != "ETCDCTL_CACERT"},
            "ETCDCTL_ENDPOINTS": server.endpoint,
            "ETCDCTL_INSECURE_TRANSPORT": "false",
            "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "true",
        }

        assert names == await listed(apart) == await listed(insecure) == ["echo"]


async def listed(variables: Mapping[str, str]) -> list[str]:
    """The services that a process sees, which knows where etcd is from its environment alone."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ETCDCTL_", "LBCTL_"))}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "lbctl", "ls", "--prefix", "/services/", "-o", "json"),
        env={**environ, **variables},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return [service["name"] for service in json.loads(out)["services"]]


async def refusal(config: EtcdConfig) -> str:
    """What is said of an etcd that cannot be talked to in this way."""
    async with Etcd(config) as etcd:
        with pytest.raises(Unreachable) as caught:
            await etcd.get(b"/k")
    return str(caught.value)
