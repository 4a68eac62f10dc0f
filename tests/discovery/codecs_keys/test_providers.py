"""Ego and early Jupiter: the same keys, with a raw URL at the end, and the same description of a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.discovery.codecs_keys.reading import catalog_of, flaw, instance, service, services, skipped, weighed

LAYOUTS = {"ego": "/ego/user-svc/providers/", "jupiter-v0": "/jupiter/user-svc/providers/"}
EGO = LAYOUTS["ego"] + "grpc://10.110.0.1:9003"
JUPITER = LAYOUTS["jupiter-v0"] + "grpc://10.110.0.1:9003"

both = pytest.mark.parametrize(("layout", "folder"), LAYOUTS.items())


def info(**members: Any) -> bytes:  # noqa: ANN401  # JSON is what it is
    return json.dumps({"name": "user-svc", "address": "10.110.0.1:9003", "weight": 100} | members).encode()


@both
@pytest.mark.parametrize(
    ("scheme", "protocol", "secure"),
    [("grpc", "grpc", False), ("grpcs", "grpc", True), ("http", "http", False), ("https", "http", True)],
)
def test_the_key_says_what_is_spoken(layout: str, folder: str, scheme: str, protocol: str, secure: bool) -> None:
    found = instance(f"{folder}{scheme}://10.110.0.1:9003", info())
    assert (found.layout, found.protocol, found.secure) == (layout, protocol, secure)
    assert (found.address, found.weight, found.status) == ("10.110.0.1:9003", 100, None)


@both
def test_all_providers_of_a_name_are_one_service_under_one_prefix(layout: str, folder: str) -> None:
    assert services(
        (f"{folder}grpc://10.110.0.1:9003", info()),
        (f"{folder}http://10.110.0.1:9001", info(address="10.110.0.1:9001")),
        (f"{folder}grpc://10.110.0.2:9003", b"?"),
    ) == [("user-svc", layout, folder, 2)]


@both
def test_a_broken_provider_is_found_with_its_service(layout: str, folder: str) -> None:
    bad = f"{folder}grpc://10.110.0.2:9003"
    assert services((bad, b"?")) == [("user-svc", layout, folder, 0)]
    _, invalid = catalog_of((bad, b"?")).service(layout, folder, "user-svc")
    assert [(each.key, each.code) for each in invalid] == [(bad, "not_json")]


@both
def test_the_address_in_the_value_wins_and_another_in_the_key_warns(layout: str, folder: str) -> None:
    found = instance(f"{folder}grpc://10.110.0.9:9003", info())
    assert (found.address, found.warnings) == (
        "10.110.0.1:9003",
        ("key says 10.110.0.9:9003, value says 10.110.0.1:9003",),
    )
    assert instance(f"{folder}grpc://", info()).warnings == ()
    assert instance(f"{folder}grpc://[fd00::1]:1", info(address="[fd00::1]:1")).warnings == ()


@both
@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({"enable": True, "healthy": True}, None),
        ({}, None),
        ({"enable": None, "healthy": None}, None),
        ({"enable": False, "healthy": True}, "disabled"),
        ({"enable": False, "healthy": False}, "disabled"),
        ({"enable": True, "healthy": False}, "unhealthy"),
    ],
)
def test_a_server_that_is_switched_off_or_ill_says_so(
    layout: str, folder: str, members: dict[str, Any], status: str | None
) -> None:
    assert instance(f"{folder}grpc://10.110.0.1:9003", info(**members)).status == status


@both
def test_what_a_server_leaves_empty_is_left_out_of_the_metadata(layout: str, folder: str) -> None:
    value = info(region="wh", zone="", group="g1", deployment=None, metadata={"appMode": "prod", "appHost": ""})
    assert instance(f"{folder}grpc://10.110.0.1:9003", value).metadata == {
        "appMode": "prod",
        "@region": "wh",
        "@group": "g1",
        "@kind": "providers",
    }


@both
@pytest.mark.parametrize(("weight", "read"), [(None, 100), (0, 0), (7, 7)])
def test_a_weight_that_is_left_out_is_100(layout: str, folder: str, weight: int | None, read: int) -> None:
    assert instance(f"{folder}grpc://10.110.0.1:9003", info(weight=weight)).weight == read


@both
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "empty_value"),
        (b"10.110.0.1:9003", "not_json"),
        (b'{"name":', "not_json"),
        (b"null", "unknown_layout"),
        (b"{}", "no_address"),
        (info(address=""), "no_address"),
        (info(address=5), "wrong_type"),
        (info(address="10.110.0.1"), "no_port"),
        (info(address="10.110.0.1:0"), "bad_port"),
        (info(address=":9003"), "no_host"),
        (info(address="0.0.0.0:9003"), "wildcard_address"),
        (info(address="[::]:9003"), "wildcard_address"),
        (info(address="fd00::1:9003"), "ipv6_unbracketed"),
        (info(address="grpc://10.110.0.1:9003"), "bad_address"),
        (info(address="a:1,b:1"), "multi_address"),
        (info(address="unix:/x"), "not_tcp"),
        (info(address="a:1\n"), "whitespace"),
        (info(address="a\x1b[2J:1"), "control_chars"),
        (info(weight="100"), "wrong_type"),
        (info(weight=True), "wrong_type"),
        (info(weight=-1), "bad_weight"),
        (info(weight=2.5), "bad_weight"),
        (info(weight=10**10), "bad_weight"),
        (info(enable="true"), "wrong_type"),
        (info(healthy=1), "wrong_type"),
        (info(metadata=[]), "wrong_type"),
        (info(metadata={"a": 5}), "wrong_type"),
        (info(zone=5), "wrong_type"),
        (b"\xff{}", "bad_encoding"),
    ],
    ids=lambda part: str(part)[:60],
)
def test_what_cannot_be_used_has_a_code(layout: str, folder: str, value: bytes, code: str) -> None:
    found = flaw(f"{folder}grpc://10.110.0.1:9003", value)
    assert (found.layout, found.code) == (layout, code)


@both
def test_a_key_without_a_name_is_no_service(layout: str, folder: str) -> None:
    assert flaw(folder.replace("user-svc", "") + "grpc://10.110.0.1:9003", info()).code == "no_service"


@both
@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ("governors/http://10.110.0.1:9003", "governor"),
        ("consumers/grpc://10.110.0.1:9003", "consumer"),
        ("configurators/grpc:///routes/1", "configuration"),
        ("configurators/grpc://10.110.0.1/routes/2", "configuration"),
        ("unknown/grpc://10.110.0.1:9003", "neither"),
    ],
)
def test_what_stands_beside_providers_is_skipped(layout: str, folder: str, rest: str, why: str) -> None:
    assert why in skipped(folder.removesuffix("providers/") + rest, info())


@pytest.mark.parametrize(
    ("key", "value", "layout"),
    [
        (EGO, info(appId="1"), "ego"),
        (JUPITER, info(), "jupiter-v0"),
        ("/apps/user-svc/providers/grpc://10.110.0.1:9003", info(), "ego"),
        ("/apps/user-svc/providers/grpc://10.110.0.1:9003", info(appId="1"), "jupiter-v0"),
        ("/a/b/user-svc/providers/grpc://10.110.0.1:9003", info(), "ego"),
    ],
)
def test_the_two_are_told_apart_by_root_and_application(key: str, value: bytes, layout: str) -> None:
    found = service(key, value)
    assert (found.name, found.layout, found.prefix) == ("user-svc", layout, key.partition("grpc://")[0])


@both
def test_another_weight_leaves_the_description_as_it_is(layout: str, folder: str) -> None:
    key = f"{folder}grpc://a:1"
    assert weighed(layout, key, b'{ "address":"a:1", "weight" : 100,"metadata":{"weight":"1"} }') == (
        b'{ "address":"a:1", "weight" : 7,"metadata":{"weight":"1"} }'
    )
    assert weighed(layout, key, b'{"address":"a:1","weight":null}') == b'{"address":"a:1","weight":7}'
    assert weighed(layout, key, b'{"address":"a:1"}', 0) == b'{"address":"a:1","weight":0}'
