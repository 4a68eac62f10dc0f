"""The verdict on a policy that goes by feedback: whether each share is where the same run, played again, puts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from lbctl.stats.report import Balance

PER_BACKEND: Final = 20  # picks for each backend, on average
PER_PLACE: Final = 5  # picks for each call in flight: the first ones are spread before anything is known


class Band(Protocol):
    """Where a share is expected, 0..1; see ``lbctl.balance.envelope``."""

    @property
    def low(self) -> float: ...
    @property
    def middle(self) -> float: ...
    @property
    def high(self) -> float: ...


def enough(picks: int, backends: int, in_flight: int) -> int:
    """How many picks are missing until such a run can be judged."""
    return max(0, PER_BACKEND * backends - picks, PER_PLACE * in_flight - picks)


def too_few(balance: Balance, picks: int, missing: int) -> Balance:
    """The verdict while picks are missing."""
    note = f"{picks:,} picks are too few to judge: {picks + missing:,} are needed"
    return replace(balance, verdict="too_few", note=note)


def judge_bands(balance: Balance, counts: Sequence[int], addresses: Sequence[str], bands: Sequence[Band]) -> Balance:
    """Return the verdict on these backends' counts, each held against its band."""
    picks = sum(counts)
    shares = [count / picks for count in counts]
    rows = list(zip(addresses, shares, bands, strict=True))
    worst, share, band = max(rows, key=lambda row: (_outside(row[1], row[2]), _off(row[1], row[2]), row[0]))
    ratios = [share / band.middle for _, share, band in rows if band.middle * picks >= 1.0]
    skewed = _outside(share, band) > 0.0
    return replace(
        balance,
        verdict="skewed" if skewed else "balanced",
        max_delta=max(_off(share, band) for _, share, band in rows),
        max_over_expected=max(ratios, default=None),
        worst=worst,
        note=f"{worst} got {share:.1%}, simulation gives {band.low * 100:.1f}-{band.high:.1%}"
        if skewed
        else "every share is where the same run, simulated, puts it",
    )


def _outside(share: float, band: Band) -> float:
    return max(band.low - share, share - band.high, 0.0)


def _off(share: float, band: Band) -> float:
    return abs(share - band.middle)
