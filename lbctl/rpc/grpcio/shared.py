"""One channel for all backends of a run: gRPC's balancer picks, and taps tell what it picked.

A ``Member`` is a backend as gRPC sees it; calls go through the ``SharedChannel``. grpcio has no way to change a
channel's list, so each change of the membership makes a new ``Line``, which takes over once it is connected: gRPC's
balancer starts anew then. What the line before was given ends there. While a backend leaves, calls wait for the new
line; where one only joins they go on as before.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from lbctl.clock import Clock
from lbctl.errors import UsageError
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.dial import Network
from lbctl.rpc.grpcio.calls import LOST, Basket
from lbctl.rpc.grpcio.line import Line, Passage, Told
from lbctl.rpc.grpcio.member import Member, Ticket
from lbctl.rpc.grpcio.outcome import Ending
from lbctl.rpc.grpcio.policies import LB_POLICIES
from lbctl.rpc.grpcio.settings import arguments, refuse
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.transport import Connectivity, Gauges, Listener
from lbctl.wire.request import Request
from lbctl.wire.state import Call, Wait

_UNSURE_NS: Final = 100_000_000  # how long gRPC's picker may lag behind what a tap has seen
_MORE_S: Final = 1.0
_FIRST_REPLIES: Final = 100
_REPORTS: Final = "the backends report their load: gRPC goes by it from ten seconds after connecting on"
_NO_REPORTS: Final = "the backends report no load: gRPC's weighted_round_robin is a round robin then"
_UNSEEN: Final = Reply(Code.INTERNAL, Origin.CLIENT, "answered, and no tap has seen the call")


class SharedChannel:
    """Implements Transport for calls whose backend is not known yet. ``peer`` is what pickers return."""

    endpoint = Endpoint("gRPC's choice", 0)

    def __init__(
        self,
        policy: str,
        *,
        peer: object,
        listener: Listener,
        flusher: Flusher,
        clock: Clock,
        options: ConnectionOptions,
        network: Network,
        renewed: Callable[[str], None],
        keep_messages: bool = False,
    ) -> None:
        refuse(options)
        if options.connections != 1:
            raise UsageError("--connections: gRPC's own balancers have one connection to each backend")
        self.state = Connectivity.CONNECTING
        self.reason = ""
        self._policy = policy
        self._peer = peer
        self._listener = listener
        self._flusher = flusher
        self._clock = clock
        self._options = options
        self._network = network
        self._renewed = renewed
        self._keep_messages = keep_messages
        self._baskets = Basket()
        self._members: list[Member] = []
        self._unwanted: frozenset[Member] = frozenset()  # listed and ready, and not to be picked
        self._allowed: frozenset[object] = frozenset()
        self._ticket: Ticket | None = None
        self._recheck = False
        self._switching = False
        self._replies = 0
        self._unsure_until_ns = 0
        self._parked: list[Call] = []
        self._line: Line | None = None  # where calls go
        self._coming: Line | None = None  # where they will go
        self._lines: set[Line] = set()
        self._closing: dict[Line, asyncio.Task[None]] = {}
        self._renewing: asyncio.Handle | None = None
        self._told = Told(self._seen, self._ended, self._moved, self._settled)

    # Members and pickers.

    def join(self, member: Member) -> None:
        """A backend is listed from now on."""
        if member not in self._members:
            self._members.append(member)
            self._renew_soon()

    def leave(self, member: Member) -> None:
        """A backend is not listed any more."""
        if member in self._members:
            self._members.remove(member)
            self._renew_soon()

    def begin(self, ticket: Ticket, members: Sequence[object]) -> object:
        """From here on calls are handed over in this picker's name; gRPC may pick these members, and idle ones."""
        self._ticket = ticket
        self._allowed = frozenset(members)
        self._recheck = True
        return self._peer

    def _wanted(self) -> tuple[Member, ...]:
        return tuple(member for member in self._members if member not in self._unwanted)

    def _check(self) -> None:
        """Take backends off the list that are ready and not to be picked: drained by hand, or disabled."""
        self._recheck = False
        ticket = self._ticket
        assert ticket is not None
        ready = {member for member in self._members if member.state is Connectivity.READY}
        unwanted = frozenset(ready - self._allowed)
        if unwanted != self._unwanted or ticket.policy != self._policy:
            self._unwanted, self._policy = unwanted, ticket.policy
            self._renew()

    # Lines.

    def _renew_soon(self) -> None:
        """In the next turn: a snapshot of the registry adds its backends one by one."""
        if self._renewing is None:
            self._renewing = asyncio.get_running_loop().call_soon(self._renew)

    def _renew(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None
        wanted, policy = self._wanted(), LB_POLICIES[self._policy]
        newest = self._coming or self._line
        if self.state is Connectivity.SHUTDOWN or (newest and (newest.members, newest.policy) == (wanted, policy)):
            return
        if self._coming is not None:
            self._drop(self._coming)
            self._coming = None
        if not wanted:
            self._replace(None)
            return
        # The tap is to be the one that gives up on a backend, since it can say why.
        patient = replace(self._options, connect_timeout_s=self._options.connect_timeout_s + _MORE_S)
        options = arguments(patient, wanted[0].request.authority)
        line = Line(
            wanted,
            policy,
            options,
            options=self._options,
            network=self._network,
            clock=self._clock,
            told=self._told,
            keep_messages=self._keep_messages,
        )
        self._lines.add(line)
        if self._line is None:
            self._line = line
        else:
            self._coming = line

    def _replace(self, line: Line | None) -> None:
        """Calls go another way from now on."""
        before, self._line = self._line, line
        self._coming = None
        if before is not None and before is not line:
            self._loosen()
            self._close_when_empty(before)

    def _settled(self, line: Line) -> None:
        if line is self._coming:
            self._replace(line)
            self._renewed(f"gRPC's balancer started anew over {len(line.members)} backends")
        if line is not self._line:
            return
        self._switching = True  # no call goes out before every backend's state is known
        for member in line.members:
            self._follow(member)
            if member.state is Connectivity.IDLE:
                member.listener.changed(member, member.state, member.reason)  # and gRPC leaves it at that
        self._switching = False
        self._return_parked()  # to be picked for anew: there may be more backends now

    def _moved(self, line: Line, member: Member) -> None:
        if line is not self._line:
            return
        if line.handed_over:
            self._unsure_until_ns = self._clock.now_ns() + _UNSURE_NS
            self._loosen()
        self._follow(member)

    def _loosen(self) -> None:
        """The balancer of gRPC may have begun its turns anew."""
        if self._ticket is not None:
            self._ticket.loosen()

    def _follow(self, member: Member) -> None:
        """Tell a backend's state by its tap's."""
        line = self._line
        tap = line.tap_of(member) if line is not None else None
        if line is None or tap is None:
            return
        self._recheck = True
        if line.policy.lazy_pick and tap.state in (Connectivity.IDLE, Connectivity.CONNECTING):
            member.become(Connectivity.READY, "")  # gRPC picks it, and connects then
        elif tap.state is Connectivity.IDLE and line.policy.eager and tap.reason:
            member.become(Connectivity.CONNECTING, tap.reason)  # at once
        else:
            member.become(tap.state, tap.reason)

    # Calls.

    def send(self, call: Call) -> None:
        """Start one call of the run's request; gRPC decides where."""
        line = self._usable()
        ticket = self._ticket
        assert ticket is not None
        if line is None:
            self._park(call.alone())
        else:
            self._begin(line, call, None, ticket)

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        line = self._usable()
        ticket = self._ticket
        assert ticket is not None
        if line is None:
            self._park(call)
        else:
            self._begin(line, call, request, ticket)
            self._flusher.started.append(call)

    def _usable(self) -> Line | None:
        """The line that calls may take now: connected, of the right policy, and without anybody who has left."""
        if self._recheck and not self._switching:
            self._check()
        line = self._line
        if self._switching or line is None or not line.settled or line.policy is not LB_POLICIES[self._policy]:
            return None
        wanted = set(self._wanted())
        ready = {member for member in wanted if member.state is Connectivity.READY}
        return line if ready <= set(line.members) <= wanted else None

    def _park(self, call: Call) -> None:
        call.waited_for = Wait.CONNECTION
        self._parked.append(call)

    def _begin(self, line: Line, call: Call, request: Request | None, ticket: Ticket) -> None:
        if self._unsure_until_ns and self._clock.now_ns() < self._unsure_until_ns:
            ticket.loose += 1
        line.begin(call, request, ticket)

    def _seen(self, member: Member, passage: Passage) -> None:
        before, passage.member = passage.member, member
        late = passage.flight.over
        member.listener.placed(passage.ticket, again=before is not None, late=late)
        member.in_flight += not late
        if before is not None and not late:
            before.in_flight -= 1
            before.listener.moved_on()

    def _ended(self, passage: Passage, ending: Ending, now_ns: int) -> None:
        member = passage.member
        if member is None:
            if ending.reply.code is Code.OK:
                ending = Ending(_UNSEEN)
            self._baskets.put(passage.flight, ending)
            self._listener.finished(self, self._baskets, now_ns)
        else:
            member.in_flight -= 1
            member.baskets.put(passage.flight, ending)
            member.listener.finished(member, member.baskets, now_ns)
        self._flusher.flush()
        self._replies += 1
        if self._replies == _FIRST_REPLIES:
            self._tell_reports()
        for line in [line for line in self._lines if line is not self._line and line is not self._coming]:
            self._close_when_empty(line)

    def _tell_reports(self) -> None:
        """Say once whether a policy that goes by the backends' reports gets any."""
        line = self._line
        if line is not None and line.policy.goes_by:
            self._renewed(_REPORTS if line.goes_by_reports else _NO_REPORTS)

    # The rest of a transport.

    def connect(self) -> None:
        """Members connect."""

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed; those that wait here are returned for their user to end."""
        late = [call for call in self._parked if call.deadline_ns <= now_ns]
        if late:
            self._parked = [call for call in self._parked if call.deadline_ns > now_ns]
            self._listener.returned(self, late, now_ns)
        for line in list(self._lines):
            line.expire(now_ns)

    def cancel(self, reply: Reply) -> None:
        """End every call with this reply; those that wait here are returned."""
        self._return_parked()
        for line in list(self._lines):
            line.end_all(reply)

    def retire(self) -> None:
        """Take no new calls."""
        self.state = Connectivity.SHUTDOWN
        self._return_parked()

    def settle(self) -> None:
        """What was handed over is stamped."""
        self._flusher.flush()

    def total_counters(self) -> Counter[str]:
        """Nothing: the members count."""
        return Counter()

    def gauges(self) -> Gauges:
        return Gauges(waiting=len(self._parked))

    @property
    def is_over(self) -> bool:
        return self.state is Connectivity.SHUTDOWN and not self._lines

    async def aclose(self) -> None:
        """Close every line; calls in flight end as lost."""
        self.retire()
        if self._renewing is not None:
            self._renewing.cancel()
        for line in list(self._lines):
            line.end_all(LOST)
            self._drop(line)
        await asyncio.gather(*self._closing.values())
        self._line = self._coming = None

    def _return_parked(self) -> None:
        if self._parked:
            parked, self._parked = self._parked, []
            self._listener.returned(self, parked, self._clock.now_ns())

    def _close_when_empty(self, line: Line) -> None:
        if not len(line):
            self._drop(line)

    def _drop(self, line: Line) -> None:
        if line not in self._closing:
            self._closing[line] = asyncio.get_running_loop().create_task(self._close(line))

    async def _close(self, line: Line) -> None:
        await line.aclose()
        for tap in line.taps:
            member = line.member_of(tap)
            member.past.update(tap.counters)
        self._lines.discard(line)
        del self._closing[line]

    # What members ask.

    def uses(self, member: Member) -> bool:
        """Whether a line still leads there."""
        return any(member in line.members for line in self._lines)

    def counters_of(self, member: Member) -> Counter[str]:
        """What the taps of the living lines have counted for this backend."""
        total: Counter[str] = Counter()
        for line in self._lines:
            tap = line.tap_of(member)
            total.update(tap.counters if tap is not None else {})
        return total

    def sockets_of(self, member: Member) -> int:
        """Connections to this backend."""
        taps = [line.tap_of(member) for line in self._lines]
        return sum(tap.sockets for tap in taps if tap is not None)
