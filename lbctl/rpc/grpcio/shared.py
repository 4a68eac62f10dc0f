"""One channel for all backends of a run: gRPC's balancer picks, and taps tell what it picked.

A ``Member`` is a backend as gRPC sees it; calls go through the ``SharedChannel``.

    member ── joins, leaves ──> roster ── whom gRPC is to pick among ──> lines ── the one to take ──> calls
      ^                                                                    │
      └──────────── states, calls seen there, their ends ──────────────────┘
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from lbctl.clock import Clock
from lbctl.errors import UsageError
from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.dial import Network
from lbctl.rpc.grpcio.calls import Basket
from lbctl.rpc.grpcio.line import Line, Told
from lbctl.rpc.grpcio.lines import Lines
from lbctl.rpc.grpcio.member import Member
from lbctl.rpc.grpcio.outcome import Ending
from lbctl.rpc.grpcio.parking import Parking
from lbctl.rpc.grpcio.passages import Passage
from lbctl.rpc.grpcio.policies import LbPolicy
from lbctl.rpc.grpcio.roster import Roster
from lbctl.rpc.grpcio.settings import refuse
from lbctl.rpc.grpcio.tickets import Tickets
from lbctl.rpc.link import Flusher
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.transport import Connectivity, Gauges, Listener
from lbctl.wire.request import Headers, Request
from lbctl.wire.state import Call

_FIRST_REPLIES: Final = 100
_REPORTS: Final = "the backends report their load: gRPC goes by it from ten seconds after connecting on"
_NO_REPORTS: Final = "the backends report no load: gRPC's weighted_round_robin is a round robin then"
_UNSEEN: Final = Reply(Code.INTERNAL, Origin.CLIENT, "answered, and no tap has seen the call")


class SharedChannel:
    """Implements Transport for calls whose backend is not known yet. ``peer`` is what pickers return.

    A call that was seen at a member ends there, in the member's baskets; any other one ends here.
    """

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
        self._listener = listener
        self._flusher = flusher
        self._renewed = renewed
        self._baskets = Basket()
        self._replies = 0
        self._parking = Parking(self, listener, clock)
        self._tickets = Tickets(clock)

        def make(members: Sequence[Member], policy: LbPolicy) -> Line:
            told = Told(self._seen, self._ended, self.lines.moved, self.lines.settled)
            return Line(
                members, policy, told, options=options, network=network, clock=clock, keep_messages=keep_messages
            )

        self.roster = Roster(policy, peer, self._tickets, lambda: self.lines.renew())
        self.lines = Lines(self.roster, self._tickets, make=make, switched=self._parking.return_all, renewed=renewed)

    # Calls.

    def send(self, call: Call) -> None:
        """Start one call of the run's request; gRPC decides where."""
        line = self.lines.usable()
        if line is None:
            self._parking.park(call.alone())
        else:
            line.begin(call, None, self._tickets.take())

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        """Send a call the general way: of another request, or stating another deadline."""
        line = self.lines.usable()
        if line is None:
            self._parking.park(call)
        else:
            line.begin(call, request, self._tickets.take())
            self._flusher.started.append(call)

    def post(self, call: Call, request: Request, messages: tuple[bytes, ...], own: Headers) -> None:
        """Start one call of this request with messages and metadata of its own; gRPC decides where."""
        line, whole = self.lines.usable(), request.of(messages, own)
        if line is None:
            self._parking.park(call.alone(), whole)
        else:
            line.begin(call, whole, self._tickets.take())

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
        self.lines.close_empty()

    def _tell_reports(self) -> None:
        """Say once whether a policy that goes by the backends' reports gets any."""
        line = self.lines.current
        if line is not None and line.policy.goes_by:
            self._renewed(_REPORTS if line.goes_by_reports else _NO_REPORTS)

    # The rest of a transport.

    def connect(self) -> None:
        """Members connect."""

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed; those that wait here are returned for their user to end."""
        self._parking.return_late(now_ns)
        for line in self.lines:
            line.expire(now_ns)

    def abandon(self, call: Call) -> bool | None:
        """Nobody hedges where gRPC picks."""
        return None

    def cancel(self, reply: Reply) -> None:
        """End every call with this reply; those that wait here are returned."""
        self._parking.return_all()
        for line in self.lines:
            line.end_all(reply)

    def retire(self) -> None:
        """Take no new calls."""
        self.state = Connectivity.SHUTDOWN
        self.roster.close()
        self._parking.return_all()

    def settle(self) -> None:
        """What was handed over is stamped."""
        self._flusher.flush()

    def total_counters(self) -> Counter[str]:
        """Nothing: the members count."""
        return Counter()

    def gauges(self) -> Gauges:
        return Gauges(waiting=len(self._parking))

    @property
    def is_over(self) -> bool:
        return self.state is Connectivity.SHUTDOWN and not self.lines

    async def aclose(self) -> None:
        """Close every line; calls in flight end as lost."""
        self.retire()
        await self.lines.aclose()
