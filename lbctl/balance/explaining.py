"""A picker that explains its first pick and is out of the way then: the hot path never asks whether to explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import Call, Law, Picker, Why

Explained: TypeAlias = Callable[[Peer, Call, Why], None]


class Explaining:
    """Stands before a picker; ``after`` puts that one in its place."""

    def __init__(self, picker: Picker, explained: Explained, after: Callable[[Picker], None]) -> None:
        self._picker = picker
        self._explained: Explained | None = explained
        self._after = after

    def pick(self, call: Call) -> Peer:
        """The first pick with its reasons; who still holds this picker then gets the plain ones."""
        explained = self._explained
        if explained is None:
            return self._picker.pick(call)
        self._explained = None
        self._after(self._picker)
        peer, why = self._picker.why(call)
        explained(peer, call, why)
        return peer

    def why(self, call: Call) -> tuple[Peer, Why]:
        return self._picker.why(call)

    def law(self) -> Law:
        return self._picker.law()

    def retire(self) -> None:
        self._picker.retire()
