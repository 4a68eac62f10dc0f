"""One channel over a list of backends, with a tap in front of each: made once, used until the list changes.

calls ── channel ──(gRPC's balancer)──┬── tap ── backend a
         one service config           └── tap ── backend b
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from lbctl.clock import Clock
from lbctl.model import Reply
from lbctl.rpc.dial import Network
from lbctl.rpc.grpcio.calls import Flight
from lbctl.rpc.grpcio.channel import Channel
from lbctl.rpc.grpcio.outcome import Ending
from lbctl.rpc.grpcio.passages import Passage, Passages
from lbctl.rpc.grpcio.policies import LbPolicy
from lbctl.rpc.grpcio.settings import Arguments, arguments, metadata_of
from lbctl.rpc.grpcio.tap import HEADER, Tap
from lbctl.rpc.grpcio.tickets import Ticket
from lbctl.rpc.options import ConnectionOptions
from lbctl.rpc.transport import Connectivity
from lbctl.wire.request import Request
from lbctl.wire.state import Call

if TYPE_CHECKING:
    from lbctl.rpc.grpcio.member import Member

_MORE_S: Final = 1.0  # than a tap needs to give up on a backend


@dataclass(frozen=True, slots=True)
class Told:
    """Whom a line tells: of a call seen at a backend, of one that ended, of a backend's state, of having settled."""

    seen: Callable[[Member, Passage], None]
    ended: Callable[[Passage, Ending, int], None]
    moved: Callable[[Line, Member], None]
    settled: Callable[[Line], None]


class Line:
    """A channel and its taps. ``settled`` once every backend gRPC connects to has been reached, or could not be."""

    def __init__(
        self,
        members: Sequence[Member],
        policy: LbPolicy,
        told: Told,
        *,
        options: ConnectionOptions,
        network: Network,
        clock: Clock,
        keep_messages: bool = False,
    ) -> None:
        self.members = tuple(members)
        self.policy = policy
        self.handed_over = 0
        self.settled = False
        self.counters: Counter[str] = Counter()  # C-core's own account; the taps' is better
        self._clock = clock
        self._told = told
        self._keep_messages = keep_messages
        self._taps = [Tap(member.endpoint, member.secure, options, network, self, policy.goes_by) for member in members]
        self._member_of = dict(zip(self._taps, self.members, strict=True))
        self._tap_of = dict(zip(self.members, self._taps, strict=True))
        self._latest = dict.fromkeys(self.members, 0)  # the number of the call seen last at each
        self._channel: Channel | None = None
        self._request = self.members[0].request  # all send the same, and one channel has one authority
        self._metadata = metadata_of(self._request)
        self._arguments = _arguments(policy, options, self._request)
        self._passages = Passages()
        self._limit_s = options.connect_timeout_s + _MORE_S
        self._limit: asyncio.TimerHandle | None = None
        for tap in self._taps:
            tap.open()
        self._opening = asyncio.get_running_loop().call_soon(self._open)

    def _open(self) -> None:
        self.policy.turn_on()
        target = "ipv4:" + ",".join(f"127.0.0.1:{tap.port}" for tap in self._taps)
        self._limit = asyncio.get_running_loop().call_later(self._limit_s, self._settle)
        self._channel = Channel(
            target,
            self._arguments,
            None,
            clock=self._clock,
            counters=self.counters,
            ended=self._ended,
            moved=self._look,
            keep_messages=self._keep_messages,
        )
        self._look()

    def __len__(self) -> int:
        """Calls in flight."""
        return len(self._channel.flights) if self._channel is not None else 0

    def serves(self, members: Sequence[Member], policy: LbPolicy) -> bool:
        """Whether it is over just these backends, in this order, and follows this policy."""
        return (self.members, self.policy) == (tuple(members), policy)

    @property
    def goes_by_reports(self) -> bool:
        """Whether any backend says what the policy goes by."""
        return any(tap.found for tap in self._taps)

    def tap_of(self, member: Member) -> Tap:
        """The tap in front of this backend, one of ``members``."""
        return self._tap_of[member]

    def unsure_of(self, member: Member) -> int:
        """How many calls may have been picked without this backend, now that its tap has moved.

        gRPC may know of a connection's end before the tap does: of one that is lost, all since the last seen there.
        """
        return 0 if self.tap_of(member).state is Connectivity.READY else self.handed_over - self._latest[member]

    def begin(self, call: Call, request: Request | None, ticket: Ticket) -> None:
        """Hand a call over in the ticket's name; without a request it is the run's."""
        assert self._channel is not None
        self.handed_over += 1
        number = self.handed_over
        metadata = self._metadata if request is None else metadata_of(request)
        numbered = (*metadata, (HEADER, str(number)))
        flight = self._channel.flights.begin(call, request or self._request, numbered)
        self._passages.add(number, Passage(ticket, flight))

    # What taps and the channel tell.

    def saw(self, tap: Tap, number: int) -> None:
        passage = self._passages.seen(number)
        if passage is not None:
            member = self._member_of[tap]
            self._latest[member] = max(number, self._latest[member])
            self._told.seen(member, passage)

    def moved(self, tap: Tap) -> None:
        self._told.moved(self, self._member_of[tap])
        self._look()

    def _ended(self, flight: Flight, ending: Ending, now_ns: int) -> None:
        self._told.ended(self._passages.ended(flight), ending, now_ns)

    def _look(self, _: object = None) -> None:
        """See whether everything has been tried."""
        channel = self._channel
        if self.settled or channel is None:
            return
        states = {tap.state for tap in self._taps}
        waiting = {Connectivity.IDLE, Connectivity.CONNECTING} if self.policy.eager else {Connectivity.CONNECTING}
        reached = channel.state in (Connectivity.READY, Connectivity.TRANSIENT_FAILURE)
        if self.policy.lazy_pick or (reached and not states & waiting):
            self._settle()

    def _settle(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        if not self.settled:
            self.settled = True
            self._told.settled(self)

    def expire(self, now_ns: int) -> None:
        """End every call whose deadline has passed."""
        if self._channel is not None:
            self._channel.flights.expire(now_ns)

    def end_all(self, reply: Reply) -> None:
        """End every call with this reply."""
        if self._channel is not None:
            self._channel.flights.end_all(reply)

    async def aclose(self) -> None:
        """Close the channel, then its taps."""
        self.settled = True
        self._opening.cancel()
        if self._limit is not None:
            self._limit.cancel()
        if self._channel is not None:
            await self._channel.aclose()
        for tap in self._taps:
            await tap.aclose()


def _arguments(policy: LbPolicy, options: ConnectionOptions, request: Request) -> Arguments:
    """The channel's, which leave a tap the time to give up on its backend first: it can say why."""
    patient = replace(options, connect_timeout_s=options.connect_timeout_s + _MORE_S)
    return [*arguments(patient, request), ("grpc.service_config", policy.service_config())]
