"""What a policy that goes by feedback would have done: the band its shares fall into when the run is played again.

Nobody can state beforehand whom such a policy prefers, but whoever knows how long every backend took and how often it
failed can let the policy pick again, on a virtual clock, many times. A share between the 0.5 and the 99.5 % quantile of
those repetitions is what the policy does. The model is not the world (times depend on load, ends come in batches), so
the band is widened: by a tenth of its middle, and by 2 percentage points unless that is more than half of the middle;
but always by four calls, as the first ones are on their way before anything is known of a backend, and take longest.

A backend's slow moments come together, and a policy that goes by small differences in latency follows them, where the
model draws every time by itself. So in each repetition every backend is up to 15 % slower or faster throughout.

    3 backends that take 10, 20 and 40 ms, least_request, 30 in flight
    quantiles   0.455  0.499  0.529    0.293  0.319  0.360    0.168  0.180  0.212
    widened     0.406  -      0.579    0.261  -      0.392    0.148  -      0.232
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from lbctl.balance.keys import Keys
from lbctl.balance.moments import Moments
from lbctl.balance.policies.base import Policy
from lbctl.balance.virtual import Modelled, Pace, Virtual

REPETITIONS: Final = 40  # at least; their extremes are then about the quantiles
CALLS: Final = 3_000  # of a repetition at most: with 40 of them a third of a second
_MOST_REPETITIONS: Final = 200
_IN_ALL: Final = REPETITIONS * CALLS
_WARM_UP: Final = 0.2  # of a repetition that is shorter than the run: its beginning would count for too much
_TAIL: Final = 0.005
_WANDERS: Final = 0.15  # part of its times by which a backend is slower or faster for the time of a repetition
RELATIVE, ABSOLUTE, LEAST = 0.1, 0.02, 0.002
FIRST: Final = 4  # calls


class Band(NamedTuple):
    """Where a backend's share is expected, 0..1."""

    low: float
    middle: float
    high: float


def envelope(
    policy: Policy,
    backends: Sequence[Modelled],
    pace: Pace,
    picks: int,
    seed: int,
    keys: Keys | None = None,
    *,
    together: bool = False,
) -> list[Band]:
    """Return the band of each backend, in order, for a run of so many picks, with keys like these.

    ``together``: slow moments may be those of all backends, which matters where one's figures may be of another moment
    than the other's.
    """
    calls = min(picks, CALLS)
    repetitions = max(REPETITIONS, min(_MOST_REPETITIONS, _IN_ALL // calls))
    shares = []
    for turn in range(repetitions):
        rng = Random(seed + turn)
        wandered = [_wandered(backend, rng) for backend in backends]
        like = None if keys is None else keys.alike(rng)
        virtual = Virtual(policy, wandered, pace, rng, like, Moments(rng) if together else None)
        shares.append(_shares(virtual, backends, calls, picks))
    return [_widened(sorted(each), picks) for each in zip(*shares, strict=True)]


def _shares(virtual: Virtual, backends: Sequence[Modelled], calls: int, picks: int) -> list[float]:
    if picks > calls:
        skipped = int(calls * _WARM_UP)
        virtual.run(skipped)
        calls -= skipped
    counts = Counter(peer.instance.identity for peer in virtual.run(calls))
    return [counts[backend.instance.identity] / calls for backend in backends]


def _wandered(backend: Modelled, rng: Random) -> Modelled:
    """The backend as slow or fast as it may have been for a while."""
    factor = 1.0 + rng.uniform(-_WANDERS, _WANDERS)
    return replace(backend, times_ns=[round(time_ns * factor) for time_ns in backend.times_ns])


def _widened(shares: Sequence[float], picks: int) -> Band:
    last = len(shares) - 1
    low, middle, high = (shares[round(part * last)] for part in (_TAIL, 0.5, 1 - _TAIL))
    slack = max(RELATIVE * middle, min(ABSOLUTE, middle / 2), LEAST, FIRST / picks)
    return Band(max(low - slack, 0.0), middle, min(high + slack, 1.0))
