"""Which backends are spoken to by TLS, and under which name each is called."""

from __future__ import annotations

import pytest

from lbctl.commands.reach import Names, Reach, Reaching
from lbctl.model import Endpoint, Instance
from tests.rpc.servers import CERTS

TCP = Endpoint("10.0.0.1", 50051)
ZONED = Endpoint("fe80::1%eth0", 50051)
UNIX = Endpoint("unix:/run/s", 0)


def instance(endpoint: Endpoint = TCP, service: str = "echo", *, secure: bool | None = None) -> Instance:
    return Instance(key=str(endpoint), service=service, layout="seed", endpoint=endpoint, secure=secure)


@pytest.mark.parametrize(
    ("tls", "secure", "wanted"),
    [(None, None, False), (None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_the_registration_decides_unless_the_user_does(tls: bool | None, secure: bool | None, wanted: bool) -> None:
    assert Reach(tls=tls).wants_tls(instance(secure=secure)) is wanted


@pytest.mark.parametrize(
    ("reach", "endpoint", "service", "discovered", "authority", "server_name"),
    [
        (Reach(), TCP, "echo", True, "echo", "echo"),
        (Reach(), TCP, "demo.echo.v1.Echo", True, "demo.echo.v1.Echo", "demo.echo.v1.Echo"),
        (Reach(), TCP, "shop:443", True, "shop:443", "shop"),
        (Reach(), TCP, "team/echo", True, "10.0.0.1:50051", "10.0.0.1"),  # a path is no authority
        (Reach(), TCP, "backends", False, "10.0.0.1:50051", "10.0.0.1"),
        (Reach(), ZONED, "backends", False, "[fe80::1]:50051", "fe80::1"),
        (Reach(), UNIX, "backends", False, "localhost", "localhost"),
        (Reach(), UNIX, "echo", True, "echo", "echo"),
        (Reach(authority="a:1"), TCP, "echo", True, "a:1", "a"),
        (Reach(authority="[::1]:1"), TCP, "echo", True, "[::1]:1", "::1"),
        (Reach(tls=True, server_name="s"), TCP, "echo", True, "s", "s"),
        (Reach(tls=True, server_name="::1"), TCP, "echo", True, "[::1]", "::1"),
        (Reach(tls=True, server_name="s", authority="a"), TCP, "echo", True, "a", "s"),
        (Reach(tls=False, server_name="s"), TCP, "echo", True, "echo", "s"),
    ],
)
def test_a_backend_goes_by_the_first_of_the_names_it_has(
    reach: Reach, endpoint: Endpoint, service: str, discovered: bool, authority: str, server_name: str
) -> None:
    names = Names(reach, discovered=discovered)
    backend = instance(endpoint, service)
    assert (names.authority(backend), names.server_name(backend)) == (authority, server_name)


@pytest.mark.parametrize(
    ("reach", "discovered", "secure", "words"),
    [
        (Reach(), False, (None, None), ""),
        (Reach(), True, (None, None), "authority echo"),
        (Reach(tls=True), True, (None, None), "TLS, authority echo"),
        (Reach(tls=True), False, (None, None), "TLS"),
        (Reach(), False, (True, None), "TLS to 1 of them"),
    ],
)
def test_what_is_not_plain_is_told_in_a_few_words(
    reach: Reach, discovered: bool, secure: tuple[bool | None, ...], words: str
) -> None:
    backends = [instance(Endpoint("10.0.0.1", port), secure=each) for port, each in enumerate(secure, 1)]
    assert Reaching(reach, discovered=discovered).described(backends) == words


def test_every_backend_is_reached_in_its_own_way() -> None:
    reaching = Reaching(Reach(ca=CERTS / "ca.pem"), metadata=((b"a", b"b"),), sensitive=frozenset({b"a"}))
    plain, secure = instance(secure=False), instance(service="shop", secure=True)
    assert reaching.secure_for(plain) is None
    found = reaching.secure_for(secure)
    assert found is not None
    assert found.server_name == "shop"
    access = reaching.access(secure)
    assert (access.authority, access.metadata, access.sensitive) == ("shop", ((b"a", b"b"),), frozenset({b"a"}))
    assert access.secure is not None
