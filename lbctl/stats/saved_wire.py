"""What a saved run tells of its connections, back as it was."""

from __future__ import annotations

from typing import Final

from lbctl.stats.report import Wait, Wire
from lbctl.stats.saved_values import Part

_SPELLED: Final = {"paused_ms": "paused_s"}  # where a document's word is not the field's
_ALWAYS_NULLABLE: Final = frozenset({"stream_limit", "header_cache_hit", "batch_mean"})  # null is a value of theirs


def wire_from(wire: Part) -> Wire:
    """The connections of a run, or of one backend; what is null the engine could not know."""
    untold = {name for name in wire.names() if name not in wire} - _ALWAYS_NULLABLE
    return Wire(
        sockets=wire.whole("sockets", 0),
        waiting=wire.whole("waiting", 0),
        stream_limit=wire.maybe_whole("stream_limit"),
        opened=wire.whole("opened", 0),
        closed=wire.counts("closed"),
        goaways=wire.counts("goaways"),
        rst_sent=wire.counts("rst_sent"),
        rst_received=wire.counts("rst_received"),
        pings=wire.whole("pings", 0),
        pings_sent=wire.whole("pings_sent", 0),
        settings=wire.whole("settings", 0),
        late_frames=wire.whole("late_frames", 0),
        late_ok=wire.whole("late_ok", 0),
        anomalies=wire.counts("anomalies"),
        protocol_errors=wire.whole("protocol_errors", 0),
        header_cache_hit=wire.maybe("header_cache_hit"),
        bytes_in=wire.whole("bytes_in", 0),
        bytes_out=wire.whole("bytes_out", 0),
        replies_per_read=wire.maybe("batch_mean"),
        blocked_writes=wire.whole("blocked_writes", 0),
        paused_s=wire.number("paused_ms", 0.0) / 1e3,
        untold=frozenset(_SPELLED.get(name, name) for name in untold),
    )


def waits_from(waits: Part | None) -> dict[str, Wait]:
    """What calls waited for."""
    if waits is None:
        return {}
    found = {cause: waits.part(cause) for cause in waits.names()}
    return {cause: Wait(wait.whole("calls"), wait.number("share")) for cause, wait in found.items()}
