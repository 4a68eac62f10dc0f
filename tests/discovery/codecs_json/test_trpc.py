"""tRPC for Go, whose values say all, and for C++, whose keys do."""

from __future__ import annotations

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry
from tests.discovery.codecs_json.samples import SAMPLES, flaw, instance, rows

KEY = SAMPLES["trpc-go"].key


def value(**members: object) -> dict[str, object]:
    return SAMPLES["trpc-go"].value | members


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (" trpc/registry/services/trpc.test.Echo/1", "trpc.test.Echo"),
        (" trpc/registry/services/team-trpc.test.Echo/1", "team/trpc.test.Echo"),
        ("trpc/prod/trpc.test.Echo/1", "trpc.test.Echo"),
        ("/trpc.test.Echo/1", "trpc.test.Echo"),
    ],
)
def test_a_name_is_the_value_s_and_a_slash_in_it_is_a_dash_in_its_key(key: str, name: str) -> None:
    found = instance(key, value(name=name))
    assert (found.service, found.warnings) == (name, ())
    assert (found.weight, found.protocol, found.secure) == (3, None, None)
    assert found.metadata == {"@id": "10.0.0.1-90-12"}


def test_the_space_that_a_key_begins_with_is_kept() -> None:
    assert instance(KEY, value()).key == " trpc/registry/services/trpc.test.Echo/10.0.0.1-90-12"


@pytest.mark.parametrize(("weight", "read"), [(40, 40), (0, 1), (None, 1)])
def test_no_weight_is_the_one_that_servers_register_by_default(weight: object, read: int) -> None:
    assert instance(KEY, value(weight=weight)).weight == read


@pytest.mark.parametrize("weight", [-1, 2.5, 1_000_000_000])
def test_a_number_that_is_no_weight_is_bad(weight: float) -> None:
    assert flaw(KEY, value(weight=weight)).code == "bad_weight"


@pytest.mark.parametrize(
    ("address", "code"),
    [("", "no_address"), (None, "no_address"), ("fd00::1:90", "ipv6_unbracketed"), ("10.0.0.1", "no_port")],
)
def test_an_address_that_cannot_be_dialled_has_its_code(address: object, code: str) -> None:
    assert flaw(KEY, value(address=address)).code == code


def test_the_value_s_name_wins_over_the_key_s_and_that_is_said() -> None:
    found = instance(KEY, value(name="other"))
    assert (found.service, found.warnings) == (
        "other",
        ("key says  trpc/registry/services/trpc.test.Echo/, value says other",),
    )


def test_people_with_names_and_addresses_are_nobody_s() -> None:
    person = {"id": 7, "name": "Ada", "address": "12 St James's Square"}
    assert rows("/crm/people/7", person) == []
    assert rows("/crm/people/7", person | {"metadata": {}}) == []
    assert flaw(" trpc/registry/services/Ada/7", person).code == "wrong_type"


@pytest.mark.parametrize(
    ("key", "service", "prefix", "address"),
    [
        ("/trpc.test.Echo/10.0.0.1/90", "trpc.test.Echo", "/trpc.test.Echo/", "10.0.0.1:90"),
        ("/blue_trpc.test.Echo/echo.local/90", "blue_trpc.test.Echo", "/blue_trpc.test.Echo/", "echo.local:90"),
        ("/trpc.test.Echo/fd00::1/90", "trpc.test.Echo", "/trpc.test.Echo/", "[fd00::1]:90"),
        ("/a/b/trpc.test.Echo/10.0.0.1/90", "trpc.test.Echo", "/a/b/trpc.test.Echo/", "10.0.0.1:90"),
    ],
)
def test_for_cpp_host_and_port_are_the_key_s_last_two_parts(key: str, service: str, prefix: str, address: str) -> None:

    catalog = Catalog()
    catalog.put(Entry(key.encode(), b'{"meta":{"set":"s1"}}'))
    (found,) = catalog.read().services
    assert (found.name, found.layout, found.prefix) == (service, "trpc-cpp", prefix)
    assert [(each.address, each.weight, each.metadata) for each in found.instances] == [(address, None, {"set": "s1"})]


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("/trpc.test.Echo/10.0.0.1/0", "bad_port"),
        ("/trpc.test.Echo/10.0.0.1/65536", "bad_port"),
        ("/trpc.test.Echo/10.0.0.1/" + "9" * 5000, "bad_port"),
        ("/trpc.test.Echo/0.0.0.0/90", "wildcard_address"),
        ("/trpc.test.Echo/a b/90", "whitespace"),
        ("//10.0.0.1/90", "no_service"),
    ],
)
def test_for_cpp_a_key_that_cannot_be_dialled_has_its_code(key: str, code: str) -> None:
    found = flaw(key, {"meta": {}})
    assert (found.layout, found.code) == ("trpc-cpp", code)


def test_for_cpp_what_is_no_text_in_meta_is_left_out_as_clients_do() -> None:
    found = instance("/trpc.test.Echo/10.0.0.1/90", {"meta": {"set": "s1", "n": 5, "x": None}})
    assert found.metadata["set"] == "s1"
    assert found.metadata.keys() == {"set", "@warning"}
    assert found.warnings == ("what is no text in meta is left out, as clients do",)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("/trpc.test.Echo/10.0.0.1/x", {"meta": {}}),
        ("/10.0.0.1/90", {"meta": {}}),
        ("/conf/pages/5", {"meta": {}, "body": ""}),
        ("/conf/app/pages/5", {"meta": "x"}),
        ("/conf/app/pages/٣", {"meta": {}}),
    ],
)
def test_for_cpp_anything_else_with_meta_is_nobody_s(key: str, value: object) -> None:
    assert rows(key, value) == []


def test_fewer_members_will_do_where_the_layout_is_asked_for() -> None:
    catalog = Catalog(preferred="trpc-go")
    catalog.put(Entry(b"/mine/Echo/1", b'{"name":"Echo","id":"1","address":"10.0.0.1:90"}'))
    (found,) = catalog.read().services
    assert (found.name, found.layout, found.prefix) == ("Echo", "trpc-go", "/mine/Echo/")
