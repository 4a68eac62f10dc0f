"""A backend as one channel over all of them sees it, and who is told which calls go there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lbctl.model import Endpoint, Reply
from lbctl.rpc.grpcio.calls import Basket
from lbctl.rpc.grpcio.settings import metadata_of
from lbctl.rpc.grpcio.tickets import Ticket
from lbctl.rpc.options import Secure
from lbctl.rpc.transport import Connectivity, Gauges, Listener
from lbctl.wire.request import Headers, Request
from lbctl.wire.state import Call

if TYPE_CHECKING:
    from lbctl.rpc.grpcio.shared import SharedChannel


class Seeing(Listener, Protocol):
    """A member's listener is told, too, of each call that gRPC sent there."""

    def placed(self, ticket: Any, *, again: bool, late: bool) -> None:  # noqa: ANN401  # the picker's own object
        """A call handed over with this ticket goes to this backend.

        ``again``: it was elsewhere before; ``late``: it has ended already, as one of no backend.
        """
        ...

    def moved_on(self) -> None:
        """A call that went to this backend was sent to another by gRPC itself."""
        ...


class Member:
    """One backend behind a shared channel. It carries no calls of its own, they come through its tap."""

    def __init__(
        self, shared: SharedChannel, endpoint: Endpoint, request: Request, listener: Seeing, secure: Secure | None
    ) -> None:
        metadata_of(request)  # refuses what grpcio does not send
        self.endpoint = endpoint
        self.request = request
        self.listener = listener
        self.secure = secure
        self.state = Connectivity.IDLE
        self.reason = ""
        self.in_flight = 0
        self.baskets = Basket()
        self.past: Counter[str] = Counter()  # of lines that are closed
        self._roster = shared.roster
        self._lines = shared.lines

    def begin(self, ticket: Ticket, members: Sequence[object]) -> Any:  # noqa: ANN401  # what the shared one was given
        """A picker begins; returns the peer that stands for whatever gRPC picks."""
        return self._roster.begin(ticket, members)

    def send(self, call: Call) -> None:
        raise AssertionError("gRPC picks")

    def enqueue(self, call: Call, request: Request | None = None) -> None:
        raise AssertionError("gRPC picks")

    def post(self, call: Call, request: Request, messages: tuple[bytes, ...], own: Headers) -> None:
        raise AssertionError("gRPC picks")

    def connect(self) -> None:
        """Be on the list from the next turn of the loop on."""
        self._roster.join(self)

    def expire(self, now_ns: int) -> None:
        """The shared channel looks after deadlines."""

    def abandon(self, call: Call) -> bool | None:
        """Nobody hedges where gRPC picks."""
        return None

    def cancel(self, reply: Reply) -> None:
        """The shared channel cancels."""

    def settle(self) -> None:
        """Nothing waits here."""

    def retire(self) -> None:
        """Be off the list; calls in flight end where they are."""
        self.state = Connectivity.SHUTDOWN
        self._roster.leave(self)

    @property
    def is_over(self) -> bool:
        return self.state is Connectivity.SHUTDOWN and not self.in_flight and not self._lines.taps_of(self)

    def total_counters(self) -> Counter[str]:
        """What its taps have seen."""
        return sum((tap.counters for tap in self._lines.taps_of(self)), self.past + Counter())

    def gauges(self) -> Gauges:
        return Gauges(sockets=sum(tap.sockets for tap in self._lines.taps_of(self)))

    async def aclose(self) -> None:
        """Be off the list; its connections end with the shared channel."""
        self.retire()

    def become(self, state: Connectivity, reason: str) -> None:
        """Take over what a tap says."""
        if self.state is Connectivity.SHUTDOWN or (state, reason) == (self.state, self.reason):
            return
        self.state, self.reason = state, reason
        self.listener.changed(self, state, reason)
