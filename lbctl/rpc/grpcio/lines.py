"""Which line calls take: the current one, the one that is coming, and those that are leaving.

grpcio has no way to change a channel's list, so each change of the membership makes a new ``Line``, which takes over
once it is connected: gRPC's balancer starts anew then. What the line before was given ends there. While a backend
leaves, calls wait for the new line; where one only joins they go on as before.

    list            a b       a b c                   a c            a c
    current         1         1 (calls go on)         2 (they wait)  3
    coming                    2                       3
    leaving                                           1              2, until its last call has ended
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from lbctl.rpc.grpcio.calls import LOST
from lbctl.rpc.grpcio.line import Line
from lbctl.rpc.grpcio.member import Member
from lbctl.rpc.grpcio.policies import LbPolicy
from lbctl.rpc.grpcio.roster import Roster
from lbctl.rpc.grpcio.tap import Tap
from lbctl.rpc.grpcio.tickets import Tickets
from lbctl.rpc.transport import Connectivity


class Lines:
    """At most one current and one coming line; members are told their states by the current one's taps.

    ``make`` opens a line over these members; ``switched`` is told when there may be a line for calls that wait, and
    ``renewed``, in words, that gRPC's balancer started anew.
    """

    def __init__(
        self,
        roster: Roster,
        tickets: Tickets,
        *,
        make: Callable[[Sequence[Member], LbPolicy], Line],
        switched: Callable[[], None],
        renewed: Callable[[str], None],
    ) -> None:
        self.current: Line | None = None  # where calls go
        self._coming: Line | None = None  # where they will go
        self._roster = roster
        self._tickets = tickets
        self._make = make
        self._switched = switched
        self._renewed = renewed
        self._switching = False
        self._lines: set[Line] = set()
        self._closing: dict[Line, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Line]:
        """All that are not closed, as of now."""
        return iter(list(self._lines))

    def usable(self) -> Line | None:
        """The line that calls may take now: connected, of the right policy, and without anybody who has left."""
        if self._switching:
            return None
        self._roster.check()
        line = self.current
        if line is None or not line.settled or line.policy is not self._roster.policy:
            return None
        wanted = set(self._roster.wanted)
        ready = {member for member in wanted if member.state is Connectivity.READY}
        return line if ready <= set(line.members) <= wanted else None

    def renew(self) -> None:
        """Open a line over whoever is wanted now, unless one is just that."""
        wanted, policy = self._roster.wanted, self._roster.policy
        if self._coming is not None:
            if self._coming.serves(wanted, policy):
                return
            self._drop(self._coming)
            self._coming = None
        if self.current is not None and self.current.serves(wanted, policy):
            return
        if not wanted:
            self._replace(None)
            return
        line = self._make(wanted, policy)
        self._lines.add(line)
        if self.current is None:
            self.current = line
        else:
            self._coming = line

    def _replace(self, line: Line | None) -> None:
        """Calls go another way from now on."""
        before, self.current = self.current, line
        self._coming = None
        if before is not None and before is not line:
            self._tickets.loosen()
            if not len(before):
                self._drop(before)

    def settled(self, line: Line) -> None:
        """A line is connected as far as can be: if it is the coming one, it takes over."""
        if line is self._coming:
            self._replace(line)
            self._renewed(f"gRPC's balancer started anew over {len(line.members)} backends")
        if line is not self.current:
            return
        self._switching = True  # no call goes out before every backend's state is known
        for member in line.members:
            self._follow(line, member)
            if member.state is Connectivity.IDLE:
                member.listener.changed(member, member.state, member.reason)  # and gRPC leaves it at that
        self._switching = False
        self._switched()  # calls are to be picked for anew: there may be more backends now

    def moved(self, line: Line, member: Member) -> None:
        """A line's tap says something new of its backend."""
        if line is not self.current:
            return
        if line.handed_over:
            self._tickets.doubt(line.unsure_of(member))
        self._follow(line, member)

    def _follow(self, line: Line, member: Member) -> None:
        tap = line.tap_of(member)
        self._roster.recheck = True
        member.become(*line.policy.state_of(tap.state, tap.reason))

    def close_empty(self) -> None:
        """Close the leaving lines whose last call has ended."""
        for line in self:
            if line is not self.current and line is not self._coming and not len(line):
                self._drop(line)

    async def aclose(self) -> None:
        """Close every line; calls in flight end as lost."""
        for line in self:
            line.end_all(LOST)
            self._drop(line)
        await asyncio.gather(*self._closing.values())
        self.current = self._coming = None

    def _drop(self, line: Line) -> None:
        if line not in self._closing:
            self._closing[line] = asyncio.get_running_loop().create_task(self._close(line))

    async def _close(self, line: Line) -> None:
        await line.aclose()
        for member in line.members:
            member.past.update(line.tap_of(member).counters)
        self._lines.discard(line)
        del self._closing[line]

    def taps_of(self, member: Member) -> list[Tap]:
        """Where this backend is reached, on every line that is not closed."""
        return [line.tap_of(member) for line in self._lines if member in line.members]
