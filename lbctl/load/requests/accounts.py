"""Ends of calls counted once more, by their method: of a run of several, and of no other."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.clock import Clock
from lbctl.load.accounts import Accounts
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.load.requests.content import Variant, Varying
from lbctl.model import Code, Origin, Reply
from lbctl.stats.tally import MethodTally, Tally


def accounts_of(varying: Varying | None, tally: Tally, clock: Clock) -> Accounts:
    """The accounts of such a run."""
    if varying is None or not varying.variants:
        return Accounts(tally, clock)
    return MethodAccounts(varying.variants, tally, clock)


class MethodAccounts(Accounts):
    """Counts each end once, and once for its method."""

    def __init__(self, variants: Sequence[Variant], tally: Tally, clock: Clock) -> None:
        super().__init__(tally, clock)
        self.methods = [MethodTally(each.name, each.weight) for each in variants]

    def forget(self) -> None:
        super().forget()
        for row in self.methods:
            row.forget()

    def done(self, lane: Lane, calls: list[Batch], now_ns: int) -> None:
        for call in calls:
            if now_ns < call.deadline_ns and call.content is not None:
                self.methods[call.content.method].add_ok((now_ns - call.queued_ns) // 1000)
        super().done(lane, calls, now_ns)

    def failed(self, lane: Lane | None, call: Batch, reply: Reply, now_ns: int) -> None:
        if call.content is not None:
            row = self.methods[call.content.method]
            if reply.code is Code.CANCELLED and reply.origin is Origin.CLIENT:  # by us, at the end of the run
                row.cancelled += 1
            else:
                row.failed(reply)
        super().failed(lane, call, reply, now_ns)
