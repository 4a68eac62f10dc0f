"""In whose name calls are handed over, and which of them that picker may not be held to.

gRPC's balancer takes turns of its own; where it may have begun them anew, nobody can say whose turn it was.
"""

from __future__ import annotations

from typing import Final, Protocol

from lbctl.clock import Clock

_UNSURE_NS: Final = 300_000_000  # how long gRPC's picker may lag behind what a tap has seen, on a busy machine


class Ticket(Protocol):
    """In whose name calls are handed over: one picker's. ``loose`` counts those it may not be held to."""

    loose: int

    @property
    def policy(self) -> str: ...

    def loosen(self) -> None:
        """Nor to those that are under way now."""
        ...


class Tickets:
    """Every call goes in the name of the picker that is in force; ``current`` is None until there is one."""

    def __init__(self, clock: Clock) -> None:
        self.current: Ticket | None = None
        self._now = clock.now_ns
        self._unsure_until_ns = 0

    def take(self) -> Ticket:
        """The picker in whose name one call is handed over now."""
        ticket = self.current
        assert ticket is not None
        if self._unsure_until_ns and self._now() < self._unsure_until_ns:
            ticket.loose += 1
        return ticket

    def loosen(self) -> None:
        """The balancer of gRPC may have begun its turns anew."""
        if self.current is not None:
            self.current.loosen()

    def doubt(self, before: int) -> None:
        """It may do so at any moment from now on, for a while, or has done so before the last ``before`` calls."""
        self._unsure_until_ns = self._now() + _UNSURE_NS
        self.loosen()
        if self.current is not None:
            self.current.loose += before
