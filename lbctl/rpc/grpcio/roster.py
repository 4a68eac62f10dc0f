"""Whom gRPC's balancer is to have on its list, and which of its policies it is to follow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lbctl.rpc.grpcio.policies import LB_POLICIES, LbPolicy
from lbctl.rpc.grpcio.tickets import Ticket, Tickets
from lbctl.rpc.transport import Connectivity

if TYPE_CHECKING:
    from lbctl.rpc.grpcio.member import Member


class Roster:
    """The listed backends, but for those that the picker in force leaves out; ``changed`` is told when that changes.

    ``peer`` is what pickers return. ``recheck``: since the last ``check`` the picker or a backend's state has changed.
    """

    def __init__(self, policy: str, peer: object, tickets: Tickets, changed: Callable[[], None]) -> None:
        self.recheck = False
        self._policy = policy
        self._peer = peer
        self._tickets = tickets
        self._changed = changed
        self._members: list[Member] = []
        self._unwanted: frozenset[Member] = frozenset()  # listed and ready, and not to be picked
        self._allowed: frozenset[object] = frozenset()
        self._telling: asyncio.Handle | None = None
        self._closed = False

    @property
    def policy(self) -> LbPolicy:
        """The one to follow."""
        return LB_POLICIES[self._policy]

    @property
    def wanted(self) -> tuple[Member, ...]:
        """Who is to be on gRPC's list."""
        return tuple(member for member in self._members if member not in self._unwanted)

    def join(self, member: Member) -> None:
        """A backend is listed from now on."""
        if member not in self._members:
            self._members.append(member)
            self._tell_soon()

    def leave(self, member: Member) -> None:
        """A backend is not listed any more."""
        if member in self._members:
            self._members.remove(member)
            self._tell_soon()

    def begin(self, ticket: Ticket, members: Sequence[object]) -> object:
        """From here on calls are handed over in this picker's name; gRPC may pick these members, and idle ones."""
        self._tickets.current = ticket
        self._allowed = frozenset(members)
        self.recheck = True
        return self._peer

    def check(self) -> None:
        """Leave out the backends that are ready and not to be picked: drained by hand, or disabled."""
        if not self.recheck:
            return
        self.recheck = False
        ticket = self._tickets.current
        assert ticket is not None
        ready = {member for member in self._members if member.state is Connectivity.READY}
        unwanted = frozenset(ready - self._allowed)
        if unwanted != self._unwanted or ticket.policy != self._policy:
            self._unwanted, self._policy = unwanted, ticket.policy
            self._tell()

    def close(self) -> None:
        """Tell of no change any more."""
        self._closed = True
        self._stop_telling()

    def _tell_soon(self) -> None:
        """In the next turn: a snapshot of the registry adds its backends one by one."""
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._stop_telling()
        if not self._closed:
            self._changed()

    def _stop_telling(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None
