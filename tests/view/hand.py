"""Controls that remember what they were told, for views of invented runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generic, TypeVar

Shown = TypeVar("Shown", bound=Any)  # a dataclass that says whether the run is paused


class Hand(Generic[Shown]):
    """What may be done with any run; ``now`` is what is shown of it."""

    def __init__(self, now: Shown) -> None:
        self.now = now
        self.calls: list[str] = []

    def pause(self) -> None:
        self.calls.append("pause")
        self.now = replace(self.now, paused=True)

    def resume(self) -> None:
        self.calls.append("resume")
        self.now = replace(self.now, paused=False)

    def stop(self) -> None:
        self.calls.append("stop")

    def abort(self) -> None:
        self.calls.append("abort")
