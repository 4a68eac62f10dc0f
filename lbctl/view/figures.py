"""Numbers and moments as documents spell them: plain, rounded, with the unit in the key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeAlias

from lbctl.stats.histogram import Histogram

Document: TypeAlias = dict[str, object]

_QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_SLOW = 10.0  # events per second, below which a tenth says little
_EDGES_US = [digit * 10**power for power in range(10) for digit in (1, 2, 5)]  # 1 us to 5000 s


def latency_ms(times: Histogram) -> dict[str, float] | None:
    """Return the figures of a histogram in milliseconds; None where nothing was measured."""
    if not times.total:
        return None
    quantiles = dict(zip(_QUANTILES, times.quantiles(list(_QUANTILES.values())), strict=True))
    figures = {"min": float(times.min_us), "mean": times.mean_us, **quantiles, "max": float(times.max_us)}
    return {name: round(us / 1e3, 4) for name, us in figures.items()}


def histogram(times: Histogram) -> list[dict[str, float]]:
    """Return counts per 1-2-5 step from the fastest to the slowest call: ``count`` calls took at most ``le_ms``."""
    counts = times.rebinned(_EDGES_US)[:-1]
    used = [index for index, count in enumerate(counts) if count]
    if not used:
        return []
    return [{"le_ms": _EDGES_US[i] / 1e3, "count": counts[i]} for i in range(used[0], used[-1] + 1)]


def lease_id(lease: int) -> str:
    """Spell a lease as etcdctl does: hexadecimal, of the 64 bits."""
    return f"{lease & (1 << 64) - 1:x}"


def stamp(at: datetime, *, milliseconds: bool = False) -> str:
    """Spell a moment in UTC, RFC 3339, with a Z."""
    return (
        at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds" if milliseconds else "seconds") + "Z"
    )


def rate(count: int, seconds: float) -> float:
    """Return events per second, 0 for no time; of slow ones three digits."""
    found = count / seconds if seconds > 0 else 0.0
    return round(found, 1) if found >= _SLOW else float(f"{found:.3g}")


def seconds_of(value: float) -> float:
    """Round seconds to milliseconds."""
    return round(value, 3)


def micros(value: float) -> float:
    """Round seconds to microseconds: what is shown of them is the same before and after."""
    return round(value, 6)


def ratio(value: float | None) -> float | None:
    """Round a share or a difference of shares."""
    return None if value is None else round(value, 6)
