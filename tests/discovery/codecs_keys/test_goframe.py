"""GoFrame: all that matters is in the key, which ends in a list of addresses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry
from tests.discovery.codecs_keys.reading import catalog_of, flaw, instance, instances, nobodys, services, weighed

FOLDER = "/service/default/default/user/latest/"
KEY = FOLDER + "10.120.0.1:8199"
TWO = FOLDER + "10.120.0.1:8199,172.17.0.1:8199"


def metadata(**members: Any) -> bytes:  # noqa: ANN401  # JSON is what it is
    return json.dumps({"protocol": "grpc"} | members).encode()


def test_one_key_has_an_instance_for_every_address() -> None:
    found = instances(TWO, metadata(weight=3, zone=["a"]))
    assert [(each.layout, each.address, each.weight) for each in found] == [
        ("goframe", "10.120.0.1:8199", 3),
        ("goframe", "172.17.0.1:8199", 3),
    ]
    assert found[0].metadata == {
        "protocol": "grpc",
        "weight": 3,
        "zone": ["a"],
        "@head": "service",
        "@deployment": "default",
        "@namespace": "default",
        "@version": "latest",
    }


def test_a_version_of_a_name_in_a_namespace_is_a_service() -> None:
    assert services(
        (KEY, metadata()),
        (TWO, b""),
        ("/service/default/default/user/v2/10.120.0.1:8199", metadata()),
        ("/service/prod/mall/user/latest/10.120.0.1:8199", metadata()),
        ("/own/prod/mall/user/latest/10.120.0.1:8199", metadata()),
    ) == [
        ("user", "goframe", "/own/prod/mall/user/latest/", 1),
        ("user", "goframe", FOLDER, 3),
        ("user", "goframe", "/service/default/default/user/v2/", 1),
        ("user", "goframe", "/service/prod/mall/user/latest/", 1),
    ]


@pytest.mark.parametrize(
    ("value", "protocol", "secure"),
    [
        (b"", None, None),
        (b"{}", None, None),
        (metadata(), "grpc", None),
        (metadata(protocol="http", insecure=True), "http", False),
        (metadata(protocol="https", insecure=False), "http", True),
        (metadata(protocol="https"), "http", True),
        (metadata(protocol=5, insecure="x"), None, None),
    ],
)
def test_metadata_say_what_is_spoken_if_anything_does(value: bytes, protocol: str | None, secure: bool | None) -> None:
    found = instance(KEY, value)
    assert (found.protocol, found.secure) == (protocol, secure)


@pytest.mark.parametrize(("weight", "read"), [(None, None), (0, 0), (3, 3), ("3", 3)])
def test_a_weight_is_a_number_or_its_text_and_none_is_none(weight: object, read: int | None) -> None:
    found = instance(KEY, metadata(weight=weight))
    assert (found.weight, found.warnings) == (read, ())


@pytest.mark.parametrize("weight", ["heavy", True, [], {}])
def test_a_weight_that_is_no_number_counts_as_one_and_warns(weight: object) -> None:
    found = instance(KEY, metadata(weight=weight))
    assert found.weight == 1
    assert "is not a number; 1 is used" in found.warnings[0]


@pytest.mark.parametrize("weight", ["", -1, 2.5, "2.5", 10**10])
def test_a_weight_that_no_client_can_use_is_invalid(weight: object) -> None:
    assert flaw(KEY, metadata(weight=weight)).code == "bad_weight"


@pytest.mark.parametrize(
    ("leaf", "code"),
    [
        ("10.120.0.1", "no_port"),
        ("10.120.0.1:0", "bad_port"),
        (":8199", "no_host"),
        ("0.0.0.0:8199", "wildcard_address"),
        ("[fd00::1]:8199", "bad_address"),
        ("fd00::1:8199", "ipv6_unbracketed"),
        ("10.120.0.1:8199,", "no_address"),
        ("10.120.0.1:8199,10.120.0.2", "no_port"),
        ("10.120.0.1:8199;10.120.0.2:8199", "multi_address"),
    ],
)
def test_an_address_in_the_list_that_cannot_be_used_has_a_code(leaf: str, code: str) -> None:
    found = flaw(FOLDER + leaf, metadata())
    assert (found.layout, found.code) == ("goframe", code)
    _, invalid = catalog_of((FOLDER + leaf, metadata())).service("goframe", FOLDER, "user")
    assert [each.code for each in invalid] == [code]


def test_ipv6_is_refused_with_the_reason() -> None:
    assert flaw(FOLDER + "[fd00::1]:8199", metadata()).reason == "an IPv6 address: clients panic over it"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b'{"protocol":', "not_json"),
        (b'{"weight":NaN}', "not_json"),
        (b'{"weight":' + b"9" * 5000 + b"}", "wrong_type"),
        (b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}", "too_deep"),
        (b'{"a":"\xff"}', "bad_encoding"),
    ],
    ids=lambda part: str(part)[:40],
)
@pytest.mark.parametrize("key", [KEY, TWO])
def test_metadata_that_cannot_be_read_have_a_code(key: str, value: bytes, code: str) -> None:
    found = flaw(key, value)
    assert (found.layout, found.code) == ("goframe", code)


@pytest.mark.parametrize("value", [b"protocol=grpc", b"[]", b"null"])
def test_what_is_no_object_is_a_row_also_after_a_list(value: bytes) -> None:
    assert flaw(KEY, value).code in {"no_port", "unknown_layout"}
    assert flaw(TWO, value).layout == "goframe"


def test_a_key_without_a_name_is_no_service() -> None:
    assert flaw("/service/default/default//latest/10.120.0.1:8199", metadata()).code == "no_service"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("/service/default/default/user/10.120.0.1:8199,10.120.0.2:8199", b'{"protocol":"grpc"}'),
        ("/conf/a/b/c/d/e", b'{"protocol":"grpc"}'),
        ("/conf/a/b/c/d/10.120.0.1:8199,x", b'{"protocol":"grpc"}'),
        ("/conf/a/b/c/d/10.120.0.1:8199,10.120.0.2:8199", b"text"),
        ("/conf/a/b/c/d/10.120.0.1:8199,10.120.0.2:8199", b""),
        ("/service/a/b/c", b'{"protocol":"grpc"}'),
    ],
)
def test_a_shorter_key_or_one_without_addresses_is_nobodys(key: str, value: bytes) -> None:
    assert nobodys(key, value)


def test_segments_after_the_addresses_do_not_matter_to_its_clients() -> None:
    assert services((KEY + "/x", metadata())) == [("user", "goframe", FOLDER, 1)]


def test_metadata_may_be_empty_where_the_key_is_known_to_be_its() -> None:
    key = "/own/default/default/user/latest/10.120.0.1:8199"
    assert instance(key, b"").layout == "key-only"
    catalog = Catalog("/own/", rooted=True, layout="goframe")
    catalog.put(Entry(key.encode(), b""))
    assert [each.layout for each in catalog.read().services] == ["goframe"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (b"", b'{"weight":7}'),
        (b'{ "protocol":"grpc" }', b'{ "protocol":"grpc","weight":7 }'),
        (b'{"weight": 3,"a":[1, 2]}\n', b'{"weight": 7,"a":[1, 2]}\n'),
        (b'{"weight":"3"}', b'{"weight":"7"}'),
    ],
)
def test_another_weight_leaves_the_metadata_as_they_are(value: bytes, written: bytes) -> None:
    assert weighed("goframe", KEY, value) == written


def test_the_instances_of_one_key_have_one_weight() -> None:
    written = weighed("goframe", TWO, metadata(weight=3))
    assert [each.weight for each in instances(TWO, written)] == [7, 7]
