"""Which backend somebody means: the whole name before a part of it, and never a guess at an address."""

from __future__ import annotations

import pytest

from lbctl.commands.named_backend import named_backend
from lbctl.errors import NotFound
from lbctl.model import Endpoint, Instance, Service

BACKENDS = tuple(
    Instance(f"/services/shop/{key}", "shop", "kratos", Endpoint(host, port))
    for key, host, port in (
        ("7f9c2d10-a", "10.0.0.1", 8081),
        ("7f9c44aa-b", "10.0.0.12", 8081),
        ("10.0.0.3:9000", "10.0.0.3", 9000),
        ("v6", "fe80::1", 7000),
    )
)
SHOP = Service("shop", "kratos", "/services/", BACKENDS)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("10.0.0.1:8081", 0),
        ("/services/shop/7f9c44aa-b", 1),
        ("7f9c44aa-b", 1),
        ("7f9c2", 0),
        ("10.0.0.1", 0),
        ("9000", 2),
        (":9000", 2),
        ("[fe80::1]:7000", 3),
        ("fe80::1", 3),
        ("[fe80::1]", 3),
    ],
)
def test_a_backend_has_several_names(name: str, place: int) -> None:
    assert named_backend(SHOP, name) is BACKENDS[place]


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("8081", '8081 is 2 backends of "shop"', "give one: 10.0.0.1:8081, 10.0.0.12:8081"),
        ("7f9c", '7f9c is 2 backends of "shop"', "give one: 10.0.0.1:8081, 10.0.0.12:8081"),
        ("7f", '"shop" has no backend 7f', "it has: 10.0.0.1:8081, 10.0.0.12:8081, 10.0.0.3:9000, [fe80::1]:7000"),
        (
            "10.0.0.3:900",
            '"shop" has no backend 10.0.0.3:900',
            "did you mean 10.0.0.3:9000? any other address: --backends 10.0.0.3:900",
        ),
    ],
)
def test_who_is_not_meant_clearly_is_not_called(name: str, message: str, hint: str) -> None:
    with pytest.raises(NotFound) as raised:
        named_backend(SHOP, name)
    assert (str(raised.value), raised.value.hint) == (message, hint)


def test_two_keys_of_one_address_are_one_backend() -> None:
    twice = Service("shop", "seed", "/", (BACKENDS[0], Instance("/other", "shop", "seed", BACKENDS[0].endpoint)))
    assert named_backend(twice, "10.0.0.1") is BACKENDS[0]
