"""Signals that end a run: the first asks for a graceful end, the second for an immediate one, the third insists."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType

from lbctl.commands.heard import Handling
from lbctl.leaving import leave_at_once

Action = Callable[[], object]


def _nothing() -> None:
    """What a signal does by itself."""


class Interrupts(Handling):
    """Handles the signals while the block lasts; ``first`` is the number of the first one that came.

    What the first and the second one do is set with ``mean``; until then, and after ``mean`` without arguments, they
    are only remembered. Where one came, they are counted on after the block: what was measured is still to be closed,
    written and shown, and whoever presses twice in a hurry is to see it.
    """

    def __init__(self) -> None:
        super().__init__(self._hear, self._hear_later)
        self._actions: tuple[Action, Action] = (_nothing, _nothing)
        self._heard = 0
        self.cut_short = False  # the second one did what it means: what was in flight is no part of the result

    def mean(self, first: Action = _nothing, second: Action = _nothing) -> None:
        """Say what the first signal does from now on, and what the second."""
        self._actions = (first, second)

    def _hear_later(self, number: int, frame: FrameType | None) -> None:
        self.mean()
        self._hear(number)

    def _hear(self, number: int) -> None:
        if self._heard == len(self._actions):
            leave_at_once(128 + number)  # something does not end
        action = self._actions[self._heard]
        self._heard += 1
        self.cut_short = self._heard == len(self._actions) and action is not _nothing
        action()
