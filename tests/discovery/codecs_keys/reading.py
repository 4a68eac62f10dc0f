"""One key among others, and what became of it."""

from __future__ import annotations

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.weights import reweighed
from lbctl.model import Entry, Instance, Invalid, Service

Pair = tuple[str, bytes]


def catalog_of(*pairs: Pair) -> Catalog:
    catalog = Catalog()
    for key, value in pairs:
        catalog.put(Entry(key.encode(), value))
    return catalog


def services(*pairs: Pair) -> list[tuple[str, str, str, int]]:
    """Every service: name, layout, prefix and how many instances."""
    found = catalog_of(*pairs).read().services
    return [(each.name, each.layout, each.prefix, len(each.instances)) for each in found]


def service(key: str, value: bytes, *context: Pair) -> Service:
    """The one service that a key has instances of."""
    found = catalog_of(*context, (key, value)).read()
    (mine,) = [each for each in found.services if any(instance.key == key for instance in each.instances)]
    return mine


def instances(key: str, value: bytes, *context: Pair) -> list[Instance]:
    return [each for each in service(key, value, *context).instances if each.key == key]


def instance(key: str, value: bytes, *context: Pair) -> Instance:
    (only,) = instances(key, value, *context)
    return only


def flaw(key: str, value: bytes, *context: Pair) -> Invalid:
    """Why a key cannot be used; it is no instance of anything, either."""
    found = catalog_of(*context, (key, value)).read()
    assert not any(instance.key == key for each in found.services for instance in each.instances)
    (only,) = [each for each in found.invalid if each.key == key]
    return only


def skipped(key: str, value: bytes, *context: Pair) -> str:
    """Why a key is no registration."""
    catalog = catalog_of(*context, (key, value))
    (why,) = [other.why for other in catalog.others() if other.key == key.encode()]
    return why


def nobodys(key: str, value: bytes, *context: Pair) -> bool:
    """Whether no layout has a key."""
    return skipped(key, value, *context) == "no layout has such a key and value"


def weighed(layout: str, key: str, value: bytes, weight: int = 7) -> bytes:
    return reweighed(layout, key, value, weight)
