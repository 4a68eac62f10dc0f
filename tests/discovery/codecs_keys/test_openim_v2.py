"""OpenIM v2: keys that look like URLs, two of them for every server."""

from __future__ import annotations

import pytest

from tests.discovery.codecs_keys.reading import catalog_of, flaw, instance, nobodys, services, skipped

FOLDER = "openim:///user/"
KEY = FOLDER + "10.180.0.1:10110"
ADDRESS = b"10.180.0.1:10110"


def test_a_server_is_its_address_and_the_schema_is_kept() -> None:
    found = instance(KEY, ADDRESS)
    assert (found.layout, found.address, found.weight, found.protocol) == ("openim-v2", "10.180.0.1:10110", None, None)
    assert found.metadata == {"@schema": "openim"}
    assert instance("openim:///user/[fd00::1]:1", b"[fd00::1]:1").address == "[fd00::1]:1"


def test_the_other_name_of_a_server_is_not_another_server() -> None:
    alias = "openim:///user:10.180.0.1:10110/10.180.0.1:10110"
    assert skipped(alias, ADDRESS) == "another name of the same server"
    assert services((KEY, ADDRESS), (alias, ADDRESS)) == [("user", "openim-v2", FOLDER, 1)]


def test_the_address_in_the_value_wins_and_another_in_the_key_warns() -> None:
    found = instance(FOLDER + "10.180.0.9:1", ADDRESS)
    assert (found.address, found.warnings) == (
        "10.180.0.1:10110",
        ("key says 10.180.0.9:1, value says 10.180.0.1:10110",),
    )


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"", "empty_value"),
        (b" ", "empty_value"),
        (b"10.180.0.1:10110\n", "whitespace"),
        (b"10.180.0.1", "no_port"),
        (b"10.180.0.1:0", "bad_port"),
        (b":10110", "no_host"),
        (b"0.0.0.0:10110", "wildcard_address"),
        (b"[::]:10110", "wildcard_address"),
        (b"fd00::1:10110", "ipv6_unbracketed"),
        (b"a:1,b:1", "multi_address"),
        (b"unix:/x", "not_tcp"),
        (b'{"addr":"a:1"}', "bad_address"),
        (b"a\x1b[2J:1", "control_chars"),
        (b"\xff:1", "bad_encoding"),
    ],
)
def test_a_value_that_cannot_be_used_has_a_code(value: bytes, code: str) -> None:
    for key in (KEY, FOLDER + "node-1"):
        found = flaw(key, value)
        assert (found.layout, found.code) == ("openim-v2", code)
        _, invalid = catalog_of((key, value)).service("openim-v2", FOLDER, "user")
        assert [each.key for each in invalid] == [key]


def test_a_key_without_a_service_says_so() -> None:
    assert flaw("openim:////10.180.0.1:10110", ADDRESS).code == "no_service"


def test_another_schema_counts_where_the_key_ends_in_an_address() -> None:
    assert services(("etcdv3:///prod/10.180.0.1:10110", ADDRESS)) == [("prod", "openim-v2", "etcdv3:///prod/", 1)]
    assert nobodys("file:///etc/hosts", b"?")
    assert flaw("etcdv3:///prod/x", b"?", ("etcdv3:///prod/10.180.0.1:10110", ADDRESS)).layout == "openim-v2"
