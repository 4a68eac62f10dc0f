from __future__ import annotations

import pytest

from lbctl.model import Instance
from tests.discovery.codecs_json.samples import flaw, instance, rows

KEY = "/microservices/orders/1"
TLS_WARNING = "?isSecure=true: Kratos 2.5 and later reads the scheme alone, and would call it without TLS"


def value(*endpoints: str, **members: object) -> dict[str, object]:
    return {"id": "1", "name": "orders", "version": "", "metadata": None, "endpoints": list(endpoints)} | members


def test_every_transport_of_a_process_is_an_instance() -> None:
    found = rows(KEY, value("http://10.0.0.1:80", "grpcs://[fd00::1]:90", "kafka://broker.example:9092/topic"))
    assert [
        (each.address, each.protocol, each.secure, each.weight) for each in found if isinstance(each, Instance)
    ] == [
        ("10.0.0.1:80", "http", False, 100),
        ("[fd00::1]:90", "grpc", True, 100),
        ("broker.example:9092", "kafka", False, 100),
    ]


@pytest.mark.parametrize("true", ["1", "t", "T", "TRUE", "true", "True"])
def test_the_old_way_to_say_tls_counts_and_warns_that_new_clients_do_not_heed_it(true: str) -> None:
    found = instance(KEY, value(f"grpc://10.0.0.1:90?a=b&isSecure={true}&isSecure=false"))
    assert (found.protocol, found.secure, found.warnings) == ("grpc", True, (TLS_WARNING,))
    assert found.metadata["@warning"] == TLS_WARNING


@pytest.mark.parametrize("query", ["", "?", "?isSecure=false", "?isSecure=0", "?isSecure=", "?isSecure=yes", "?x=1#f"])
def test_anything_else_in_the_query_says_nothing(query: str) -> None:
    found = instance(KEY, value(f"grpc://10.0.0.1:90{query}"))
    assert (found.address, found.secure, found.warnings) == ("10.0.0.1:90", False, ())


def test_a_secure_scheme_needs_no_query_and_no_warning() -> None:
    found = instance(KEY, value("GRPCS://10.0.0.1:90?isSecure=true"))
    assert (found.protocol, found.secure, found.warnings) == ("grpc", True, ())


@pytest.mark.parametrize(
    ("endpoint", "code"),
    [
        ("", "no_address"),
        ("grpc:", "no_host"),
        ("grpc://", "no_host"),
        ("grpc:///", "no_host"),
        ("grpc://:90", "no_host"),
        ("10.0.0.1:90", "scheme_missing"),
        ("orders.example:90", "scheme_missing"),
        ("//10.0.0.1:90", "scheme_missing"),
        ("://10.0.0.1:90", "scheme_missing"),
        ("grpc:10.0.0.1:90", "scheme_missing"),
        ("grpc://10.0.0.1", "no_port"),
        ("grpc://10.0.0.1:", "no_port"),
        ("grpc://[fd00::1]", "no_port"),
        ("grpc://10.0.0.1:0", "bad_port"),
        ("grpc://10.0.0.1:65536", "bad_port"),
        ("grpc://10.0.0.1:grpc", "bad_port"),
        ("grpc://fd00::1:90", "ipv6_unbracketed"),
        ("grpc://0.0.0.0:90", "wildcard_address"),
        ("grpc://[::]:90", "wildcard_address"),
        ("unix:///run/orders.sock", "not_tcp"),
        ("grpc://10.0.0.1:90,10.0.0.2:90", "multi_address"),
        ("grpc://10.0.0.1:90\n", "whitespace"),
        ("grpc://10.0.0.1:90/?a=b c", "whitespace"),
        ("grpc://10.0.0.1:90/\x1b[2J", "control_chars"),
        ("grpc://10.0.0.1:90\x1b[2J", "control_chars"),
        ("grpc://user:secret@10.0.0.1:90", "bad_address"),
        ("grpc://%31:90", "bad_address"),
    ],
)
def test_an_endpoint_that_cannot_be_dialled_has_its_code(endpoint: str, code: str) -> None:
    found = flaw(KEY, value(endpoint))
    assert (found.layout, found.code) == ("kratos", code)
    assert "secret" not in found.reason


def test_an_endpoint_that_is_left_out_does_not_tell_its_password() -> None:
    found = instance(KEY, value("mysql://root:secret@10.0.0.1:3306/?p=secret", "grpc://10.0.0.1:90"))
    assert found.warnings == ("endpoint 10.0.0.1:3306/ is left out: more than one colon",)


def test_endpoints_that_cannot_be_dialled_are_left_out_beside_one_that_can_and_said() -> None:
    found = instance(KEY, value("http://:80", "grpc://10.0.0.1:90"))
    assert found.address == "10.0.0.1:90"
    assert found.warnings == ("endpoint http://:80 is left out: no host",)


def test_one_endpoint_without_a_scheme_fails_the_whole_value_as_it_does_for_clients() -> None:
    assert flaw(KEY, value("grpc://10.0.0.1:90", "10.0.0.1:80")).code == "scheme_missing"


@pytest.mark.parametrize("endpoints", [None, []])
def test_no_endpoints_are_no_address(endpoints: object) -> None:
    assert flaw(KEY, value() | {"endpoints": endpoints}).code == "no_address"


@pytest.mark.parametrize(
    ("weight", "read"),
    [("20", 20), ("0", 0), ("+5", 5), ("007", 7), ("0" * 5000 + "9", 9), ("999999999", 999_999_999)],
)
def test_a_weight_is_the_number_that_go_reads(weight: str, read: int) -> None:
    found = instance(KEY, value("grpc://10.0.0.1:90", metadata={"weight": weight}))
    assert (found.weight, found.warnings) == (read, ())


@pytest.mark.parametrize("weight", ["", "heavy", "2.5", "1e3", "0x10", " 5", "٣", "9223372036854775808", "9" * 5000])
def test_a_weight_that_go_cannot_read_is_the_default_with_a_warning(weight: str) -> None:
    found = instance(KEY, value("grpc://10.0.0.1:90", metadata={"weight": weight}))
    assert (found.weight, found.warnings) == (100, (f'weight "{weight[:40]}" is not a number; 100 is used',))


@pytest.mark.parametrize("weight", ["-1", "1000000000", "9223372036854775807"])
def test_a_weight_that_clients_use_and_no_balancer_can_is_bad(weight: str) -> None:
    assert flaw(KEY, value("grpc://10.0.0.1:90", metadata={"weight": weight})).code == "bad_weight"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("/microservices/team/orders/1", "team/orders"),
        ("/prod/registry/orders/1", "orders"),
        ("orders/1", "orders"),
        ("/microservices/команда/1", "команда"),
    ],
)
def test_the_name_is_the_value_s_and_may_have_slashes_under_any_namespace(key: str, name: str) -> None:
    assert instance(key, value("grpc://10.0.0.1:90", name=name)).service == name


@pytest.mark.parametrize("name", ["order", "rders", "microservices/order", "1", "Orders"])
def test_a_name_that_the_key_has_not_is_a_mismatch_because_clients_skip_it(name: str) -> None:
    found = flaw(KEY, value("grpc://10.0.0.1:90", name=name))
    assert found.code == "name_mismatch"
    assert name in found.reason


def test_an_empty_name_is_none() -> None:
    assert flaw("/microservices//1", value("grpc://10.0.0.1:90", name="")).code == "no_service"
    assert flaw(KEY, value("grpc://10.0.0.1:90", name="")).code == "name_mismatch"


def test_a_name_with_control_characters_is_no_name() -> None:
    name = "or\x1bders"
    assert flaw(f"/microservices/{name}/1", value("grpc://10.0.0.1:90", name=name)).code == "control_chars"


def test_services_of_which_one_s_name_begins_the_other_s_stay_apart() -> None:
    """Kratos' clients range over both, and go by the name in the value."""
    other = ("/microservices/orders-v2/1", value("grpc://10.0.0.2:90", name="orders-v2"))
    assert instance(KEY, value("grpc://10.0.0.1:90"), other).service == "orders"
    assert instance(*other, (KEY, value("grpc://10.0.0.1:90"))).service == "orders-v2"


def test_what_is_empty_is_not_told() -> None:
    metadata = {"zone": "", "@id": "mine"}
    found = instance(KEY, value("grpc://10.0.0.1:90", id="", metadata=metadata))
    assert found.metadata == metadata


def test_configuration_that_has_a_name_and_endpoints_is_nobody_s() -> None:
    config = {"name": "gateway", "endpoints": ["/api/a", "/api/b"], "retries": 3}
    assert rows("/conf/edge/routes", config) == []
    assert rows("/conf/edge/routes", config | {"endpoints": "all"}) == []
    assert rows("/conf/edge/routes", config | {"id": "1", "endpoints": [{"host": "a"}]}) == []
    assert flaw("/microservices/edge/routes", config).layout == "kratos"
    assert flaw("/conf/gateway/routes", config).layout == "kratos"


def test_a_value_without_an_id_is_recognised_by_the_name_in_its_key() -> None:
    bare = {"name": "orders", "endpoints": ["grpc://10.0.0.1:90"]}
    assert instance("/mine/orders/a", bare).layout == "kratos"
