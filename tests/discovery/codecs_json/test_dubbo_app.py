from __future__ import annotations

import json

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry, Instance
from tests.discovery.codecs_json.samples import SAMPLES, flaw, instance, rows, spelled

KEY = SAMPLES["dubbo-app"].key


def go(endpoints: object = None, **members: object) -> dict[str, object]:
    text = endpoints if isinstance(endpoints, str) else json.dumps(endpoints)
    metadata = {} if endpoints is None else {"dubbo.endpoints": text}
    return SAMPLES["dubbo-app"].value | {"Metadata": metadata} | members


def java(**members: object) -> dict[str, object]:
    return {
        "id": "10.0.0.1:90",
        "serviceName": "demo",
        "host": "10.0.0.1",
        "port": 90,
        "enabled": True,
        "healthy": True,
        "metadata": {"dubbo.endpoints": '[{"port":90,"protocol":"dubbo"}]'},
    } | members


def shown(*found: object) -> list[tuple[str, str | None]]:
    return [(each.address, each.protocol) for each in found if isinstance(each, Instance)]


def test_java_s_spelling_is_read_as_go_s_is() -> None:
    found = instance(KEY, java())
    assert (found.layout, found.service, found.address, found.protocol) == ("dubbo-app", "demo", "10.0.0.1:90", "dubbo")
    assert (found.weight, found.secure, found.status) == (100, None, None)
    assert found.metadata == {"dubbo.endpoints": '[{"port":90,"protocol":"dubbo"}]', "@id": "10.0.0.1:90"}


def test_every_port_that_is_called_an_endpoint_is_an_instance_of_the_host() -> None:
    endpoints = [{"port": 90, "protocol": "tri"}, {"port": 91, "protocol": "rest"}, {"port": 92}]
    assert shown(*rows(KEY, go(endpoints))) == [
        ("10.0.0.1:90", "tri"),
        ("10.0.0.1:91", "rest"),
        ("10.0.0.1:92", None),
    ]


@pytest.mark.parametrize("endpoints", [None, [], "", "[]"])
def test_without_endpoints_the_port_counts_and_no_protocol_is_stated(endpoints: object) -> None:
    found = instance(KEY, go(endpoints))
    assert (found.address, found.protocol, found.warnings) == ("10.0.0.1:90", None, ())


@pytest.mark.parametrize("endpoints", ["[{", "tri:90", "{}", "[5]", '[{"port":"90"}]', '[{"port":90,"protocol":5}]'])
def test_endpoints_that_cannot_be_read_are_left_out_as_clients_do_and_that_is_said(endpoints: str) -> None:
    found = instance(KEY, go(endpoints))
    (warning,) = found.warnings
    assert (found.address, found.protocol) == ("10.0.0.1:90", None)
    assert warning.startswith("dubbo.endpoints is left out: ")


def test_endpoints_nested_too_deep_or_with_endless_numbers_are_left_out_as_well() -> None:
    for endpoints in ("[" * 3000 + "]" * 3000, '[{"port":' + "9" * 5000 + "}]"):
        assert shown(*rows(KEY, go(endpoints))) == [("10.0.0.1:90", None)]


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"Host": ""}, "no_host"),
        ({"Host": None}, "no_host"),
        ({"Port": None}, "no_port"),
        ({"Port": 0}, "bad_port"),
        ({"Port": 65536}, "bad_port"),
        ({"Port": 90.5}, "bad_port"),
        ({"Host": "0.0.0.0"}, "wildcard_address"),
        ({"Host": "::"}, "wildcard_address"),
        ({"Host": "10.0.0.1:90"}, "bad_address"),
        ({"Host": "10.0.0.1,10.0.0.2"}, "multi_address"),
        ({"Weight": 2.5}, "bad_weight"),
        ({"Weight": 1_000_000_000}, "bad_weight"),
    ],
)
def test_what_cannot_be_called_has_its_code(members: dict[str, object], code: str) -> None:
    found = flaw(KEY, go(**members))
    assert (found.layout, found.code) == ("dubbo-app", code)


@pytest.mark.parametrize("port", [0, 65536])
def test_an_endpoint_s_port_is_a_port(port: int) -> None:
    assert flaw(KEY, go([{"port": port, "protocol": "tri"}])).code == "bad_port"


def test_endpoints_do_without_the_port_of_the_process() -> None:
    assert instance(KEY, go([{"port": 91, "protocol": "tri"}], Port=0)).address == "10.0.0.1:91"


def test_a_host_that_stands_alone_needs_no_brackets() -> None:
    found = instance("/services/demo/fd00::1:90", go(Host="fd00::1"))
    assert (found.address, found.warnings) == ("[fd00::1]:90", ())


@pytest.mark.parametrize(("weight", "read"), [(0, 100), (-1, 100), (None, 100), (7, 7)])
def test_a_weight_of_nothing_and_less_is_the_default(weight: object, read: int) -> None:
    assert instance(KEY, go(Weight=weight)).weight == read


@pytest.mark.parametrize(
    ("enabled", "healthy", "status"),
    [
        (True, True, None),
        (None, None, None),
        (True, False, "unhealthy"),
        (False, True, "disabled"),
        (False, False, "disabled"),
    ],
)
def test_what_takes_no_calls_says_why(enabled: object, healthy: object, status: str | None) -> None:
    assert instance(KEY, go(Enable=enabled, Healthy=healthy)).status == status
    assert instance(KEY, java(enabled=enabled, healthy=healthy)).status == status


def test_tag_and_group_are_told() -> None:
    assert instance(KEY, go(Tag="gray", GroupName="blue")).metadata == {
        "@id": "10.0.0.1:90",
        "@tag": "gray",
        "@group": "blue",
    }


def test_the_value_wins_over_the_key_and_that_is_said() -> None:
    assert instance(KEY, go(Host="10.0.0.9")).warnings == ("key says 10.0.0.1:90, value says 10.0.0.9:90",)
    assert instance(KEY, go([{"port": 91}])).warnings == ()
    found = instance(KEY, go(ServiceName="other"))
    assert (found.service, found.warnings) == ("other", ("key says /services/demo/, value says other",))


def test_an_empty_name_is_none() -> None:
    assert flaw("/services//10.0.0.1:90", go(ServiceName="")).code == "no_service"


def test_it_ends_in_a_newline_when_go_writes_it() -> None:
    assert instance(KEY, spelled(go()) + b"\n").address == "10.0.0.1:90"


def test_under_services_the_value_says_whose_a_key_is() -> None:
    key = "/services/demo/10.0.0.1:90"
    values: dict[str, object] = {
        "dubbo-app": go(),
        "seed": b"10.0.0.1:90|5",
        "go-kit": b"grpc://10.0.0.1:90",
        "plain": b"10.0.0.1:90",
        "etcd-naming": {"Op": 0, "Addr": "10.0.0.1:90", "Metadata": None},
        "json": {"addr": "10.0.0.1:90"},
    }
    assert {layout: instance(key, each).layout for layout, each in values.items()} == {each: each for each in values}


def test_the_configuration_of_a_database_is_nobody_s() -> None:
    config = {"serviceName": "db", "host": "db.example", "port": 3306, "password": "secret"}
    assert rows("/conf/app/db", config) == []


def test_a_directory_of_java_s_is_no_instance() -> None:
    catalog = Catalog()
    catalog.put(Entry(KEY.encode(), spelled(java())))
    for directory in ("/services", "/services/demo"):
        catalog.put(Entry(directory.encode(), b"-1361026283"))
    assert [other.key for other in catalog.others()] == [b"/services", b"/services/demo"]
    assert {other.why for other in catalog.others()} == {"a directory of Dubbo"}
