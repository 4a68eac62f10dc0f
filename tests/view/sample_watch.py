"""A watch with invented numbers, the same every time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lbctl.discovery.watch_report import WatchReport, WatchRow
from lbctl.model import Endpoint, Event, Instance
from tests.view.sample import STARTED

_EVENTS = (
    Event(0.0, "resync", None, "5 instances at revision 4711"),
    Event(3.66, "left", "10.0.0.15:50051", "lease expired", "bad"),
    Event(12.02, "health", "10.0.0.14:50051", "SERVING -> REFUSED", "bad"),
    Event(29.871, "weight", "10.0.0.13:50051", "weight 2 -> 0 (revision 4718)", "change"),
    Event(31.204, "joined", "10.0.0.16:50051", "weight 2, ttl 10s", "good"),
)


def _row(number: int, weight: int, share: float, state: str, health: str, **more: Any) -> WatchRow:  # noqa: ANN401
    lease = 0x7587A9B3C21F00 + number if more.get("granted_s") else 0
    metadata = {"version": "v1.5.0" if number == 16 else "v1.4.2", "zone": f"az-{'abc'[number % 3]}"}
    instance = Instance(
        f"/services/demo.echo.v1.Echo/10.0.0.{number}:50051",
        "demo.echo.v1.Echo",
        "seed",
        Endpoint(f"10.0.0.{number}", 50051),
        weight,
        metadata=metadata,
        lease=lease,
    )
    known = {"rtt_us": None, "ttl_s": None, "granted_s": None, "age_s": 190.0, **more}
    us = known["rtt_us"] or 0
    known["rtts"] = tuple(us * (1 + step * step * number % 7 / 10) for step in range(1 if number == 16 else 14))
    return WatchRow(instance, share, state, health, **known)


def watch_sample(**changes: Any) -> WatchReport:  # noqa: ANN401
    """Return a watch in its 41st second; ``changes`` replace fields."""
    rows = (
        _row(11, 5, 0.4545, "ready", "SERVING", rtt_us=400, ttl_s=8, granted_s=10),
        _row(12, 3, 0.2727, "ready", "SERVING", rtt_us=520, ttl_s=9, granted_s=10),
        _row(13, 0, 0.0, "draining", "SERVING", rtt_us=410, ttl_s=3, granted_s=10, change="weight 4s"),
        _row(14, 1, 0.0909, "down", "REFUSED", age_s=12 * 86400.0),
        _row(
            16, 2, 0.1818, "ready", "SERVING", rtt_us=1100, ttl_s=10, granted_s=10, age_s=2.0, seen_s=2.0, change="new"
        ),
    )
    report = WatchReport("demo.echo.v1.Echo", "/services/demo.echo.v1.Echo/", 4719, STARTED, 41.0, rows, _EVENTS)
    return replace(report, **changes)
