"""Providers of Dubbo: everything is in a URL, percent-encoded, at the end of the key."""

from __future__ import annotations

from urllib.parse import quote_plus

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.flaws import Unusable
from lbctl.model import Entry
from tests.discovery.codecs_keys.reading import catalog_of, flaw, instance, nobodys, service, services, skipped, weighed

FOLDER = "/dubbo/greet.GreetService/providers/"
URL = "tri://10.80.0.1:20000/greet.GreetService?side=provider"


def key(url: str = URL, folder: str = FOLDER) -> str:
    return folder + quote_plus(url)


@pytest.mark.parametrize("value", [b"", b"7587878123456785001", b"{}", b"\xff", b"10.0.0.9:1"])
def test_the_value_says_nothing(value: bytes) -> None:
    assert instance(key(), value).address == "10.80.0.1:20000"


def test_a_service_is_an_interface_and_its_key_has_its_name_encoded() -> None:
    folder = "/dubbo/a.B%24Inner/providers/"
    found = service(key(folder=folder), b"")
    assert (found.name, found.prefix) == ("a.B$Inner", folder)


def test_groups_versions_and_registries_of_other_names_are_read() -> None:
    assert services(
        (key(), b""),
        (key("tri://10.80.0.2:20000/x?version=2.0&group=g"), b""),
        (key(folder="/blue/greet.GreetService/providers/"), b""),
    ) == [
        ("greet.GreetService", "dubbo-interface", "/blue/greet.GreetService/providers/", 1),
        ("greet.GreetService", "dubbo-interface", FOLDER, 2),
    ]


@pytest.mark.parametrize(
    ("url", "protocol", "secure", "weight", "status"),
    [
        ("tri://a:1/x", "tri", None, 100, None),
        ("dubbo://a:1/x?weight=7", "dubbo", None, 7, None),
        ("grpc://a:1/x?weight=", "grpc", None, 100, None),
        ("rest://a:1?weight=0", "rest", None, 0, None),
        ("tri://a:1/x?ssl-enabled=true", "tri", True, 100, None),
        ("tri://a:1/x?ssl-enabled=false", "tri", None, 100, None),
        ("tri://a:1/x?disabled=true", "tri", None, 100, "disabled"),
        ("tri://a:1/x?enabled=false", "tri", None, 100, "disabled"),
        ("tri://a:1/x?enabled=true&disabled=false", "tri", None, 100, None),
        ("tri://user:secret@a:1/x", "tri", None, 100, None),
    ],
)
def test_the_url_says_it_all(url: str, protocol: str, secure: bool | None, weight: int, status: str | None) -> None:
    found = instance(key(url), b"")
    assert found.address == "a:1"
    assert (found.protocol, found.secure, found.weight, found.status) == (protocol, secure, weight, status)


def test_parameters_are_decoded_once_and_both_cases_of_digits_do() -> None:
    small = "/dubbo/i/providers/tri%3a%2f%2f10.80.0.1%3a20000%2fi%3fname%3dcaf%c3%a9+au+lait%26odd%3d%2525"
    assert instance(small, b"").metadata == {"name": "café au lait", "odd": "%25"}


def test_a_weight_that_is_text_counts_as_the_default_and_warns() -> None:
    found = instance(key("tri://a:1/x?weight=heavy"), b"")
    assert found.weight == 100
    assert found.warnings == ('weight "heavy" is not a number; 100 is used',)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("tri://10.80.0.1/x", "no_port"),
        ("tri://10.80.0.1:0/x", "bad_port"),
        ("tri://10.80.0.1:http/x", "bad_port"),
        ("tri://:20000/x", "no_host"),
        ("tri://?side=provider", "no_address"),
        ("tri://0.0.0.0:20000/x", "wildcard_address"),
        ("tri://fd00::1:20000/x", "ipv6_unbracketed"),
        ("tri://a:1,b:1/x", "multi_address"),
        ("tri://a b:1/x", "whitespace"),
        ("tri://a:1/x?name=\x1b[2J", "control_chars"),
        ("tri://a:1/x?weight=-5", "bad_weight"),
        ("tri://a:1/x?weight=12345678901", "bad_weight"),
        ("?at=tri://a:1/x", "bad_address"),
    ],
)
def test_a_url_that_cannot_be_used_has_a_code(url: str, code: str) -> None:
    found = flaw(key(url), b"")
    assert (found.layout, found.code) == ("dubbo-interface", code)


def test_a_bracketed_ipv6_address_can_be_dialled() -> None:
    assert instance(key("tri://[fd00::1]:20000/x"), b"").address == "[fd00::1]:20000"


@pytest.mark.parametrize("broken", ["%zz", "%4", "%", "%ff", "%c3%28"])
def test_broken_percent_encoding_has_a_code_wherever_it_is(broken: str) -> None:
    assert flaw(key() + broken, b"").code == "bad_percent_encoding"
    assert flaw(key(folder=f"/dubbo/a{broken}/providers/"), b"").code == "bad_percent_encoding"


def test_an_interface_without_a_name_is_no_service() -> None:
    assert flaw(key(folder="/dubbo//providers/"), b"").code == "no_service"


def test_a_broken_provider_is_of_the_service_of_good_ones() -> None:
    bad = key("tri://10.80.0.1/x")
    assert services((bad, b"")) == [("greet.GreetService", "dubbo-interface", FOLDER, 0)]
    _, invalid = catalog_of((bad, b""), (key(), b"")).service("dubbo-interface", FOLDER, "greet.GreetService")
    assert [each.key for each in invalid] == [bad]


def test_what_is_no_url_among_providers_is_a_row() -> None:
    found = flaw(FOLDER + "tri", b"?")
    assert (found.layout, found.code) == ("dubbo-interface", "bad_address")


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (key("consumer://10.80.0.9/greet.GreetService", "/dubbo/greet.GreetService/consumers/"), b"", "consumer"),
        (key("route://0.0.0.0/greet.GreetService", "/dubbo/greet.GreetService/routers/"), b"", "routing rule"),
        (key("override://0.0.0.0/greet.GreetService", "/dubbo/greet.GreetService/configurators/"), b"", "override"),
        ("/dubbo/greet.GreetService/providers", b"", "directory"),
        ("/dubbo/greet.GreetService/consumers", b"-1338474123", "directory"),
        ("/blue/greet.GreetService/providers", b"1338474123", "directory"),
        ("/dubbo/greet.GreetService", b"", "directory"),
        ("/dubbo", b"", "directory"),
        ("/dubbo", b"1500744", "directory"),
    ],
)
def test_what_is_no_provider_is_skipped(at: str, value: bytes, why: str) -> None:
    assert why in skipped(at, value)


def test_any_folders_own_key_is_a_directory_while_it_has_something_below_it() -> None:
    assert "directory" in skipped("/blue/greet.GreetService", b"-77", (key(folder="/blue/greet.GreetService/x/"), b""))
    assert nobodys("/blue/greet.GreetService", b"-77")
    assert nobodys("/blue/greet.GreetService", b"text", ("/blue/greet.GreetService/x", b"y"))


def test_the_weight_is_in_the_key_and_cannot_be_written() -> None:
    with pytest.raises(Unusable, match="a part of its key"):
        weighed("dubbo-interface", key(), b"")


def test_a_registry_of_another_name_is_no_default_root() -> None:
    catalog = Catalog()
    catalog.put(Entry(b"/blue/greet.GreetService/providers/tri", b"?"))
    assert catalog.read() == ((), (), 1)
