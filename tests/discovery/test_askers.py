"""Which keys are read again when others change."""

from __future__ import annotations

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.codecs import Claim, Codec, Record
from lbctl.model import Entry

ASKER = b"/a/b/c"


def catalog_and_readings(question: str) -> tuple[Catalog, list[str]]:
    """A catalog with one key that asks, and the keys that were read since."""
    read: list[str] = []

    def asks(record: Record, claim: Claim) -> None:
        read.append(record.key)
        if record.entry.key == ASKER:
            _ = record.has_children if question == "children" else record.value_of("/a")

    catalog = Catalog(codecs=[Codec("asks", asks)])
    catalog.put(Entry(ASKER, b""))
    catalog.read()
    read.clear()
    return catalog, read


def read_again(catalog: Catalog, read: list[str]) -> bool:
    read.clear()
    catalog.read()
    catalog.read()
    assert read.count(ASKER.decode()) <= 1
    return ASKER.decode() in read


@pytest.mark.parametrize(
    ("question", "key", "concerned"),
    [
        ("value", b"/a", True),
        ("value", b"/a/x", False),
        ("value", b"/b", False),
        ("value", b"/a/b/c/d", False),
        ("children", b"/a/b/c/d", True),
        ("children", b"/a/b/c/d/e", True),
        ("children", b"/a/b/d", False),
        ("children", b"/a", False),
    ],
)
def test_a_key_is_read_again_once_when_what_it_asked_about_changes(question: str, key: bytes, concerned: bool) -> None:
    catalog, read = catalog_and_readings(question)
    for value in (b"1", b"2"):
        catalog.put(Entry(key, value))
        assert read_again(catalog, read) is concerned
    catalog.remove(key)
    assert read_again(catalog, read) is concerned


def test_a_key_that_is_gone_is_not_read_again() -> None:
    catalog, read = catalog_and_readings("value")
    catalog.remove(ASKER)
    catalog.put(Entry(b"/a", b"1"))
    assert not read_again(catalog, read)
