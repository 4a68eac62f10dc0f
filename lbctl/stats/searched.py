"""What a search for the highest rate has found: plain values, so that a report can carry them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lbctl.stats.outcome import Outcome

HOLDS: Final = "holds"
FAILS: Final = "fails"
LIMITED: Final = "limited"  # it failed, and lbctl itself was not fast enough

FOUND: Final = "found"
AT_LEAST: Final = "at_least"  # above that the generator is the limit
FAILED: Final = "failed"  # even the lowest rate
INTERRUPTED: Final = "interrupted"


@dataclass(frozen=True, slots=True)
class Probe:
    """One run at one rate. Rates are in calls/s; ``reason`` is why it does not hold; ``late`` is a share, 0..1."""

    rate: float  # as asked
    done: float  # calls that ended, a second
    requests: int
    ok: int
    errors: int
    cancelled: int
    dropped: int
    p50_ms: float | None  # of OK calls, from the planned start
    p99_ms: float | None
    busy: float  # of the generator, 0..1
    late: float  # calls that were started more than 1 ms late
    verdict: str  # holds | fails | limited
    reason: str = ""
    is_close: bool = False  # to a limit, so that chance may have decided
    outcomes: tuple[Outcome, ...] = ()


@dataclass(frozen=True, slots=True)
class RateSearch:
    """A search that is over; the highest rate that holds is from ``low`` on and below ``high``, where those are known.

    ``probes`` are in the order in which they were made.
    """

    objective: Sequence[str]
    probe_s: float
    precision: float  # 0..1
    ended: str  # found | at_least | failed | interrupted
    low: float | None
    high: float | None
    probes: Sequence[Probe] = ()

    @property
    def by_rate(self) -> Mapping[float, Sequence[Probe]]:
        """The probes of each rate, the lowest rate first."""
        rates = sorted({probe.rate for probe in self.probes})
        return {rate: [probe for probe in self.probes if probe.rate == rate] for rate in rates}

    @property
    def conclusion(self) -> str:
        """What it came to, in a sentence."""
        if self.ended == FAILED:
            lowest = self.probes[-1]
            return f"even {lowest.rate:,g}/s does not hold: {lowest.reason}"
        if self.low is None:
            return "interrupted before anything was known"
        if self.ended == AT_LEAST:
            return f"at least {self.low:,g}/s: above that the generator is the limit"
        above = "" if self.high is None else f", {self.high:,g}/s does not"
        return f"{'interrupted: ' if self.ended == INTERRUPTED else ''}{self.low:,g}/s holds{above}"
