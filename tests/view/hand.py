"""Controls that remember what they were told, for views of invented runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from lbctl.load.controls import Question

Shown = TypeVar("Shown", bound=Any)  # a dataclass that says whether the run is paused


class Registry:
    """A registry that asks what it is told to ask."""

    def __init__(self, calls: list[str]) -> None:
        self.question: Question | None = None
        self.busy = ""
        self.on_news: Callable[[], None] = lambda: None
        self.calls = calls

    def turn(self, address: str) -> None:
        self.calls.append(f"turn {address}")

    def weigh(self, address: str, weight: int) -> None:
        self.calls.append(f"weigh {address} {weight}")

    def deregister(self, address: str) -> None:
        self.calls.append(f"deregister {address}")

    def answer(self, *, yes: bool) -> None:
        self.question = None
        self.calls.append("yes" if yes else "no")


class Hand(Generic[Shown]):
    """What may be done with any run; ``now`` is what is shown of it."""

    def __init__(self, now: Shown) -> None:
        self.now = now
        self.calls: list[str] = []
        self.registry = Registry(self.calls)

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
