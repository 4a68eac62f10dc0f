"""Values that went wrong and can still be read: writing into them changes what was meant, or is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from random import Random
from typing import TypeVar

import pytest

from lbctl.discovery.catalog import Catalog
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.rotation import drained, undrained
from lbctl.discovery.weights import reweighed
from lbctl.model import Entry, Instance
from tests.discovery.mutants import Stored, mutants

VALUES = 8_000

T = TypeVar("T")


def read(stored: Stored, value: bytes) -> tuple[Instance, ...]:
    catalog = Catalog(guess=True)
    catalog.put(Entry(stored.key, value, stored.lease))
    return tuple(each for service in catalog.read().services for each in service.instances)


def attempted(work: Callable[[], T]) -> T | None:
    """What comes of it, None where it is refused."""
    try:
        return work()
    except Unusable:
        return None


def check(stored: Stored) -> int:
    """Weigh, drain and undrain what is read of a key; return how many of the three could be done."""
    instances = read(stored, stored.value)
    if not instances:
        return 0
    layout, key, value = instances[0].layout, instances[0].key, stored.value
    written = attempted(lambda: reweighed(layout, key, value, 7))
    assert written is None or {each.weight for each in read(stored, written)} == {7}
    out = attempted(lambda: drained(layout, key, value))
    if out is None:
        return written is not None
    assert all(each.status or each.weight == 0 for each in read(stored, out.value))
    back = undrained(layout, key, out.value, value)
    assert [(each.endpoint, each.weight, each.status) for each in read(stored, back.value)] == [
        (each.endpoint, each.weight, None) for each in instances
    ]
    return 2 + (written is not None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_what_can_be_read_is_written_as_it_was_meant_or_not_at_all(seed: int) -> None:
    assert sum(check(stored) for stored in islice(mutants(Random(seed)), VALUES // 4)) > 120
