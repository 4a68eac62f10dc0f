"""How often bands call right runs skewed, and that they find a policy that is not the one they were made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from lbctl.balance.envelope import Band, envelope
from lbctl.balance.keys import parse_source
from lbctl.balance.moments import Moments
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.virtual import Modelled, Pace, Virtual
from tests.balance.fleet import instance

MS = 1_000_000
RUNS, LONG = 100, 3000
# What was measured of backends that take 10, 20 and 40 ms: mostly that, and at times more.
SPREAD = ((1.0, 50), (1.1, 30), (1.4, 15), (2.0, 5))
BACKENDS = [
    Modelled(
        instance("ABC"[n], port=n + 1), [round(ms * MS * part) for part, _ in SPREAD], [count for _, count in SPREAD]
    )
    for n, ms in enumerate((10, 20, 40))
]
KEYS = parse_source("zipf(1.1,1000)").keys(Random(3))
POLICY_NAMES = ["least_conn", "least_request", "p2c", "p2c_ewma", "peak_ewma", "kratos_p2c", "fastest"]


def shares(policy: str, rng: Random, pace: Pace, picks: int) -> list[float]:
    keys = KEYS.alike(rng) if POLICIES[policy].keyed else None
    moments = Moments(rng) if policy == "prequal" else None
    counts = Counter(
        peer.instance.key for peer in Virtual(POLICIES[policy], BACKENDS, pace, rng, keys, moments).run(picks)
    )
    return [counts[name] / picks for name in "ABC"]


def bands(policy: str, pace: Pace, picks: int) -> list[Band]:
    keys = KEYS if POLICIES[policy].keyed else None
    return envelope(POLICIES[policy], BACKENDS, pace, picks, 1000, keys, together=policy == "prequal")


def fits(found: Sequence[float], wanted: Sequence[Band]) -> bool:
    return all(band.low <= share <= band.high for share, band in zip(found, wanted, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("picks", [300, LONG])
@pytest.mark.parametrize("policy", [*POLICY_NAMES, "bounded_load", "prequal"])
def test_one_right_run_in_a_hundred_at_most_is_called_skewed_and_turns_are_in_a_long_one(
    policy: str, picks: int
) -> None:
    wanted = bands(policy, Pace(30), picks)
    wrong = sum(not fits(shares(policy, Random(seed), Pace(30), picks), wanted) for seed in range(RUNS))
    assert wrong <= RUNS / 100, (wrong, wanted)
    if picks == LONG:
        assert not fits(shares("round_robin", Random(1), Pace(30), picks), wanted)


def test_the_owners_of_keys_alone_are_not_what_bounded_load_does() -> None:
    found = shares("consistent_hash", Random(1), Pace(30), LONG)
    assert not fits(found, bands("bounded_load", Pace(30), LONG))
