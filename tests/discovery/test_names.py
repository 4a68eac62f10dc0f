from __future__ import annotations

import pytest

from lbctl.discovery.names import find
from lbctl.errors import ExitCode, NotFound
from lbctl.model import Registry, Service


def registry(*services: tuple[str, str, str]) -> Registry:
    return Registry(1, tuple(Service(name, layout, prefix, ()) for name, layout, prefix in services))


ECHO = ("echo", "seed", "/services/echo/")
ECHO_B = ("echo-b", "seed", "/services/echo-b/")
LONG = ("demo.echo.v1.Greeter", "seed", "/services/demo.echo.v1.Greeter/")
TEAM = ("team/orders", "etcd-naming", "team/orders/")


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("echo", "/services/echo/"),
        ("echo-b", "/services/echo-b/"),
        ("/services/echo", "/services/echo/"),
        ("/services/echo/", "/services/echo/"),
        ("services/echo", "/services/echo/"),
        ("demo.echo.v1.Greeter", "/services/demo.echo.v1.Greeter/"),
        ("greeter", "/services/demo.echo.v1.Greeter/"),
        ("team/orders", "team/orders/"),
        ("orders", "team/orders/"),
    ],
)
def test_a_service_is_found_by_prefix_name_or_last_part(name: str, prefix: str) -> None:
    assert find(registry(ECHO, ECHO_B, LONG, TEAM), name).prefix == prefix


def test_an_unknown_name_gets_the_nearest_ones() -> None:
    with pytest.raises(NotFound) as caught:
        find(registry(ECHO, LONG), "ecko")

    assert str(caught.value) == 'no service "ecko" in etcd'
    assert caught.value.hint == "did you mean: echo"
    assert caught.value.exit_code == ExitCode.NOT_FOUND


def test_a_prefix_of_a_name_is_not_the_name() -> None:
    with pytest.raises(NotFound):
        find(registry(ECHO_B), "echo")


def test_nothing_near_and_nothing_at_all_have_their_own_hints() -> None:
    with pytest.raises(NotFound) as caught:
        find(registry(ECHO), "zzzzzz")
    assert caught.value.hint == "see what is registered: lbctl ls"
    with pytest.raises(NotFound) as caught:
        find(registry(), "echo")
    assert "lbctl demo" in caught.value.hint


def test_an_ambiguous_name_lists_the_candidates_and_a_full_prefix_decides() -> None:
    both = registry(("a/echo", "seed", "/services/a/echo/"), ("b/echo", "seed", "/services/b/echo/"))

    with pytest.raises(NotFound) as caught:
        find(both, "echo")
    assert str(caught.value) == '"echo" means 2 services'
    assert caught.value.hint == "give one in full: /services/a/echo/, /services/b/echo/"
    assert find(both, "/services/b/echo").name == "b/echo"


def test_two_layouts_under_one_prefix_are_told_apart_by_layout() -> None:
    both = registry(("echo", "seed", "/services/echo/"), ("services/echo", "etcd-naming", "/services/echo/"))

    with pytest.raises(NotFound, match="2 layouts: seed, etcd-naming"):
        find(both, "/services/echo")
    assert find(both, "/services/echo", layout="seed").layout == "seed"
