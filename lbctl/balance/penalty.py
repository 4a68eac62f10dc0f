"""What keeps a backend that fails fast from looking like the best: a failed attempt keeps its slot for a while.

A policy that goes by calls in flight, or by latency, takes a backend that fails at once for an idle and a fast one, and
sends it everything. So a failed attempt goes on counting as one call in flight for the time of the penalty, and where
latency counts it counts as having taken that long: in the long run a backend with latency T that fails a part f of its
calls looks like one with latency T + f x penalty.

    1 s penalty, 10 ms a call    fails      looks like    least_conn gives it, beside two that never fail
    healthy                      0          10 ms         33 %
    now and then                 1 %        20 ms         20 %
    broken, 0.1 ms               100 %      1 s           0.5 %

Not every failure says something about the backend: what was asked for may be at fault, and then all fail alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, TypeVar

from lbctl.balance.peer import Peer
from lbctl.model import Code, Origin, Reply

Memory = TypeVar("Memory")

SERVER: Final = Origin.SERVER  # looked up once: it is asked of every reply
_FINE: Final = 6  # failures within 1/64 of the penalty share an entry, so memory does not grow with the rate

# These are about what was asked for, whoever was asked.
_ASKED: Final = frozenset(
    {
        Code.INVALID_ARGUMENT,
        Code.NOT_FOUND,
        Code.ALREADY_EXISTS,
        Code.FAILED_PRECONDITION,
        Code.ABORTED,
        Code.OUT_OF_RANGE,
    }
)
# We decided these, and because of what the backend did: its reply failed a check, or did not come in time.
_OURS: Final = frozenset({Code.OK, Code.DEADLINE_EXCEEDED})


def is_fault(reply: Reply) -> bool:
    """Whether the reply speaks against the backend it came from."""
    if reply.is_ok:
        return False
    if reply.origin is Origin.CLIENT:
        return reply.code in _OURS
    return reply.origin is not Origin.SERVER or reply.code not in _ASKED


def is_withdrawn(reply: Reply) -> bool:
    """Whether we cancelled the call, for reasons that have nothing to do with the backend."""
    return reply.code is Code.CANCELLED and reply.origin is Origin.CLIENT


class Kept:
    """The slots that one peer's failed attempts still keep; ``count`` is as of the last look."""

    __slots__ = ("count", "until")

    def __init__(self) -> None:
        self.count = 0
        self.until: deque[list[int]] = deque()  # when slots become free, and how many

    def add(self, now_ns: int, penalty_ns: int) -> int:
        """Keep one more slot; returns when it becomes free, or 0 where an earlier entry says so."""
        until, free_ns = self.until, now_ns + penalty_ns
        self.count += 1
        if until and free_ns - until[-1][0] <= penalty_ns >> _FINE:
            until[-1][1] += 1
            return 0
        until.append([free_ns, 1])
        return free_ns

    def at(self, now_ns: int) -> int:
        """Free the slots whose time is over, and return how many are left."""
        until = self.until
        while until and until[0][0] <= now_ns:
            self.count -= until.popleft()[1]
        return self.count


class KeptSlots:
    """The kept slots of a whole set, for pickers that must know when any of them becomes free."""

    def __init__(self, kept: Sequence[Kept], penalty_s: float) -> None:
        self.penalty_ns = round(penalty_s * 1e9)
        self.of = kept
        # In the order in which they become free: all are kept for the same time.
        self.due = deque(sorted((entry[0], index) for index, each in enumerate(kept) for entry in each.until))

    def add(self, index: int, now_ns: int) -> None:
        """A peer failed."""
        free_ns = self.of[index].add(now_ns, self.penalty_ns)
        if free_ns:
            self.due.append((free_ns, index))

    def freed(self, now_ns: int) -> list[int]:
        """Free the slots whose time is over, and return whose they were."""
        due, found = self.due, []
        while due and due[0][0] <= now_ns:
            index = due.popleft()[1]
            self.of[index].at(now_ns)
            found.append(index)
        return found


def remembered(peer: Peer, kind: type[Memory]) -> Memory:
    """The peer's memory, which is made where it has none."""
    if not isinstance(peer.memory, kind):
        peer.memory = kind()
    return peer.memory


def kept_slots(peers: Sequence[Peer], penalty_s: float) -> KeptSlots:
    """Return the slots of policies that remember nothing else of their peers."""
    return KeptSlots([remembered(peer, Kept) for peer in peers], penalty_s)
