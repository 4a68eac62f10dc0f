"""Twenty thousand values that went wrong: none raises, and nothing of them reaches a terminal as it is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.listing import Listing, Rest
from lbctl.discovery.reading import Explanation
from lbctl.model import Entry, Registry
from lbctl.view.document import explanation_document, services_document
from lbctl.view.listing_notes import notes
from lbctl.view.output import as_json, as_yaml, listing_csv, listing_names
from lbctl.view.services import (
    Look,
    instances_table,
    invalid_table,
    others_table,
    possible_table,
    services_table,
    trials_table,
)
from lbctl.view.theme import PLAIN, UNICODE
from tests.discovery.mutants import Stored, mutants

VALUES = 20_000
BATCH = 250  # keys of one registry
YAML_EVERY = 10  # spelling YAML is slow
LARGE = b'{"Op":0,"Addr":"10.0.0.1:80","Metadata":"' + b"\\u001b[2J" * 155_000 + b'"}'
LOOK = Look(PLAIN, UNICODE)


def catalog_of(batch: list[Stored], **options: object) -> Catalog:
    catalog = Catalog(**options)  # type: ignore[arg-type]
    for key, value, lease in batch:
        catalog.put(Entry(key, value, lease, 1, 1))
    return catalog


def listing_of(catalog: Catalog) -> Listing:
    services, invalid, foreign = catalog.read()
    rest = Rest(catalog.possible(), catalog.others())
    return Listing(Registry(9, services, invalid, foreign), rest=rest)


def shown(listing: Listing) -> Iterator[str]:
    """Everything that is printed of a listing, in every format."""
    registry, rest = listing.registry, listing.rest or Rest()
    tables = [services_table(listing, LOOK, wide=True), invalid_table(registry.invalid, LOOK)]
    tables += [instances_table(listing, service, LOOK, wide=True) for service in registry.services]
    tables += [possible_table(rest.possible, LOOK), others_table(rest, LOOK)]
    for table in tables:
        yield from table.lines
    yield from notes(listing, asked=None, endpoints=())
    yield as_json(services_document(listing))
    yield listing_csv(listing)
    yield listing_names(listing, instances=True)
    yield listing_names(listing, instances=False)


def explained(catalog: Catalog, key: bytes) -> Iterator[str]:
    trials = catalog.explain(key)
    yield from trials_table(trials, LOOK).lines
    yield as_json(explanation_document(Explanation(key.decode("utf-8", "backslashreplace"), 9, trials)))


def is_tame(text: str) -> bool:
    return text.replace("\n", "").isprintable()


def accounted(listing: Listing, keys: set[bytes]) -> bool:
    """Whether each key is an instance, or unusable, or counted."""
    registry = listing.registry
    used = {each.key for service in registry.services for each in service.instances}
    return len(used) + len(registry.invalid) + registry.foreign == len(keys)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_no_value_raises_and_nothing_of_it_steers_a_terminal(seed: int) -> None:
    rng = Random(seed)
    source = mutants(rng)
    for number in range(VALUES // BATCH // 5):
        batch = list({each.key: each for each in islice(source, BATCH)}.values())
        catalog = catalog_of(batch)
        listing = listing_of(catalog)
        assert accounted(listing, {each.key for each in batch}), f"seed {seed}, batch {number}"
        texts = [*shown(listing), *explained(catalog, rng.choice(batch).key)]
        if number % YAML_EVERY == 0:
            texts.append(as_yaml(services_document(listing)))
        assert [text for text in texts if not is_tame(text)] == [], f"seed {seed}, batch {number}"


@pytest.mark.parametrize("options", [{}, {"root": "/", "rooted": True}, {"guess": True, "named_by": "value"}])
def test_however_keys_are_read_no_value_raises(options: dict[str, object]) -> None:
    batch = [*islice(mutants(Random(7)), 500), Stored(b"team/echo/large", LARGE, 0)]
    listing = listing_of(catalog_of(batch, **options))
    assert accounted(listing, {each.key for each in batch})
    assert [text for text in shown(listing) if not is_tame(text)] == []
    assert (
        max(len(line) for line in instances_table(listing, listing.registry.services[0], LOOK, wide=True).lines) < 9000
    )
