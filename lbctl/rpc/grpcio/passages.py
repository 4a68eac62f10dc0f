"""Calls on their way through a line: each has a number, which a tap reads as the call passes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lbctl.rpc.grpcio.calls import Flight
from lbctl.rpc.grpcio.tickets import Ticket

if TYPE_CHECKING:
    from lbctl.rpc.grpcio.member import Member

_REMEMBERED: Final = 10_000


@dataclass(slots=True, eq=False)
class Passage:
    """One call on its way: in whose name it was handed over, and where it was seen last."""

    ticket: Ticket
    flight: Flight
    member: Member | None = None


class Passages:
    """Which call a number stands for, until grpcio is done with the call and no tap can see it any more."""

    def __init__(self) -> None:
        self._passages: dict[int, Passage] = {}
        self._number_of: dict[Flight, int] = {}  # until the call's end
        self._cut: deque[int] = deque()  # calls that were ended before any tap saw them

    def add(self, number: int, passage: Passage) -> None:
        """A call was handed over with this number."""
        flight = passage.flight
        assert flight.task is not None
        flight.task.add_done_callback(lambda _: self._forget(number, passage))
        self._passages[number] = passage
        self._number_of[flight] = number

    def seen(self, number: int) -> Passage | None:
        """The call that a tap has seen; None for a number that stands for none."""
        passage = self._passages.get(number)
        if passage is not None and passage.flight.cut:
            del self._passages[number]
        return passage

    def ended(self, flight: Flight) -> Passage:
        """The call that has ended."""
        return self._passages[self._number_of.pop(flight)]

    def _forget(self, number: int, passage: Passage) -> None:
        """A call is over for grpcio too; one that we cut off may still pass a tap."""
        if passage.member is not None or not passage.flight.cut:
            self._passages.pop(number, None)
            return
        self._cut.append(number)
        if len(self._cut) > _REMEMBERED:
            self._passages.pop(self._cut.popleft(), None)
