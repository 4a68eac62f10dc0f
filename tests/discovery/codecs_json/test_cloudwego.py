"""Kitex and Hertz: one value, told apart by the key's prefix."""

from __future__ import annotations

import pytest

from tests.discovery.codecs_json.samples import flaw, instance, rows

KITEX = "kitex/registry-etcd/echo/10.0.0.1:90"
HERTZ = "hertz/registry-etcd/echo/10.0.0.1:90"


def value(**members: object) -> dict[str, object]:
    return {"network": "tcp", "address": "10.0.0.1:90", "weight": 3, "tags": None} | members


@pytest.mark.parametrize(
    ("key", "layout", "service", "protocol"),
    [
        ("kitex/registry-etcd/echo/10.0.0.1:90", "kitex", "echo", None),
        ("kitex/echo/10.0.0.1:90", "kitex", "echo", None),
        ("/Hello/10.0.0.1:90", "kitex", "Hello", None),
        ("my/own/prefix/echo/10.0.0.1:90", "kitex", "echo", None),
        ("/hertz/registry-etcd/echo/10.0.0.1:90", "kitex", "echo", None),
        ("hertz/registry-etcd/echo/10.0.0.1:90", "hertz", "echo", "http"),
        ("hertz/registry-etcd/team/api/10.0.0.1:90", "hertz", "team/api", "http"),
    ],
)
def test_the_prefix_says_whose_it_is_and_the_rest_which_service(
    key: str, layout: str, service: str, protocol: str | None
) -> None:
    found = instance(key, value())
    assert (found.layout, found.service, found.protocol) == (layout, service, protocol)
    assert (found.weight, found.secure, found.metadata) == (3, None, {"@network": "tcp"})


@pytest.mark.parametrize("key", [KITEX, HERTZ])
@pytest.mark.parametrize(
    ("weight", "read"), [(30, 30), (0, 10), (-1, 10), (None, 10), (999_999_999, 999_999_999), (-(10**18), 10)]
)
def test_a_weight_of_nothing_and_less_is_the_default(key: str, weight: object, read: int) -> None:
    assert instance(key, value(weight=weight)).weight == read


@pytest.mark.parametrize("key", [KITEX, HERTZ])
@pytest.mark.parametrize("weight", [2.5, 10.0, 1e300, 1_000_000_000, 10**18])
def test_a_number_that_is_no_weight_is_bad(key: str, weight: float) -> None:
    assert flaw(key, value(weight=weight)).code == "bad_weight"


@pytest.mark.parametrize("key", [KITEX, HERTZ])
@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("", "no_address"),
        (None, "no_address"),
        ("10.0.0.1", "no_port"),
        ("10.0.0.1:0", "bad_port"),
        (":8888", "no_host"),
        ("[::]:8888", "wildcard_address"),
        ("0.0.0.0:8888", "wildcard_address"),
        ("fd00::1:8888", "ipv6_unbracketed"),
        ("10.0.0.1:90,10.0.0.2:90", "multi_address"),
        ("10.0.0.1:90 ", "whitespace"),
        ("tcp://10.0.0.1:90", "bad_address"),
        ("/run/echo.sock", "not_tcp"),
    ],
)
def test_an_address_that_cannot_be_dialled_has_its_code(key: str, address: object, code: str) -> None:
    assert flaw(key, value(address=address)).code == code


def test_ipv6_as_kitex_writes_it_is_not_guessed_into_shape_but_hinted_at() -> None:
    found = flaw("kitex/registry-etcd/echo/fd00::1:8888", value(address="fd00::1:8888"))
    assert (found.code, found.reason) == ("ipv6_unbracketed", "IPv6 without brackets; [fd00::1]:8888?")
    assert instance("kitex/registry-etcd/echo/[fd00::1]:8888", value(address="[fd00::1]:8888")).warnings == ()


@pytest.mark.parametrize(("network", "code"), [("unix", "not_tcp"), ("udp", "not_tcp"), ("unixgram", "not_tcp")])
def test_a_network_that_is_not_tcp_is_not_called(network: str, code: str) -> None:
    assert flaw(KITEX, value(network=network)).code == code


@pytest.mark.parametrize("network", ["tcp", "tcp4", "tcp6"])
def test_tcp_may_be_of_either_kind(network: str) -> None:
    assert instance(KITEX, value(network=network, tags={"cluster": "gray"})).metadata == {
        "cluster": "gray",
        "@network": network,
    }


def test_the_value_s_address_wins_over_the_key_s_and_that_is_said() -> None:
    found = instance(KITEX, value(address="10.0.0.9:90"))
    assert (found.address, found.warnings) == ("10.0.0.9:90", ("key says 10.0.0.1:90, value says 10.0.0.9:90",))


@pytest.mark.parametrize("key", ["kitex/registry-etcd//10.0.0.1:90", "//10.0.0.1:90", "hertz/registry-etcd//x"])
def test_an_empty_name_in_the_key_is_none(key: str) -> None:
    assert flaw(key, value()).code == "no_service"


def test_what_a_server_listens_to_in_a_configuration_is_nobody_s() -> None:
    assert rows("/conf/app/listen", {"network": "tcp", "address": "0.0.0.0:8080"}) == []
    assert rows("/docker/network/bridge", {"network": "bridge", "tags": {}}) == []
    assert flaw("kitex/registry-etcd/app/x", {"network": "tcp", "address": "0.0.0.0:8080"}).code == "wildcard_address"
    assert flaw("kitex/registry-etcd/app/x", {"network": "tcp", "weight": 1}).code == "no_address"


def test_the_network_tells_it_from_tutorials_and_from_trpc() -> None:
    key = "/Hello/10.0.0.1:90"
    assert instance(key, value()).layout == "kitex"
    assert instance(key, {"addr": "10.0.0.1:90", "weight": 3}).layout == "json"
    trpc = {"name": "Hello", "id": "1", "address": "10.0.0.1:90", "metadata": None, "weight": 3}
    assert instance(key, trpc).layout == "trpc-go"
