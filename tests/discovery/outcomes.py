"""One key among others, and what became of it."""

from __future__ import annotations

from lbctl.discovery.catalog import Catalog
from lbctl.model import Entry, Instance, Invalid


def read(key: bytes, value: bytes, *context: tuple[bytes, bytes]) -> Instance | Invalid | None:
    """Read one key among others, and return what became of it; None: nobody's."""
    catalog = Catalog()
    for other in context:
        catalog.put(Entry(*other))
    catalog.put(Entry(key, value))
    services, invalid, _ = catalog.read()
    text = key.decode()
    found: list[Instance | Invalid] = [i for service in services for i in service.instances if i.key == text]
    found += [flaw for flaw in invalid if flaw.key == text]
    assert len(found) <= 1
    return found[0] if found else None
