"""Signals that end a run: the first asks for a graceful end, the second for an immediate one, the third insists."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType

from lbctl.commands.heard import Handling, unheard
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
        super().__init__(self._on_signal)
        self.first: int | None = None
        self._actions: tuple[Action, Action] = (_nothing, _nothing)
        self._heard = 0

    def mean(self, first: Action = _nothing, second: Action = _nothing) -> None:
        """Say what the first signal does from now on, and what the second."""
        self._actions = (first, second)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None:
        with unheard(self.handled):
            done = super().__exit__(kind, error, trace)
            if self.first is not None:
                for number in self.handled:
                    signal.signal(number, self._on_later_signal)
        return done

    def _on_later_signal(self, number: int, frame: FrameType | None) -> None:
        self.mean()
        self._on_signal(number)

    def _on_signal(self, number: int) -> None:
        if self.first is None:
            self.first = number
        if self._heard == len(self._actions):
            leave_at_once(128 + number)  # something does not end
        action = self._actions[self._heard]
        self._heard += 1
        action()
