from __future__ import annotations

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry
from tests.discovery.codecs_json.samples import SAMPLES, flaw, instance, spelled

KEY = SAMPLES["grpc-lb"].key


def value(metadata: object = None, **members: object) -> dict[str, object]:
    return SAMPLES["grpc-lb"].value | {"Metadata": metadata} | members


@pytest.mark.parametrize(
    ("metadata", "weight", "shown"),
    [
        (None, 1, {}),
        ({}, 1, {}),
        ({"weight": ["10"]}, 10, {"weight": "10"}),
        ({"weight": ["10", "20"], "zone": ["a", "b"]}, 10, {"weight": "10,20", "zone": "a,b"}),
        ({"weight": []}, 1, {"weight": ""}),
        ({"weight": None}, 1, {"weight": ""}),
        ({"weight": "10"}, 10, {"weight": "10"}),
        ({"weight": ["0"]}, 1, {"weight": "0"}),
        ({"weight": ["-5"]}, 1, {"weight": "-5"}),
    ],
)
def test_a_weight_is_the_first_of_its_texts_and_more_than_nothing(
    metadata: object, weight: int, shown: dict[str, str]
) -> None:
    found = instance(KEY, value(metadata))
    assert (found.weight, found.warnings) == (weight, ())
    assert found.metadata == shown | {"@id": "node1", "@version": "1.0"}


@pytest.mark.parametrize("weight", ["", "heavy", "2.5"])
def test_a_weight_that_go_cannot_read_is_the_default_with_a_warning(weight: str) -> None:
    found = instance(KEY, value({"weight": [weight]}))
    assert (found.weight, found.warnings) == (1, (f'weight "{weight}" is not a number; 1 is used',))


def test_a_weight_of_more_than_nine_digits_is_bad() -> None:
    assert flaw(KEY, value({"weight": ["1000000000"]})).code == "bad_weight"


@pytest.mark.parametrize(
    ("address", "code"),
    [("", "no_address"), (None, "no_address"), ("10.0.0.1", "no_port"), ("fd00::1:90", "ipv6_unbracketed")],
)
def test_an_address_that_cannot_be_dialled_has_its_code(address: object, code: str) -> None:
    assert flaw(KEY, value(Address=address)).code == code


def test_versions_of_a_service_are_apart_as_they_are_for_clients() -> None:

    catalog = Catalog()
    for version in ("1.0", "2.0"):
        key = f"/backend/services/test/{version}/node1"
        catalog.put(Entry(key.encode(), spelled(value(Version=version))))
    assert [(each.name, each.prefix) for each in catalog.read().services] == [
        ("test", "/backend/services/test/1.0/"),
        ("test", "/backend/services/test/2.0/"),
    ]


@pytest.mark.parametrize(
    ("members", "service", "warnings"),
    [
        ({}, "test", ()),
        ({"Name": "other"}, "other", ("key says /backend/services/test/1.0/, value says other",)),
        ({"Version": "3.0"}, "test", ("key says /backend/services/test/1.0/, value says test",)),
    ],
)
def test_the_value_wins_over_the_key_and_that_is_said(
    members: dict[str, object], service: str, warnings: tuple[str, ...]
) -> None:
    found = instance(KEY, value(**members))
    assert (found.service, found.warnings) == (service, warnings)


def test_an_empty_name_is_none() -> None:
    assert flaw("/backend/services//1.0/node1", value(Name="")).code == "no_service"
