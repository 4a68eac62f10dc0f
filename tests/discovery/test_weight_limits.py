"""Weights as a client uses them, whatever is registered."""

from __future__ import annotations

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.weight_limits import WeightLimits
from lbctl.model import Entry, Instance


def registered(value: str) -> Instance:
    catalog = Catalog()
    folder = b"team/echo/" if value.startswith("{") else b"/services/echo/"
    catalog.put(Entry(folder + b"127.0.0.1:1", value.encode()))
    ((service,), _, _) = catalog.read()
    (instance,) = service.instances
    return instance


@pytest.mark.parametrize(
    ("value", "used"),
    [
        ("127.0.0.1:1|3", 3),
        ("127.0.0.1:1|1", 2),
        ("127.0.0.1:1|50", 10),
        ("127.0.0.1:1|0", 0),
        ("127.0.0.1:1|heavy", 5),
        ('{"Addr":"127.0.0.1:1"}', 5),
        ('{"Addr":"127.0.0.1:1","Metadata":{"weight":1}}', 2),
    ],
)
def test_a_weight_is_used_within_its_limits_and_zero_stays(value: str, used: int) -> None:
    assert WeightLimits(2, 10, 5).used(registered(value)).weight == used


def test_a_default_is_kept_within_the_limits_too() -> None:
    assert WeightLimits(2, 10, 50).used(registered('{"Addr":"127.0.0.1:1"}')).weight == 10


@pytest.mark.parametrize("value", ["127.0.0.1:1|3", "127.0.0.1:1|heavy", '{"Addr":"127.0.0.1:1"}'])
def test_without_limits_an_instance_is_what_it_was(value: str) -> None:
    assert WeightLimits().used(registered(value)) == registered(value)
