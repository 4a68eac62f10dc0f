"""``ls --check`` asks every instance for its health in the way that instance is called."""

from __future__ import annotations

import json

from lbctl.commands.ls import Ls, run
from lbctl.discovery.checkup import backends
from lbctl.discovery.listing import shares
from lbctl.doctor.rotation import picked
from lbctl.etcd.client import Etcd
from lbctl.model import Instance
from lbctl.rpc.access import Access
from lbctl.rpc.tls import Credentials, TlsOptions
from tests.rpc.servers import CERTS, health_of, serving


def encrypted(instance: Instance) -> Access:
    """TLS for instances whose key says so."""
    if not instance.key.endswith("tls"):
        return Access()
    return Access(secure=Credentials(TlsOptions(ca=CERTS / "ca.pem")).secure(instance.endpoint.host))


async def statuses(etcd: Etcd, request: Ls) -> dict[str, str]:
    listing = await run(etcd, request)
    return {identity.key.rpartition("/")[2]: str(health.status) for identity, health in listing.health.items()}


async def test_each_instance_is_asked_with_tls_or_without(etcd: Etcd) -> None:
    async with serving(healthy=health_of(1), tls=True) as secret, serving(healthy=health_of(2)) as plain:
        await etcd.put(b"/services/echo/a-tls", f"{secret}|1".encode())
        await etcd.put(b"/services/echo/b", f"{plain}|1".encode())
        found = await statuses(etcd, Ls("echo", check=True, check_timeout_s=5, access_for=encrypted))
        assert found == {"a-tls": "SERVING", "b": "NOT_SERVING"}
        found = await statuses(etcd, Ls("echo", check=True, check_timeout_s=5))
        assert found == {"a-tls": "TLS", "b": "NOT_SERVING"}
        assert await statuses(etcd, Ls("echo", access_for=encrypted)) == {}


async def test_an_address_under_several_keys_is_asked_once_in_the_way_of_the_first(etcd: Etcd) -> None:
    async with serving(healthy=health_of(1), tls=True) as endpoint:
        await etcd.put(b"/services/echo/a-tls", f"{endpoint}|1".encode())
        await etcd.put(b"/services/echo/b", f"{endpoint}|1".encode())
        found = await statuses(etcd, Ls("echo", check=True, check_timeout_s=5, access_for=encrypted))
    assert found == {"a-tls": "SERVING", "b": "SERVING"}


async def test_who_speaks_something_else_than_grpc_is_not_asked_and_has_no_share(etcd: Etcd) -> None:
    async with serving(healthy=health_of(1)) as endpoint:
        other = f"127.0.0.1:{endpoint.port + 1}"
        value = {"id": "1", "name": "echo", "metadata": {}, "endpoints": [f"http://{other}", f"grpc://{endpoint}"]}
        await etcd.put(b"/microservices/echo/1", json.dumps(value | {"version": ""}).encode())
        listing = await run(etcd, Ls("echo", check=True, check_timeout_s=5))
    assert {identity.endpoint: health.status for identity, health in listing.health.items()} == {endpoint: "SERVING"}
    (service,) = listing.registry.services
    found = {str(identity.endpoint): share for identity, share in shares(service).items()}
    assert found == {str(endpoint): 1.0, other: 0.0}
    assert [each.address for each in backends(listing.registry)] == [str(endpoint)]
    assert [each.address for each in picked(service)] == [str(endpoint)]
