"""What became of calls, written into the tally: their ends, their times, and what they waited for.

Latency of a call is end - queued (open loop: - planned), service time end - written, wait written - queued; the end is
the moment the read began that brought the reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final, cast

from lbctl.clock import Clock
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.model import Code, Origin, Reply
from lbctl.rpc.transport import Baskets
from lbctl.stats.histogram import bucket_of
from lbctl.stats.tally import MethodTally, Tally
from lbctl.wire.state import DEADLINE, Wait

FOREVER_NS: Final = 1 << 62
CANCELLED: Final = Reply(Code.CANCELLED, Origin.CLIENT, "cancelled at the end of the run")
_CAUSES: Final = {cause: cause.name.lower() for cause in Wait}


class Accounts:
    """Counts each end once."""

    def __init__(self, tally: Tally, clock: Clock) -> None:
        self.tally = tally
        self.late = 0  # replies after the deadline
        self.late_ok = 0  # those of them that were OK
        self.methods: Sequence[MethodTally] = ()  # of a run of several
        self._now = clock.now_ns

    def forget(self) -> None:
        """Count anew."""
        self.tally.forget()
        self.late = self.late_ok = 0

    def done(self, lane: Lane, calls: list[Batch], now_ns: int) -> None:
        """Count OK replies of one backend; calls of one batch share their times and mostly come in a row."""
        mine, total, service = lane.row.latency.counts, self.tally.latency.counts, self.tally.service_time
        ok = sum_us = max_us = service_sum = service_max = 0
        min_us = service_min = FOREVER_NS
        calls.append(_END)
        last, run = calls[0], 0
        for batch in calls:
            if batch is last:
                run += 1
                continue
            us = (now_ns - last.queued_ns) // 1000
            service_us = (now_ns - last.written_ns) // 1000
            if now_ns >= last.deadline_ns:
                self._late(lane, last, run, now_ns)
            else:
                if not 0 <= service_us <= us:
                    service_us = self._unstamped(last, run, now_ns)
                bucket = bucket_of(us)
                mine[bucket] += run
                total[bucket] += run
                service.counts[bucket_of(service_us)] += run
                ok += run
                sum_us += us * run
                service_sum += service_us * run
                min_us = min(min_us, us)
                max_us = max(max_us, us)
                service_min = min(service_min, service_us)
                service_max = max(service_max, service_us)
            last, run = batch, 1
        if ok:
            lane.row.fold(ok, sum_us, min_us, max_us)
            self.tally.fold(ok, sum_us, min_us, max_us)
            service.fold(ok, service_sum, service_min, service_max)

    def _unstamped(self, call: Batch, count: int, now_ns: int) -> int:
        """The service time of calls that ended before they could be stamped as written, or in the same breath."""
        if not call.written_ns:
            self.written(call, now_ns, count)
        return 0

    def _late(self, lane: Lane, call: Batch, count: int, now_ns: int) -> None:
        self.late += count
        self.late_ok += count
        for _ in repeat(None, count):
            self.failed(lane, call, DEADLINE, now_ns)

    def began(self, early: list[tuple[Batch, int]], replies: list[tuple[Batch, Reply]], now_ns: int) -> None:
        """Calls that ended and whose reply took more than one read; those that are not OK are among ``replies``."""
        failed: dict[Batch, int] = {}
        for call, reply in replies:
            if not reply.is_ok:
                failed[call] = failed.get(call, 0) + 1
        for call, first_ns in early:
            if failed.get(call):
                failed[call] -= 1
            elif now_ns < call.deadline_ns and call.written_ns:
                written_ns = call.written_ns
                self.tally.first_byte.early((first_ns - written_ns) // 1000, (now_ns - written_ns) // 1000)

    def details(self, baskets: Baskets, now_ns: int) -> int:
        """Take when replies began and the pauses in streams; returns how many RST_STREAM frames were sent."""
        early, baskets.early = baskets.early, []
        gaps, baskets.gaps = baskets.gaps, []
        replies = cast("list[tuple[Batch, Reply]]", baskets.replies)
        self.began(cast("list[tuple[Batch, int]]", early), replies, now_ns)
        self.tally.streams.record_gaps(gaps)
        resets, baskets.resets = baskets.resets, 0
        return resets

    def all_written(self, batches: list[Batch]) -> int:
        """Batches of one call each were written just now, but for those that wait; returns when that was."""
        now = self._now()
        wait = self.tally.wait
        for batch in batches:
            if not batch.left:
                batch.written_ns = now
                wait.record((now - batch.queued_ns) // 1000)
        return now

    def stamp(self, calls: list[Batch]) -> None:
        """Calls that waited for a connection, a slot or a window were written just now."""
        now = self._now()
        for call in calls:
            if not call.written_ns:
                self.written(call, now)

    def written(self, call: Batch, now_ns: int, count: int = 1) -> None:
        """Calls are on their way; what one of them waited for is over."""
        call.written_ns = now_ns
        self.tally.wait.record((now_ns - call.queued_ns) // 1000, count)
        self.waited(call, now_ns)

    def waited(self, call: Batch, now_ns: int) -> None:
        """An attempt waits no longer: it was written, or given up."""
        if call.waited_for:
            self.tally.waited(_CAUSES[call.waited_for], now_ns - call.begun_ns)

    def ended(self, lane: Lane, call: Batch, reply: Reply, now_ns: int) -> None:
        """Count one end that a backend is charged with: an error, a cancelled call, or the OK end of a stream."""
        if not call.written_ns:
            # Open on the wire, with a part of its request still to be sent; or it never got there.
            on_the_wire = reply.origin is not Origin.CLIENT or reply.reason == DEADLINE.reason
            (self.written if on_the_wire else self.waited)(call, now_ns)
        # What the peer says of a call may be read after its deadline, and before our own timer has looked.
        late = now_ns >= call.deadline_ns and reply.origin is not Origin.CLIENT
        if late:
            self.late += reply.origin is not Origin.TRANSPORT
            self.late_ok += reply.code is Code.OK
        if reply.sent or reply.received or reply.is_ok:
            self.tally.streams.end(reply.sent, reply.received, ok=reply.is_ok and not late)
        if reply.is_ok and not late:
            self.done(lane, [call], now_ns)
        else:
            self.failed(lane, call, DEADLINE if late else reply, now_ns)

    def failed(self, lane: Lane | None, call: Batch, reply: Reply, now_ns: int) -> None:
        """Count one call that was not OK; without a lane none was chosen."""
        self.tally.lost_ns += max(0, now_ns - call.queued_ns)
        row = lane.row if lane is not None else None
        if reply.code is Code.CANCELLED and reply.origin is Origin.CLIENT:  # by us, at the end of the run
            self.tally.cancel(row)
        else:
            self.tally.failed(row, reply, lasted_us=(now_ns - call.queued_ns) // 1000)


_END: Final = Batch(0, 0, 0)  # closes the last run of a list of calls
