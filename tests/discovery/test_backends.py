"""An address under several keys is one backend."""

from __future__ import annotations

from lbctl.discovery.backends import decisive, distinct
from lbctl.discovery.listing import shares
from lbctl.model import Endpoint, Instance, Service


def instance(key: str, port: int, created: int = 0, weight: int | None = None, status: str | None = None) -> Instance:
    return Instance(key, "echo", "go-zero", Endpoint("10.0.0.1", port), weight, create_revision=created, status=status)


def test_addresses_of_one_key_each_are_left_as_they_are() -> None:
    instances = (instance("a", 1), instance("b", 2))
    assert distinct(instances) == instances


def test_an_address_is_called_by_its_oldest_key_and_described_by_its_newest() -> None:
    found = distinct((instance("b", 1, 5, weight=2), instance("c", 2, 6), instance("a", 1, 9, weight=7)))
    assert [(each.key, each.endpoint.port, each.weight) for each in found] == [("b", 1, 7), ("c", 2, None)]


def test_the_newest_key_of_an_address_is_the_one_that_counts() -> None:
    found = decisive((instance("b", 1, 5, weight=2), instance("c", 2, 6), instance("a", 1, 9, weight=7)))
    assert [(each.key, each.weight) for each in found] == [("a", 7), ("c", None)]


def test_two_entries_of_one_key_with_the_same_address_are_the_first() -> None:
    assert distinct((instance("a", 1, 5, weight=2), instance("a", 1, 5, weight=3))) == (instance("a", 1, 5, weight=2),)


def test_the_share_of_an_address_is_counted_once() -> None:
    keys = (instance("a", 1, 1), instance("b", 1, 2), instance("c", 1, 3), instance("d", 2, 4))
    service = Service("echo", "go-zero", "echo/", keys)
    assert [shares(service)[each.identity] for each in keys] == [0.0, 0.0, 0.5, 0.5]


def test_an_address_whose_newest_key_says_it_is_not_up_gets_nothing() -> None:
    keys = (instance("a", 1, 1), instance("b", 1, 2, status="disabled"), instance("d", 2, 4))
    service = Service("echo", "go-zero", "echo/", keys)
    assert [shares(service)[each.identity] for each in keys] == [0.0, 0.0, 1.0]
