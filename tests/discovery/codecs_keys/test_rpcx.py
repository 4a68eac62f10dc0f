"""rpcx: a network before the address, metadata as a form, and markers above the servers."""

from __future__ import annotations

from typing import Any

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.flaws import Unusable
from lbctl.model import Entry
from tests.discovery.codecs_keys.reading import catalog_of, flaw, instance, services, skipped, weighed

FOLDER = "/rpcx_test/Arith/"
KEY = FOLDER + "tcp@10.90.0.1:8972"
BASE = ("/rpcx_test", b"rpcx_path")
MARKER = ("/rpcx_test/Arith", b"Arith")


@pytest.mark.parametrize(
    "network", ["tcp", "tcp4", "tcp6", "http", "ws", "wss", "quic", "kcp", "rdma", "reuseport", "iouring"]
)
def test_the_network_before_the_address_is_the_protocol(network: str) -> None:
    found = instance(f"{FOLDER}{network}@10.90.0.1:8972", b"")
    assert (found.layout, found.address, found.protocol) == ("rpcx", "10.90.0.1:8972", network)
    assert (found.weight, found.secure, found.metadata) == (1, None, {"@network": network})


@pytest.mark.parametrize(
    ("key", "name", "prefix"),
    [
        ("/rpcx_test/Arith/tcp@a:1", "Arith", "/rpcx_test/Arith/"),
        ("rpcx_test/Arith/tcp@a:1", "Arith", "rpcx_test/Arith/"),
        ("/com/example/rpcx/Arith/tcp@[fd00::1]:1", "Arith", "/com/example/rpcx/Arith/"),
        ("Arith/tcp@a:1", "Arith", "Arith/"),
    ],
)
def test_a_service_is_the_last_folder_whatever_is_above_it(key: str, name: str, prefix: str) -> None:
    assert services((key, b"")) == [(name, "rpcx", prefix, 1)]


@pytest.mark.parametrize(
    ("value", "metadata"),
    [
        (b"", {}),
        (b"group=blue&weight=7", {"group": "blue", "weight": "7"}),
        (b"group=blue&group=green", {"group": ["blue", "green"]}),
        (b"a=x%26y%3Dz+%C3%A9&b", {"a": "x&y=z é", "b": ""}),
        (b"&a=1&&", {"a": "1"}),
        (b"calls=12.50&connections=3.00", {"calls": "12.50", "connections": "3.00"}),
    ],
)
def test_metadata_are_a_form(value: bytes, metadata: dict[str, Any]) -> None:
    assert instance(KEY, value).metadata == metadata | {"@network": "tcp"}


@pytest.mark.parametrize(("value", "status"), [(b"state=inactive", "inactive"), (b"state=active", None), (b"", None)])
def test_an_inactive_server_says_so(value: bytes, status: str | None) -> None:
    assert instance(KEY, value).status == status


@pytest.mark.parametrize(
    ("text", "weight"), [("", 1), ("0", 0), ("7", 7), ("007", 7), ("7&weight=9", 7), ("999999999", 999_999_999)]
)
def test_the_first_weight_counts_and_none_is_one(text: str, weight: int) -> None:
    found = instance(KEY, f"weight={text}".encode())
    assert (found.weight, found.warnings) == (weight, ())


@pytest.mark.parametrize("text", ["heavy", "2.5", "1e3", "0x10", "9" * 5000])
def test_a_weight_that_its_client_cannot_read_counts_as_one_and_warns(text: str) -> None:
    found = instance(KEY, f"weight={text}".encode())
    assert found.weight == 1
    assert found.warnings == (f'weight "{text[:40]}" is not a number; 1 is used',)
    assert found.metadata["@warning"] == found.warnings[0]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"weight=-1", "bad_weight"),
        (b"weight=1234567890", "bad_weight"),
        (b"a=%zz", "bad_percent_encoding"),
        (b"a=%", "bad_percent_encoding"),
        (b"%4=a", "bad_percent_encoding"),
        (b"a=%ff", "bad_percent_encoding"),
        (b"weight=3\n", "whitespace"),
        (b" ", "empty_value"),
        (b"a=%1b[2J", "control_chars"),
        (b"%00=a", "control_chars"),
        (b"a=1&a=%1b", "control_chars"),
        (b"a=\x1b", "control_chars"),
        (b"a=\xff", "bad_encoding"),
    ],
)
def test_metadata_that_cannot_be_used_have_a_code(value: bytes, code: str) -> None:
    found = flaw(KEY, value)
    assert (found.layout, found.code) == ("rpcx", code)


@pytest.mark.parametrize(
    ("leaf", "code"),
    [
        ("tcp@", "no_address"),
        ("tcp@10.90.0.1", "no_port"),
        ("tcp@10.90.0.1:0", "bad_port"),
        ("tcp@:8972", "no_host"),
        ("tcp@[::]:8972", "wildcard_address"),
        ("http@0.0.0.0:8972", "wildcard_address"),
        ("tcp@fd00::1:8972", "ipv6_unbracketed"),
        ("tcp@a:1,b:1", "multi_address"),
        ("unix@/tmp/arith.sock", "not_tcp"),
        ("unix@arith.sock", "not_tcp"),
        ("memu@10.90.0.1:8972", "not_tcp"),
    ],
)
def test_a_key_that_cannot_be_dialled_has_a_code_and_its_service(leaf: str, code: str) -> None:
    found = flaw(FOLDER + leaf, b"")
    assert (found.layout, found.code) == ("rpcx", code)
    _, invalid = catalog_of((FOLDER + leaf, b"")).service("rpcx", FOLDER, "Arith")
    assert [each.code for each in invalid] == [code]


@pytest.mark.parametrize("key", ["/tcp@a:1", "/rpcx_test//tcp@a:1"])
def test_a_server_without_a_folder_is_of_no_service(key: str) -> None:
    assert flaw(key, b"").code == "no_service"


def test_markers_are_skipped_and_a_network_that_is_none_is_not_rpcxs() -> None:
    assert "marker" in skipped(*BASE)
    assert "marker" in skipped(*MARKER)
    assert services(("/mail/joe@10.90.0.1:8972", b"")) == []


@pytest.mark.parametrize("value", [b"", b"weight=7&group=blue"])
def test_a_key_without_a_network_is_rpcxs_where_the_folder_above_is_marked(value: bytes) -> None:
    found = instance(FOLDER + "10.90.0.1:8972", value, BASE, MARKER)
    assert (found.layout, found.address, found.protocol) == ("rpcx", "10.90.0.1:8972", "tcp")
    assert found.metadata["@network"] == "tcp"
    assert instance(FOLDER + "10.90.0.1:8972", b"", MARKER).layout == "key-only"
    assert instance(FOLDER + "10.90.0.1:8972", b"10.90.0.1:8972", BASE, MARKER).layout == "plain"


def test_the_marker_may_come_and_go_after_the_server() -> None:
    catalog = catalog_of((FOLDER + "10.90.0.1:8972", b""))
    assert [each.layout for each in catalog.read().services] == ["key-only"]
    catalog.put(Entry(b"/rpcx_test", b"rpcx_path"))
    assert [each.layout for each in catalog.read().services] == ["rpcx"]
    catalog.remove(b"/rpcx_test")
    assert [each.layout for each in catalog.read().services] == ["key-only"]


def test_what_its_folder_is_known_to_be_stands_for_the_markers() -> None:
    catalog = Catalog("/rpcx_test/", rooted=True, layout="rpcx")
    catalog.put(Entry(f"{FOLDER}10.90.0.1:8972".encode(), b"weight=3"))
    ((found,), _, _) = catalog.read()
    assert (found.name, found.layout, found.prefix, found.instances[0].weight) == ("Arith", "rpcx", FOLDER, 3)


def test_beside_servers_of_rpcx_a_leftover_is_one_of_its_own_or_a_row() -> None:
    assert instance(FOLDER + "10.90.0.9:1", b"weight=7", (KEY, b"")).layout == "rpcx"
    found = flaw(FOLDER + "nonsense", b"weight=7", (KEY, b""))
    assert (found.layout, found.code) == ("rpcx", "no_port")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (b"", b"weight=7"),
        (b"group=a%2Fb+c", b"group=a%2Fb+c&weight=7"),
        (b"weight=3&group=blue", b"weight=7&group=blue"),
        (b"group=blue&weight=heavy&weight=5", b"group=blue&weight=7&weight=5"),
        (b"%77eight=3", b"%77eight=7"),
        (b"weight", b"weight=7"),
        (b"overweight=3", b"overweight=3&weight=7"),
    ],
)
def test_another_weight_leaves_the_form_as_it_is(value: bytes, written: bytes) -> None:
    assert weighed("rpcx", KEY, value) == written


def test_a_weight_cannot_be_written_into_metadata_that_are_broken() -> None:
    with pytest.raises(Unusable):
        weighed("rpcx", KEY, b"a=%zz")
