from __future__ import annotations

import pytest

from lbctl.model import Instance
from tests.discovery.codecs_json.samples import SAMPLES, flaw, instance, rows

KEY = SAMPLES["go-micro"].key


def node(address: object, **members: object) -> dict[str, object]:
    return {"metadata": None, "id": "greeter-1", "address": address} | members


def value(*nodes: object, **members: object) -> dict[str, object]:
    return SAMPLES["go-micro"].value | {"nodes": list(nodes)} | members


@pytest.mark.parametrize(
    ("address", "port", "read"),
    [
        ("10.0.0.1:90", None, "10.0.0.1:90"),
        ("[fd00::1]:90", None, "[fd00::1]:90"),
        ("10.0.0.1", 90, "10.0.0.1:90"),
        ("greeter.example", 90, "greeter.example:90"),
        ("fd00::1", 90, "[fd00::1]:90"),
        ("[fd00::1]", 90, "[fd00::1]:90"),
        ("10.0.0.1:90", 0, "10.0.0.1:90"),
    ],
)
def test_a_port_may_stand_apart_as_it_did_up_to_v1_7(address: str, port: int | None, read: str) -> None:
    assert instance(KEY, value(node(address, port=port))).address == read


@pytest.mark.parametrize(
    ("address", "port", "code"),
    [
        ("", None, "no_address"),
        (None, None, "no_address"),
        ("", 90, "no_address"),
        ("10.0.0.1", None, "no_port"),
        ("10.0.0.1", 0, "no_port"),
        ("10.0.0.1", -1, "bad_port"),
        ("10.0.0.1", 65536, "bad_port"),
        ("10.0.0.1", 90.5, "bad_port"),
        ("10.0.0.1", "90", "wrong_type"),
        ("10.0.0.1", 10**18, "bad_port"),
        ("fe80::1:49485", None, "ipv6_unbracketed"),
        ("[::]:90", None, "wildcard_address"),
        ("0.0.0.0", 90, "wildcard_address"),
        (":90", None, "no_host"),
        ("10.0.0.1:90,10.0.0.2:90", None, "multi_address"),
        (5, None, "wrong_type"),
    ],
)
def test_an_address_that_cannot_be_dialled_has_its_code(address: object, port: object, code: str) -> None:
    found = flaw(KEY, value(node(address, port=port)))
    assert (found.layout, found.code) == ("go-micro", code)


@pytest.mark.parametrize("nodes", [None, []])
def test_no_nodes_are_no_nodes(nodes: object) -> None:
    assert flaw(KEY, value() | {"nodes": nodes}).code == "no_nodes"


@pytest.mark.parametrize("wrong", [{"weight": 5}, ["a"], "a"])
def test_a_node_s_metadata_are_text(wrong: object) -> None:
    assert flaw(KEY, value(node("10.0.0.1:90", metadata=wrong))).code == "wrong_type"


def test_a_node_s_metadata_win_over_the_service_s() -> None:
    found = instance(
        KEY,
        value(node("10.0.0.1:90", metadata={"zone": "b"}), metadata={"zone": "a", "team": "core", "protocol": "mucp"}),
    )
    assert found.metadata == {"zone": "b", "team": "core", "protocol": "mucp", "@id": "greeter-1", "@version": "latest"}
    assert (found.protocol, found.weight, found.secure) == ("mucp", None, None)


def test_without_a_protocol_none_is_stated() -> None:
    assert instance(KEY, value(node("10.0.0.1:90"))).protocol is None


def test_several_nodes_in_one_key_are_several_instances() -> None:
    found = rows(KEY, value(node("10.0.0.1:90"), node("10.0.0.2:90", id="b")))
    assert [(each.address, each.metadata["@id"]) for each in found if isinstance(each, Instance)] == [
        ("10.0.0.1:90", "greeter-1"),
        ("10.0.0.2:90", "b"),
    ]


@pytest.mark.parametrize("root", ["/micro/registry/", "/micro-registry/", "/company/registry/"])
def test_a_slash_in_a_name_is_a_dash_in_its_key(root: str) -> None:
    found = instance(f"{root}go-micro-greeter/greeter-1", value(node("10.0.0.1:90"), name="go/micro/greeter"))
    assert (found.service, found.warnings) == ("go/micro/greeter", ())


def test_the_value_s_name_wins_over_the_key_s_and_that_is_said() -> None:
    found = instance(KEY, value(node("10.0.0.1:90"), name="other"))
    assert (found.service, found.warnings) == ("other", ("key says /micro/registry/greeter/, value says other",))


def test_an_empty_name_is_none() -> None:
    assert flaw("/micro/registry//x", value(node("10.0.0.1:90"), name="")).code == "no_service"


def test_anybody_s_list_of_nodes_is_nobody_s() -> None:
    config = {"name": "cluster", "nodes": ["a", "b"]}
    assert rows("/conf/cache/main", config) == []
    assert flaw("/micro/registry/cluster/x", config).code == "unknown_layout"
    assert flaw("/micro/registry/cluster/x", config | {"version": "1"}).code == "wrong_type"
    upstream = {"name": "orders", "type": "roundrobin", "nodes": [{"host": "10.0.0.1", "port": 90, "weight": 1}]}
    assert rows("/gateway/upstreams/1", upstream) == []
    assert flaw("/gateway/upstreams/10.0.0.1:90", upstream).layout == "json"


def test_it_is_told_from_kratos_by_its_nodes_whatever_endpoints_are() -> None:
    """Both have a name, a version, metadata and endpoints; Kratos' are text, go-micro's objects."""
    kratos = SAMPLES["kratos"]
    assert instance(kratos.key, kratos.value).layout == "kratos"
    assert instance(KEY, value(node("10.0.0.1:90"), id="1")).layout == "go-micro"
    assert instance(KEY, value(node("10.0.0.1:90"), endpoints=[])).layout == "go-micro"
    assert instance(KEY, value(node("10.0.0.1:90"), endpoints=None)).layout == "go-micro"
