"""What happened on connections, in streams and before calls were written, as parts of the run document."""

from __future__ import annotations

from lbctl.stats.report import Report, Streams, Wire
from lbctl.stats.streams import Spread
from lbctl.view.figures import Document, latency_ms, rate, ratio


def run_wire(report: Report) -> Document:
    """Return the whole run's connections, with what only the run as a whole knows."""
    waits = {cause: {"calls": wait.calls, "share": ratio(wait.share)} for cause, wait in report.waits.items()}
    return {
        **wire(report.wire),
        "late_ok": report.wire.late_ok,
        "retries": {why: report.retried.get(why, 0) for why in ("refused", "goaway")},
        "waits": waits,
    }


def wire(found: Wire) -> Document:
    """Return the connections of one backend; null is what the engine cannot know."""
    counted: Document = {
        "sockets": found.sockets,
        "waiting": found.waiting,
        "stream_limit": found.stream_limit,
        "opened": found.opened,
        "closed": dict(found.closed),
        "goaways": dict(found.goaways),
        "rst_sent": dict(found.rst_sent),
        "rst_received": dict(found.rst_received),
        "pings": found.pings,
        "pings_sent": found.pings_sent,
        "settings": found.settings,
        "late_frames": found.late_frames,
        "anomalies": dict(found.anomalies),
        "protocol_errors": found.protocol_errors,
        "header_cache_hit": ratio(found.header_cache_hit),
        "bytes_in": found.bytes_in,
        "bytes_out": found.bytes_out,
        "batch_mean": None if found.replies_per_read is None else round(found.replies_per_read, 6),
        "blocked_writes": found.blocked_writes,
        "paused_ms": round(found.paused_s * 1e3, 3),
    }
    untold = {"paused_ms" if name == "paused_s" else name for name in found.untold}
    return {name: None if name in untold else value for name, value in counted.items()}


def streams(found: Streams | None, elapsed_s: float) -> Document | None:
    """Return the messages of a streaming method; None for a unary one."""
    if found is None:
        return None
    return {
        "sent": found.sent,
        "received": found.received,
        "sent_per_s": rate(found.sent, elapsed_s),
        "received_per_s": rate(found.received, elapsed_s),
        "per_call": _spread(found.received_per_call),
        "sent_per_call": _spread(found.sent_per_call),
        "gap_ms": latency_ms(found.gaps),
    }


def _spread(found: Spread | None) -> Document | None:
    return None if found is None else {"min": found.least, "mean": round(found.mean, 6), "max": found.most}
