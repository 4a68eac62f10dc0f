"""Where calls wait until there is a connection to take."""

from __future__ import annotations

from lbctl.clock import Clock
from lbctl.rpc.transport import Listener, Transport
from lbctl.wire.request import Request
from lbctl.wire.state import Call, Wait


class Parking:
    """Calls of one transport that wait for a connection: each one is taken from here, or returned to its user, once."""

    def __init__(self, transport: Transport, listener: Listener, clock: Clock) -> None:
        self._transport = transport
        self._listener = listener
        self._now = clock.now_ns
        self._parked: list[tuple[Call, Request | None]] = []

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, call: Call, request: Request | None = None) -> None:
        """Let a call wait; without a request it is the run's."""
        call.waited_for = Wait.CONNECTION
        self._parked.append((call, request))

    def forget(self, call: Call) -> bool:
        """Take one call away that nobody wants to hear of again; whether it was here."""
        kept = [(parked, request) for parked, request in self._parked if parked is not call]
        found = len(kept) < len(self._parked)
        self._parked = kept
        return found

    def take_all(self) -> list[tuple[Call, Request | None]]:
        """There is a connection: nobody waits here any more."""
        parked, self._parked = self._parked, []
        return parked

    def return_late(self, now_ns: int) -> None:
        """Return those whose deadline has passed, for their user to end."""
        late = [call for call, _ in self._parked if call.deadline_ns <= now_ns]
        if late:
            self._parked = [(call, request) for call, request in self._parked if call.deadline_ns > now_ns]
            self._listener.returned(self._transport, late, now_ns)

    def return_all(self) -> None:
        """Return everybody who waits: to go elsewhere, or to be ended."""
        calls = [call for call, _ in self.take_all()]
        if calls:
            self._listener.returned(self._transport, calls, self._now())
