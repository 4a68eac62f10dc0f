"""Keyed policies while one backend of four leaves and returns: the keys that move are those that the theory names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest

from lbctl.balance.policies.base import Expectation
from lbctl.balance.policies.table import POLICIES
from lbctl.etcd.client import Etcd
from lbctl.etcd.config import EtcdConfig
from tests.e2e.conftest import Standing, standing
from tests.e2e.policies import KEYED, is_right
from tests.e2e.runs import events_of, running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SIZE: Final = 4
MOVED: Final = re.compile(r"keys: ([\d.]+)% moved, ([\d.]+)% had to")
# The part of all keys that moves beyond those that have to, from 4 backends to 3 and back; all others move none.
BEYOND: Final = {
    "hash_mod": 1 / 2,  # of 12 remainders 3 keep their backend
    "maglev": 1 / 100,  # "1.02 times" with few backends in 65537 slots
    "ring_hash": 1 / 8,  # 342 points each instead of 256: a quarter of the ring is new, 3/4 x 2/3 of it not its owner's
}


@pytest.fixture(scope="module")
def four() -> Iterator[Standing]:
    with standing("-b", str(SIZE), "--weights", "1", "--latency", "5ms") as found:
        yield found


async def moved_when_one_leaves_and_returns(four: Standing, name: str, source: str) -> list[tuple[float, float]]:
    """Of a right run: the percentages of keys that moved, and that had to, for each of the two changes."""
    options = ("--policy", name, "--hash-key", source, "--seed", "7", "-z", "60s", "-c", "4", "-o", "json")
    key = f"/services/echo/{four.backends[1]}".encode()
    async with (
        Etcd(EtcdConfig((four.etcd,))) as etcd,
        running("hammer", "echo", *options, "--ui", "plain", "--interval", "200ms", etcd=four.etcd) as run,
    ):
        entry = await etcd.get(key)
        assert entry is not None
        await run.hears("hammer 0", f"backends {SIZE}/{SIZE}")
        try:
            await etcd.delete(key)
            await run.hears("event", "keys:")
            await run.hears("hammer 0", f"backends {SIZE - 1}/{SIZE - 1}")
        finally:
            await etcd.put(key, entry.value, entry.lease)
        await run.hears("event", "keys:")
        await run.hears("hammer 0", f"backends {SIZE}/{SIZE}")
        run.process.terminate()
        document = (await run.ended()).document
    assert document["errors"] == 0
    # Counted keys, unlike drawn ones, have no shares beforehand, and who goes by load is not simulated with two sets.
    is_stated = source != "seq" and POLICIES[name].expectation is not Expectation.FEEDBACK
    assert is_right(document) or (is_stated, document["balance"]["verdict"]) == (False, "not_applicable")
    found = [MOVED.match(text) for _, text in events_of(document, "policy") if text.startswith("keys:")]
    return [(float(match[1]), float(match[2])) for match in found if match]


@pytest.mark.parametrize("name", KEYED)
async def test_keys_move_as_the_theory_says(four: Standing, name: str) -> None:
    left, returned = await moved_when_one_leaves_and_returns(four, name, "uniform(5000)")
    assert left == returned  # the same set owns the same keys
    moved, needed = left
    assert 5 < needed < 55  # a quarter, as uneven as rings are
    beyond = BEYOND.get(name, 0.0) * 100
    assert moved - needed == pytest.approx(beyond, rel=0.6, abs=0.0 if not beyond else 1.0)


@pytest.mark.parametrize("name", KEYED)
async def test_keys_some_of_which_are_popular_move_so_too(four: Standing, name: str) -> None:
    left, returned = await moved_when_one_leaves_and_returns(four, name, "zipf(1.1,5000)")
    assert left == returned
    moved, needed = left
    assert moved >= needed > 0 if name in BEYOND else moved == needed > 0


@pytest.mark.parametrize("source", ["seq", "uuid"])
async def test_keys_that_come_once_each_move_as_those_that_stand_for_them(four: Standing, source: str) -> None:
    left, returned = await moved_when_one_leaves_and_returns(four, "rendezvous", source)
    assert left == returned
    assert left[0] == left[1] == pytest.approx(25, abs=3)  # 8192 keys: 0.5 is a standard deviation


def test_every_policy_that_may_move_others_is_one_of_the_table() -> None:
    assert BEYOND.keys() <= POLICIES.keys()
