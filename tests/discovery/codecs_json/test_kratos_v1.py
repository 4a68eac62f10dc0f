from __future__ import annotations

import pytest

from lbctl.model import Instance
from tests.discovery.codecs_json.samples import SAMPLES, flaw, instance, rows

KEY = SAMPLES["kratos-v1"].key


def value(*addrs: str, **members: object) -> dict[str, object]:
    return SAMPLES["kratos-v1"].value | {"addrs": list(addrs) or ["grpc://10.0.0.1:90"], "metadata": None} | members


@pytest.mark.parametrize(
    ("weight", "read"),
    [("7", 7), ("0", 10), ("-5", 10), ("999999999", 999_999_999)],
)
def test_a_weight_of_nothing_and_less_is_the_default(weight: str, read: int) -> None:
    found = instance(KEY, value(metadata={"weight": weight}))
    assert (found.weight, found.warnings) == (read, ())


def test_without_a_weight_it_is_the_default() -> None:
    assert instance(KEY, value()).weight == 10


@pytest.mark.parametrize("weight", ["", "heavy", "2.5", "9" * 20])
def test_a_weight_that_go_cannot_read_is_the_default_with_a_warning(weight: str) -> None:
    found = instance(KEY, value(metadata={"weight": weight}))
    assert (found.weight, found.warnings) == (10, (f'weight "{weight}" is not a number; 10 is used',))


def test_a_weight_of_more_than_nine_digits_is_bad() -> None:
    assert flaw(KEY, value(metadata={"weight": "1000000000"})).code == "bad_weight"


@pytest.mark.parametrize(("status", "shown"), [(1, None), (0, None), (None, None), (2, "waiting"), (3, None)])
def test_only_waiting_is_a_status_to_show(status: object, shown: str | None) -> None:
    assert instance(KEY, value(status=status)).status == shown


def test_of_several_grpc_addresses_the_last_counts_as_it_does_for_clients() -> None:
    found = rows(KEY, value("grpc://10.0.0.1:90", "http://10.0.0.1:80", "grpc://10.0.0.2:90"))
    assert [(each.address, each.protocol) for each in found if isinstance(each, Instance)] == [
        ("10.0.0.1:80", "http"),
        ("10.0.0.2:90", "grpc"),
    ]
    warning = "1 more gRPC addresses are left out: clients call the last"
    assert all(each.warnings == (warning,) for each in found if isinstance(each, Instance))


def test_an_address_without_a_scheme_is_left_out_beside_one_with_it() -> None:
    found = instance(KEY, value("10.0.0.2:90", "grpc://10.0.0.1:90"))
    assert found.warnings == ("endpoint 10.0.0.2:90 is left out: endpoint 10.0.0.2:90 has no scheme",)
    assert flaw(KEY, value("10.0.0.2:90")).code == "scheme_missing"


@pytest.mark.parametrize("addrs", [None, []])
def test_no_addresses_are_no_address(addrs: object) -> None:
    assert flaw(KEY, value() | {"addrs": addrs}).code == "no_address"


def test_the_value_s_name_wins_over_the_key_s_and_that_is_said() -> None:
    found = instance(KEY, value(appid="other"))
    assert (found.service, found.warnings) == (
        "other",
        ("key says /kratos_etcd/demo.service/, value says other",),
    )
    assert instance("/elsewhere/demo.service/node-1", value()).warnings == ()


def test_an_empty_name_is_none() -> None:
    assert flaw("/kratos_etcd//node-1", value(appid="")).code == "no_service"


def test_what_is_empty_is_not_told() -> None:
    told = {"region": "", "zone": None, "env": "", "hostname": "", "version": ""}
    assert instance(KEY, value(**told)).metadata == {}
