"""Damaged conversations, with streams, packed and abandoned calls; ``python -m tests.wire.fuzz`` goes on longer."""

from __future__ import annotations

import pytest

from tests.wire import fuzz


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_damaged_conversations_raise_nothing_lose_no_call_and_may_be_cut_anywhere(seed: int) -> None:
    for number in range(seed, seed + 5):
        fuzz.play(number)


@pytest.mark.slow
def test_some_seconds_of_damaged_conversations_find_nothing() -> None:
    seen = fuzz.run(5.0, seed=1_000_000)
    assert seen["rounds"] > 0
    assert seen["ok"] > 0
    assert seen["closed"] > 0
