"""Engines that are wrong on purpose: for each, the named test must notice. A test no mutant fails proves nothing."""

from __future__ import annotations

import asyncio

import pytest

from tests.wire import harness
from tests.wire.mutants import MUTANTS
from tests.wire.mutants.base import Mutant

WAIT_S = 0.5  # above the deadline of the tests that wait for one
TEST_S = 3.0  # several times what any takes without its mutation

# Each mutant meets one way into the engine in every run, in turn, and the other one in the slow suite.
EVERY = [
    pytest.param(mutant, door, id=f"{name}-{door}", marks=[pytest.mark.slow] if turn else [])
    for index, (name, mutant) in enumerate(MUTANTS.items())
    for turn, door in enumerate(mutant.doors if index % 2 else mutant.doors[::-1])
]


async def check(mutant: Mutant, door: str, patch: pytest.MonkeyPatch) -> None:
    patch.setenv(harness.DOOR, door)
    patch.setattr("tests.scripted.WAIT_S", WAIT_S)
    patch.setattr("tests.wire.harness.TEST_S", TEST_S)
    await asyncio.wait_for(mutant.check(), 5)


@pytest.mark.parametrize(("mutant", "door"), EVERY)
async def test_the_named_test_notices_the_mutant(mutant: Mutant, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.mutate(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError, pytest.fail.Exception)):
        await check(mutant, door, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("door", ["caller", "hot"])
@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
async def test_without_the_mutation_the_same_test_passes_in_the_same_time(
    mutant: Mutant, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check(mutant, door, monkeypatch)
