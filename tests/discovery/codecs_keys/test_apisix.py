"""Upstreams of APISIX: every one a service, and nothing else of that tree read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry
from tests.discovery.codecs_keys.reading import catalog_of, flaw, instance, instances, service, services, skipped

KEY = "/apisix/upstreams/7"


def upstream(**members: Any) -> bytes:  # noqa: ANN401  # JSON is what it is
    return json.dumps({"nodes": {"10.150.0.1:50051": 1}} | members).encode()


@pytest.mark.parametrize(
    ("scheme", "protocol", "secure"),
    [
        ("grpc", "grpc", False),
        ("grpcs", "grpc", True),
        ("http", "http", False),
        ("https", "http", True),
        ("tcp", "tcp", False),
        ("tls", "tcp", True),
        ("udp", "udp", False),
        (None, "http", False),
    ],
)
def test_the_scheme_says_what_is_spoken(scheme: str | None, protocol: str, secure: bool) -> None:
    found = instance(KEY, upstream(scheme=scheme))
    assert (found.protocol, found.secure) == (protocol, secure)


@pytest.mark.parametrize(
    ("scheme", "host", "address"),
    [
        ("grpc", "grpc.internal", "grpc.internal:80"),
        ("grpcs", "10.150.0.1", "10.150.0.1:443"),
        ("https", "fd00::1", "[fd00::1]:443"),
        ("grpc", "[fd00::1]", "[fd00::1]:80"),
    ],
)
def test_a_port_that_is_left_out_goes_by_the_scheme(scheme: str, host: str, address: str) -> None:
    assert instance(KEY, upstream(scheme=scheme, nodes=[{"host": host, "weight": 1}])).address == address


@pytest.mark.parametrize(
    ("name", "address"),
    [("grpc.internal", "grpc.internal:80"), ("[fd00::1]", "[fd00::1]:80"), ("[fd00::1]:90", "[fd00::1]:90")],
)
def test_the_names_of_nodes_are_addresses_with_or_without_a_port(name: str, address: str) -> None:
    assert instance(KEY, upstream(nodes={name: 2})).address == address


def test_every_node_is_an_instance_with_its_own_weight_priority_and_metadata() -> None:
    nodes = [
        {"host": "10.0.0.1", "port": 80, "weight": 3, "priority": -1, "metadata": {"zone": "a"}},
        {"host": "10.0.0.2", "port": 80, "weight": 0},
    ]
    found = instances(KEY, upstream(nodes=nodes))
    assert [(each.address, each.weight) for each in found] == [("10.0.0.1:80", 3), ("10.0.0.2:80", 0)]
    assert [each.metadata for each in found] == [{"zone": "a", "@priority": -1, "@id": "7"}, {"@id": "7"}]


@pytest.mark.parametrize("kind", ["routes", "services", "stream_routes"])
def test_an_upstream_inside_of_something_else_counts_and_what_has_none_is_skipped(kind: str) -> None:
    key = f"/apisix/{kind}/9"
    inside = b'{"id":"9","upstream":%s}' % upstream(scheme="grpc")
    assert [each.address for each in instances(key, inside)] == ["10.150.0.1:50051"]
    assert "without an upstream of its own" in skipped(key, b'{"id":"9","upstream_id":"7"}')
    assert flaw(key, b'{"upstream":[]}').code == "wrong_type"


def test_layer_4_is_tcp_unless_it_is_said() -> None:
    assert instance("/apisix/stream_routes/9", b'{"upstream":%s}' % upstream()).protocol == "tcp"
    nodes = upstream(nodes=[{"host": "10.0.0.1", "weight": 1}])
    assert flaw("/apisix/stream_routes/9", b'{"upstream":%s}' % nodes).code == "no_port"


def test_a_route_that_is_switched_off_takes_no_part() -> None:
    off, on = (b'{"status":%d,"upstream":%s}' % (status, upstream()) for status in (0, 1))
    assert instance("/apisix/routes/9", off).status == "disabled"
    assert instance("/apisix/routes/9", on).status is None


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (upstream(), "7"),
        (upstream(name="orders"), "orders"),
        (upstream(name=""), "7"),
    ],
)
def test_an_upstream_is_called_by_its_name_or_by_its_id(value: bytes, name: str) -> None:
    found = service(KEY, value)
    assert (found.name, found.prefix) == (name, KEY)


def test_a_service_that_is_to_be_named_by_its_key_is_called_by_its_id() -> None:
    catalog = Catalog(named_by="key")
    catalog.put(Entry(KEY.encode(), upstream(name="orders")))
    assert [each.name for each in catalog.read().services] == ["7"]


def test_every_upstream_is_a_service_of_its_own_a_broken_one_too() -> None:
    pairs = (("/apisix/upstreams/7", upstream()), ("/apisix/upstreams/77", b"{}"), ("/apisix/upstreams/8", upstream()))
    assert services(*pairs) == [
        ("7", "apisix", "/apisix/upstreams/7", 1),
        ("77", "apisix", "/apisix/upstreams/77", 0),
        ("8", "apisix", "/apisix/upstreams/8", 1),
    ]
    found, invalid = catalog_of(*pairs).service("apisix", "/apisix/upstreams/7", "7")
    assert [each.key for each in found.instances] == ["/apisix/upstreams/7"]
    assert invalid == ()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "empty_value"),
        (b" \n", "empty_value"),
        (b"10.0.0.1:80", "not_json"),
        (b'{"nodes":', "not_json"),
        (b"\xef\xbb\xbf{}", "not_json"),
        (b'{"nodes":{"a:1":NaN}}', "not_json"),
        (b"[]", "unknown_layout"),
        (b"null", "unknown_layout"),
        (b'{"nodes":{"a:1":' + b"9" * 5000 + b"}}", "wrong_type"),
        (b'{"labels":' + b"[" * 3000 + b"]" * 3000 + b"}", "too_deep"),
        (b"\xff\xfe", "bad_encoding"),
        (b"{}", "no_nodes"),
        (upstream(nodes={}), "no_nodes"),
        (upstream(nodes=[]), "no_nodes"),
        (upstream(nodes="10.0.0.1:80"), "wrong_type"),
        (upstream(nodes=["10.0.0.1:80"]), "wrong_type"),
        (upstream(scheme=5), "wrong_type"),
        (upstream(name=5), "wrong_type"),
        (upstream(nodes=[{"port": 80, "weight": 1}]), "no_host"),
        (upstream(nodes=[{"host": 5, "port": 80, "weight": 1}]), "wrong_type"),
        (upstream(nodes=[{"host": "10.0.0.1", "port": "80", "weight": 1}]), "wrong_type"),
        (upstream(nodes=[{"host": "10.0.0.1", "port": 0, "weight": 1}]), "bad_port"),
        (upstream(nodes=[{"host": "10.0.0.1", "port": 65536, "weight": 1}]), "bad_port"),
        (upstream(nodes=[{"host": "10.0.0.1", "port": 80.5, "weight": 1}]), "bad_port"),
        (upstream(nodes=[{"host": "10.0.0.1:80", "port": 80, "weight": 1}]), "bad_address"),
        (upstream(nodes=[{"host": "10.0.0.1", "port": 80}]), "bad_weight"),
        (upstream(nodes=[{"host": "10.0.0.1", "port": 80, "weight": 1, "metadata": 5}]), "wrong_type"),
        (upstream(nodes={"10.0.0.1:80": -1}), "bad_weight"),
        (upstream(nodes={"10.0.0.1:80": 2.5}), "bad_weight"),
        (upstream(nodes={"10.0.0.1:80": True}), "bad_weight"),
        (upstream(nodes={"10.0.0.1:80": None}), "bad_weight"),
        (upstream(nodes={"10.0.0.1:80": 10**10}), "bad_weight"),
        (upstream(nodes={"10.0.0.1:80": 1, "10.0.0.2:0": 1}), "bad_port"),
        (upstream(nodes={":80": 1}), "no_host"),
        (upstream(nodes={"0.0.0.0:80": 1}), "wildcard_address"),
        (upstream(nodes={"[::]:80": 1}), "wildcard_address"),
        (upstream(nodes={"::1": 1}), "ipv6_unbracketed"),
        (upstream(nodes={"10.0.0.1:80,10.0.0.2:80": 1}), "multi_address"),
        (upstream(nodes={"unix:/run/x.sock": 1}), "not_tcp"),
        (upstream(nodes={"10.0.0.1:80\x1b[2J": 1}), "control_chars"),
        (upstream(nodes={"10.0.0.1:80 ": 1}), "whitespace"),
        (upstream(name="or\x1bders"), "control_chars"),
        (upstream(service_name="orders", discovery_type="nacos"), "indirect"),
        (upstream(service_name="orders"), "indirect"),
    ],
    ids=lambda part: str(part)[:60],
)
def test_what_cannot_be_used_has_a_code(value: bytes, code: str) -> None:
    found = flaw(KEY, value)
    assert (found.layout, found.code) == ("apisix", code)
    assert found.reason


def test_where_the_nodes_are_instead_is_said() -> None:
    assert "nacos" in flaw(KEY, upstream(service_name="orders", discovery_type="nacos")).reason


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("/apisix/upstreams/", b"init_dir"),
        ("/apisix/upstreams/", b""),
        ("/apisix/upstreams/x", b"init_dir"),
        ("/apisix/routes/", b"init_dir"),
        ("/apisix/plugin_metadata/file-logger", b'{"host":"10.0.0.1","port":80,"password":"x"}'),
        ("/apisix/consumers/joe", upstream()),
        ("/apisix/ssls/1", upstream()),
        ("/apisix/secrets/vault/1", upstream()),
        ("/apisix/global_rules/1", b"10.0.0.1:80"),
    ],
)
def test_the_rest_of_the_tree_is_skipped_unread(key: str, value: bytes) -> None:
    assert skipped(key, value) != "no layout has such a key and value"


def test_a_tree_of_another_name_is_read_where_it_is_known_to_be_one() -> None:
    catalog = Catalog("/gateway/", rooted=True, layout="apisix")
    catalog.put(Entry(b"/gateway/upstreams/7", upstream()))
    assert [(each.name, each.prefix) for each in catalog.read().services] == [("7", "/gateway/upstreams/7")]
