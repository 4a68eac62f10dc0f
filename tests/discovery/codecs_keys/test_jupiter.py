"""Jupiter: the key has the scheme, the name, the version, the mode and the address that clients dial."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.discovery.codecs_keys.reading import catalog_of, flaw, instance, nobodys, services, weighed

FOLDER = "grpc:user.svc:v1:live/"
KEY = FOLDER + "10.100.0.1:9528"
INFO = {"name": "user.svc", "address": "10.100.0.1:9528", "weight": 50}


def update(**members: Any) -> bytes:  # noqa: ANN401  # JSON is what it is
    return json.dumps({"Op": 0, "Addr": "10.100.0.1:9528", "MetadataX": INFO} | members).encode()


@pytest.mark.parametrize(
    ("value", "weight"),
    [
        (update(), 50),
        (update(MetadataX=None, Metadata=INFO), 50),
        (update(MetadataX=INFO, Metadata={"weight": 3}), 50),
        (update(MetadataX=None), 100),
        (update(MetadataX={}), 100),
        (b'{"Op":0,"Addr":"10.100.0.1:9528"}', 100),
        (b'{"Op":null}', 100),
        (update(MetadataX={"weight": 0}), 0),
    ],
)
def test_every_version_of_the_description_is_read(value: bytes, weight: int) -> None:
    found = instance(KEY, value)
    assert (found.address, found.weight, found.layout) == ("10.100.0.1:9528", weight, "jupiter")


@pytest.mark.parametrize("in_value", ["10.100.0.9:1", "10.100.0.1", "nonsense"])
def test_the_address_in_the_key_wins_and_another_in_the_value_warns(in_value: str) -> None:
    found = instance(KEY, update(Addr=in_value))
    assert found.address == "10.100.0.1:9528"
    assert found.warnings == (f"key says 10.100.0.1:9528, value says {in_value}; clients use the key",)


def test_version_and_mode_are_those_of_the_key() -> None:
    found = instance(
        "http:user.svc:v2:dev/[fd00::1]:80", update(Addr="", MetadataX=INFO | {"mode": "live", "zone": "z"})
    )
    assert found.metadata == {"@version": "v2", "@mode": "dev", "@zone": "z"}
    assert (found.address, found.protocol, found.secure) == ("[fd00::1]:80", "http", False)


def test_a_mode_is_a_folder_and_a_service_of_its_own() -> None:
    assert services((KEY, update()), ("grpc:user.svc:v1:dev/a:1", update()), (FOLDER + "b:1", b"?")) == [
        ("user.svc", "jupiter", "grpc:user.svc:v1:dev/", 1),
        ("user.svc", "jupiter", FOLDER, 1),
    ]


@pytest.mark.parametrize(
    ("members", "status"),
    [({"enable": False}, "disabled"), ({"healthy": False}, "unhealthy"), ({"enable": True, "healthy": True}, None)],
)
def test_a_server_that_is_switched_off_or_ill_says_so(members: dict[str, Any], status: str | None) -> None:
    assert instance(KEY, update(MetadataX=INFO | members)).status == status


@pytest.mark.parametrize(
    ("leaf", "code"),
    [
        ("10.100.0.1", "no_port"),
        ("10.100.0.1:0", "bad_port"),
        ("10.100.0.1:x", "bad_port"),
        (":9528", "no_host"),
        ("[::]:9528", "wildcard_address"),
        ("fd00::1:9528", "ipv6_unbracketed"),
        ("a:1,b:1", "multi_address"),
        ("", "no_address"),
    ],
)
def test_a_key_that_cannot_be_dialled_has_a_code(leaf: str, code: str) -> None:
    found = flaw(FOLDER + leaf, update())
    assert (found.layout, found.code) == ("jupiter", code)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "empty_value"),
        (b"10.100.0.1:9528", "not_json"),
        (b"null", "unknown_layout"),
        (update(Op=1), "tombstone"),
        (update(Op="Add"), "wrong_type"),
        (update(Op=True), "wrong_type"),
        (update(Op=256), "wrong_type"),
        (update(Op=-1), "wrong_type"),
        (update(Op=0.5), "wrong_type"),
        (update(Addr=5), "wrong_type"),
        (update(MetadataX="x"), "wrong_type"),
        (update(MetadataX={"weight": "50"}), "wrong_type"),
        (update(MetadataX={"weight": -1}), "bad_weight"),
        (update(MetadataX={"weight": 1.5}), "bad_weight"),
        (update(MetadataX={"metadata": {"a": 1}}), "wrong_type"),
        (b"\xff", "bad_encoding"),
    ],
    ids=lambda part: str(part)[:60],
)
def test_a_value_that_cannot_be_used_has_a_code(value: bytes, code: str) -> None:
    found = flaw(KEY, value)
    assert (found.layout, found.code) == ("jupiter", code)
    _, invalid = catalog_of((KEY, value)).service("jupiter", FOLDER, "user.svc")
    assert [each.key for each in invalid] == [KEY]


def test_a_key_without_a_name_is_no_service() -> None:
    assert flaw("grpc::v1:live/10.100.0.1:9528", update()).code == "no_service"


@pytest.mark.parametrize(
    "key", ["cache:user:v1/x", "a:b:c:d/x", "grpc:user.svc:v1:live/x/y", "/grpc:user.svc:v1:live/x"]
)
def test_keys_with_other_colons_are_not_jupiters(key: str) -> None:
    assert nobodys(key, b"?")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ('{"Op":0, "MetadataX":{"weight": 50 ,"name":"x"}}', '{"Op":0, "MetadataX":{"weight": 7 ,"name":"x"}}'),
        ('{"Op":0,"Metadata":{"weight":50}}', '{"Op":0,"Metadata":{"weight":7}}'),
        ('{"Op":0,"MetadataX":{"name":"x"}}', '{"Op":0,"MetadataX":{"name":"x","weight":7}}'),
        ('{"Op":0,"Metadata":null}', '{"Op":0,"Metadata":{"weight":7}}'),
        ('{"Op":0,"MetadataX":{}}', '{"Op":0,"MetadataX":{"weight":7}}'),
        ('{"MetadataX":null,"Metadata":{"zone":"z"}}', '{"MetadataX":null,"Metadata":{"zone":"z","weight":7}}'),
        ('{"Metadata":{"weight":1},"MetadataX":{"weight":2}}', '{"Metadata":{"weight":1},"MetadataX":{"weight":7}}'),
        ('{"Op":0}', '{"Op":0,"MetadataX":{"weight":7}}'),
    ],
)
def test_another_weight_leaves_the_rest_as_it_is(value: str, written: str) -> None:
    assert weighed("jupiter", KEY, value.encode()).decode() == written
