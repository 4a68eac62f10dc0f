"""A picker that explains one pick and is out of the way then: the hot path never asks whether to explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Law, Picker, Why

Explained: TypeAlias = Callable[[Peer, Call, Why], None]


class Asked:
    """Who wants to know, and which pick: ``left`` are to be made until then, that one included; 0 when it was."""

    __slots__ = ("explained", "left")

    def __init__(self, explained: Explained, left: int) -> None:
        self.explained = explained
        self.left = left


class Explaining:
    """Stands before a picker, and counts, until the pick was made that was asked for; ``after`` takes it away then."""

    def __init__(self, picker: Picker, asked: Asked, after: Callable[[], None]) -> None:
        self._picker = picker
        self._asked = asked
        self._after = after

    def pick(self, call: Call) -> Peer:
        """The pick that was asked for with its reasons, all others plain: also to who still holds this picker."""
        asked = self._asked
        if asked.left != 1:
            asked.left -= asked.left > 0
            return self._picker.pick(call)
        asked.left = 0
        self._after()
        peer, why = self._picker.why(call)
        asked.explained(peer, call, why)
        return peer

    def why(self, call: Call) -> tuple[Peer, Why]:
        return self._picker.why(call)

    def law(self) -> Law:
        return self._picker.law()

    def retire(self) -> None:
        self._picker.retire()
