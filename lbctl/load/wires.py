"""Counters of connections, as they are named on the way up, put into what a report says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from lbctl.balance.policies.table import GRPC_POLICIES
from lbctl.rpc.transport import Gauges
from lbctl.stats.report import Wire

# What grpcio keeps to itself, and what of that is seen by the taps that calls pass where gRPC picks.
_KEPT: Final = frozenset({"pings_sent", "late_frames", "protocol_errors", "blocked_writes", "paused_s"})
_TAPPED: Final = frozenset({"goaways", "rst_sent", "pings", "settings", "anomalies", "bytes_in", "bytes_out"})


def untold(engine: str, policy: str) -> frozenset[str]:
    """Return the fields of a Wire that nobody counts in such a run."""
    if engine != "grpcio":
        return frozenset()
    return _KEPT if policy in GRPC_POLICIES else _KEPT | _TAPPED


def wire_of(
    counters: Mapping[str, int],
    gauges: Iterable[Gauges],
    *,
    late_ok: int = 0,
    replies: int = 0,
    untold: frozenset[str] = frozenset(),
) -> Wire:
    """What these connections did; ``replies`` is how many calls they ended, ``untold`` what nobody counted."""
    found = list(gauges)
    blocks, reads = counters.get("header_blocks", 0), counters.get("reads", 0)
    return Wire(
        sockets=sum(gauge.sockets for gauge in found),
        waiting=sum(gauge.waiting for gauge in found),
        stream_limit=min((gauge.limit for gauge in found if gauge.limit), default=None),
        opened=counters.get("opened", 0),
        closed=_details(counters, "closed"),
        goaways=_details(counters, "goaway"),
        rst_sent=_details(counters, "rst_sent"),
        rst_received=_details(counters, "rst_received"),
        pings=counters.get("pings", 0),
        pings_sent=counters.get("pings_sent", 0),
        settings=counters.get("settings", 0),
        late_frames=counters.get("late_frames", 0),
        late_ok=late_ok,
        anomalies=_details(counters, "anomaly"),
        protocol_errors=counters.get("protocol_errors", 0),
        header_cache_hit=1 - counters.get("header_blocks_decoded", 0) / blocks if blocks else None,
        bytes_in=counters.get("bytes_in", 0),
        bytes_out=counters.get("bytes_out", 0),
        replies_per_read=replies / reads if reads else None,
        blocked_writes=counters.get("blocked_writes", 0),
        paused_s=sum(gauge.paused_ns for gauge in found) / 1e9,
        untold=untold,
    )


def sum_of(parts: Iterable[Counter[str]]) -> Counter[str]:
    """All of them together."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def _details(counters: Mapping[str, int], kind: str) -> Mapping[str, int]:
    """Counts of one kind by detail, the largest first."""
    prefix = f"{kind}: "
    named = [(name[len(prefix) :], count) for name, count in counters.items() if name.startswith(prefix) and count]
    return dict(sorted(named, key=lambda item: (-item[1], item[0])))
