"""What a run has to say about its own figures: sentences for whoever reads them, most serious first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from lbctl.balance.policies.base import Policy
from lbctl.stats.drift import Drift
from lbctl.stats.report import Sent, Starts, Wait, Warmed, Wire
from lbctl.stats.samples import Sample
from lbctl.stats.tally import BackendTally

_SHARE: Final = 0.01  # of the calls' time, from where on a wait is worth a sentence
_LATE: Final = 0.05  # of the calls of an open loop
_PILED: Final = 10  # calls in flight more than before
_TAIL: Final = 0.1  # of the time
_TAIL_S: Final = 0.25  # and no less: what is over sooner has no rate to speak of
_FEW: Final = 100  # calls, with which a share means little

_WAITS: Final = {
    "slot": "{limit} reached: {share} of the time was waiting for a slot; --connections N opens more",
    "window": "{share} of the time was waiting for the server's flow-control window to send a request",
    "peer": "{share} of the time was waiting for a server that did not read",
    "rotation": "{share} of the time was waiting for a backend back in the rotation; --when-all-out panic uses all",
    "connection": "{share} of the time was waiting for a connection",
}


def warm_up_of(warmed: Warmed) -> str:
    """What was issued and is not counted: ``warm-up of 500 calls in 2.1s, 3 errors``."""
    calls = "1 call" if warmed.requests == 1 else f"{warmed.requests:,} calls"
    failed = "" if not warmed.errors else f", {warmed.errors:,} error{'s' if warmed.errors > 1 else ''}"
    return f"warm-up of {calls} in {milliseconds(warmed.seconds * 1e3)}{failed}"


def on_drops(dropped: int) -> Iterator[str]:
    """The rate was not kept."""
    if dropped:
        yield f"{_were(dropped)} dropped, too many in flight when due; the rate was not kept"


def on_cancelled(cancelled: int, rows: Sequence[BackendTally], grace_s: float) -> Iterator[str]:
    """Calls outlasted the grace time: the slowest ones of all, and no percentile knows of them."""
    if not cancelled:
        return
    most = max(rows, key=lambda row: row.cancelled, default=None)
    where = f" ({most.cancelled:,} of them at {most.address})" if most is not None and most.cancelled else ""
    yield (
        f"{_were(cancelled)} cancelled without an answer after {grace_s:g}s of grace{where}: latency leaves them out,"
        " although they took longer; --grace waits longer, a shorter -t makes errors of them"
    )


def on_tail(sent: Sent | None, elapsed_s: float) -> Iterator[str]:
    """A good part of the time was waiting for the last calls, which makes the rate less than it was under load."""
    if sent is None or not sent.ended:
        return
    tail_s = elapsed_s - sent.seconds
    if tail_s >= _TAIL_S and tail_s >= _TAIL * elapsed_s:
        yield (
            f"nothing was sent in the last {milliseconds(tail_s * 1e3)} of {milliseconds(elapsed_s * 1e3)}, which"
            f" waited for calls in flight: the rate is that of the whole time, {sent.ended / sent.seconds:,.4g}/s until"
            " then"
        )


def on_starts(starts: Starts | None) -> Iterator[str]:
    """The rate was kept, but not to the millisecond."""
    if starts is not None and starts.late > _LATE * max(starts.delays.total, _FEW):
        share = starts.late / starts.delays.total
        yield f"{share:.0%} of the calls were started more than 1ms late: the times include that"


def on_drift(drift: Drift | None, samples: Sequence[Sample], *, is_open: bool) -> Iterator[str]:
    """The latency was not one and the same all the time."""
    if drift is None or drift.before_ms is None or drift.after_ms is None:
        return
    before, after = milliseconds(drift.before_ms), milliseconds(drift.after_ms)
    if drift.warmup_ms is not None:
        yield (
            f"the first {drift.warmup_s:.0f}s were a warm-up, {milliseconds(drift.warmup_ms)} at p50 and {before} after"
            f" it: --warmup {drift.warmup_s:.0f}s leaves them out"
        )
    if drift.verdict in ("rising", "falling"):
        rose, more = ("rose", "") if drift.verdict == "rising" else ("fell", "; a longer --warmup helps if it settles")
        if is_open and drift.verdict == "rising":
            more = _piled_up(samples)
        yield (
            f"latency {rose} over the run, {before} at p50 in its first half and {after} in its second:"
            f" the percentiles are those of a mixture{more}"
        )


def _piled_up(samples: Sequence[Sample]) -> str:
    """What an open loop says of a service that falls behind."""
    in_flight = [each.in_flight for each in samples]
    first, last = median(in_flight[: len(in_flight) // 2]), median(in_flight[len(in_flight) // 2 :])
    if last < max(2 * first, first + _PILED):
        return ""
    return f"; calls in flight rose from {first:,.0f} to {last:,.0f}: the rate is more than the service can take"


def on_concurrency(policy: Policy, concurrency: int, backends: int) -> Iterator[str]:
    """Too few calls in flight for a policy that goes by them; a concurrency of 0 has no bound."""
    if policy.by_load and 0 < concurrency < backends:
        yield (
            f"concurrency {concurrency} is below the {backends} backends: {policy.name} cannot tell idle ones apart,"
            f" so its rule for ties decides; -c {backends * 4} shows more"
        )


def on_waits(waits: Mapping[str, Wait], stream_limit: int | None) -> Iterator[str]:
    """Calls waited for what more connections, or another server, would give them."""
    limit = f"stream limit {stream_limit}" if stream_limit else "stream limit"
    for cause, text in _WAITS.items():
        found = waits.get(cause)
        if found is not None and found.share >= _SHARE:
            yield text.format(limit=limit, share=percent(found.share))


def on_refusals(wire: Wire, calls: int) -> Iterator[str]:
    """Servers refused streams, although the limit they state was kept: it is lower in truth, or they are overloaded."""
    refused = wire.rst_received.get("REFUSED_STREAM", 0)
    if refused and refused >= _SHARE * calls:
        limit = f" than the {wire.stream_limit} they allow" if wire.stream_limit else ""
        yield f"{refused:,} streams were refused by servers; --max-streams N opens fewer at once{limit}"


def on_connections(wire: Wire, most_resets: int, *, many: bool) -> Iterator[str]:
    """Servers took us for an attacker, or may have."""
    calm = sum(
        count for kind, count in wire.goaways.items() if "ENHANCE_YOUR_CALM" in kind and "too_many_pings" not in kind
    )
    if calm and most_resets:
        ended = "1 connection was" if calm == 1 else f"{calm} connections were"
        yield f"{ended} ended by reset-flood protection: {_cancelled(most_resets)}"
    elif many:
        yield f"{_cancelled(most_resets)}, and servers may take that for an attack"


def _cancelled(most: int) -> str:
    return f"{most} calls of one backend were cancelled within 30s; --no-rst leaves them to its own deadline"


def _were(calls: int) -> str:
    return "1 call was" if calls == 1 else f"{calls:,} calls were"


def milliseconds(ms: float) -> str:
    """A time as all others are written: two or three digits, no blank before the unit."""
    if ms < 9.95:
        return f"{ms:.1f}ms"
    if ms < 999.5:
        return f"{ms:.0f}ms"
    return f"{ms / 1e3:.2f}s" if ms < 9_995 else f"{ms / 1e3:.1f}s"


def percent(share: float) -> str:
    """A share as people write it: two digits are enough."""
    return f"{share * 100:.1f}%" if share < 0.1 else f"{share * 100:.0f}%"
