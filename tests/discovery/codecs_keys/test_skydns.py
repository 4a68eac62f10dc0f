"""Records of SkyDNS and CoreDNS: services are domains, and most kinds of records are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.flaws import Unusable
from lbctl.model import Entry
from tests.discovery.codecs_keys.reading import flaw, instance, services, skipped, weighed

KEY = "/skydns/local/cluster/orders/node1"


def record(**members: Any) -> bytes:  # noqa: ANN401  # JSON is what it is
    return json.dumps({"host": "10.140.0.1", "port": 50051} | members).encode()


def test_labels_are_read_backwards_and_records_of_one_domain_are_one_service() -> None:
    pairs = (
        (KEY, record()),
        ("/skydns/local/cluster/orders/node2", record(host="10.140.0.2")),
        ("/skydns/local/cluster/orders/eu/node3", record()),
        ("/skydns/local/cluster/users", record()),
    )
    assert services(*pairs) == [
        ("cluster.local", "skydns", "/skydns/local/cluster/", 1),
        ("eu.orders.cluster.local", "skydns", "/skydns/local/cluster/orders/eu/", 1),
        ("orders.cluster.local", "skydns", "/skydns/local/cluster/orders/", 2),
    ]
    assert instance(KEY, record()).metadata["@name"] == "node1.orders.cluster.local"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.140.0.1", "10.140.0.1:50051"),
        ("fd00::1", "[fd00::1]:50051"),
        ("[fd00::1]", "[fd00::1]:50051"),
        ("backend.internal", "backend.internal:50051"),
        ("backend.internal.", "backend.internal:50051"),
    ],
)
def test_a_host_is_a_name_or_an_address_in_any_form(host: str, address: str) -> None:
    assert instance(KEY, record(host=host)).address == address


@pytest.mark.parametrize(("weight", "read"), [(None, None), (0, None), (1, 1), (50, 50)])
def test_a_weight_of_zero_is_none_as_the_server_has_it(weight: int | None, read: int | None) -> None:
    assert instance(KEY, record(weight=weight)).weight == read


def test_what_else_a_record_says_is_kept() -> None:
    found = instance(KEY, record(priority=20, ttl=60, group="g1"))
    assert found.metadata == {"@name": "node1.orders.cluster.local", "@priority": 20, "@ttl": 60, "@group": "g1"}
    assert (found.protocol, found.secure, found.status) == (None, None, None)
    assert instance(KEY, record(priority=0, ttl=0, group="")).metadata == {
        "@name": "node1.orders.cluster.local",
        "@priority": 10,
    }


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (KEY, b'{"text":"v=spf1"}', "TXT"),
        (KEY, b'{"host":"","text":"v=spf1"}', "TXT"),
        (KEY, record(mail=True), "MX"),
        ("/skydns/arpa/in-addr/10/140/0/1", b'{"host":"node1.orders.cluster.local"}', "PTR"),
        ("/skydns/config", b'{"dns_addr":"127.0.0.1:53"}', "configuration"),
        ("/skydns/local/skydns/dns/ns/ns1", record(), "NS"),
        ("/skydns/local/skydns/dns/ns", record(), "NS"),
    ],
)
def test_records_of_other_kinds_are_no_instances(key: str, value: bytes, why: str) -> None:
    assert why in skipped(key, value)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "empty_value"),
        (b"10.140.0.1:80", "not_json"),
        (b'{"host":', "not_json"),
        (b"[]", "unknown_layout"),
        (b"{}", "no_address"),
        (b'{"port":80}', "no_address"),
        (b'{"host":"10.140.0.1"}', "no_port"),
        (record(port=0), "bad_port"),
        (record(port=70000), "bad_port"),
        (record(port="50051"), "wrong_type"),
        (record(port=80.5), "bad_port"),
        (record(host=5), "wrong_type"),
        (record(host="10.140.0.1:80"), "bad_address"),
        (record(host="0.0.0.0"), "wildcard_address"),
        (record(host="::"), "wildcard_address"),
        (record(host="a b"), "whitespace"),
        (record(host="a\x1b[2J"), "control_chars"),
        (record(weight=-1), "bad_weight"),
        (record(weight=1.5), "bad_weight"),
        (record(weight=10**10), "bad_weight"),
        (record(weight="5"), "wrong_type"),
        (record(priority="5"), "wrong_type"),
        (record(ttl=[]), "wrong_type"),
        (record(group=5), "wrong_type"),
        (record(mail="yes"), "wrong_type"),
    ],
    ids=lambda part: str(part)[:60],
)
def test_what_cannot_be_used_has_a_code(value: bytes, code: str) -> None:
    found = flaw(KEY, value)
    assert (found.layout, found.code) == ("skydns", code)


def test_a_wrong_type_says_that_the_server_fails_the_whole_query() -> None:
    assert "CoreDNS answers no query for its domain" in flaw(KEY, record(host=5)).reason


@pytest.mark.parametrize("key", ["/skydns/x", "/skydns/local//x", "/skydns//cluster/x"])
def test_a_record_without_a_domain_above_it_has_no_service(key: str) -> None:
    assert flaw(key, record()).code == "no_service"


def test_a_broken_record_is_of_the_same_service_as_good_ones() -> None:
    assert services(("/skydns/local/cluster/orders/x", b"?")) == [
        ("orders.cluster.local", "skydns", "/skydns/local/cluster/orders/", 0)
    ]


def test_a_tree_of_another_name_is_read_where_it_is_known_to_be_one() -> None:
    catalog = Catalog("/dns/", rooted=True, layout="skydns")
    catalog.put(Entry(b"/dns/local/cluster/orders/node1", record()))
    assert [each.name for each in catalog.read().services] == ["orders.cluster.local"]


def test_another_weight_leaves_the_record_as_it_is() -> None:
    assert weighed("skydns", KEY, b'{ "host":"a","port":1, "weight": 50,"x":[1, 2]}\n') == (
        b'{ "host":"a","port":1, "weight": 7,"x":[1, 2]}\n'
    )
    assert weighed("skydns", KEY, b'{"host":"a","port":1}') == b'{"host":"a","port":1,"weight":7}'
    with pytest.raises(Unusable, match="0 for the default, 100"):
        weighed("skydns", KEY, b'{"host":"a","port":1}', 0)
