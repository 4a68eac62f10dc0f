"""What a person at the screen can do to a run or a watch while it is going on. None of it may block."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class Question(NamedTuple):
    """What is asked before something is written, and what there is to know about it."""

    ask: str
    about: str


class RegistryControls(Protocol):
    """The hand on the registry: one change at a time, written once the question about it was answered with yes.

    What became of each is an event, also that nothing may be written.
    """

    on_news: Callable[[], None]  # called where there is another question, or something else to wait for

    @property
    def question(self) -> Question | None:
        """What waits for an answer."""
        ...

    @property
    def busy(self) -> str:
        """What is being waited for, in words; "" for nothing."""
        ...

    def turn(self, address: str) -> None:
        """Take an instance out of the rotation of every client, or put it back where it is out."""
        ...

    def weigh(self, address: str, weight: int) -> None:
        """Give an instance another weight."""
        ...

    def deregister(self, address: str) -> None:
        """Delete the keys of an address."""
        ...

    def answer(self, *, yes: bool) -> None:
        """Write what was asked about, or do not."""
        ...


class Controls(Protocol):
    """The hand on a running load. Each call takes effect at once and leaves an event where it changes anything."""

    @property
    def registry(self) -> RegistryControls: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def stop(self) -> None:
        """Send nothing more, let what is in flight finish."""
        ...

    def abort(self) -> None:
        """Cancel what is in flight and end now."""
        ...

    def scale(self, factor: float) -> None:
        """Multiply the rate if the load has one, otherwise the concurrency (never below 1)."""
        ...

    def next_policy(self, step: int) -> None:
        """Go ``step`` places through the policies, around the end; counters start a new epoch."""
        ...

    def drain(self, key: str, address: str) -> None:
        """Take the backend out of this client's rotation, or put it back."""
        ...

    def recount(self) -> None:
        """Begin anew with all counters at 0, once nothing is in flight."""
        ...

    def log(self, text: str) -> None:
        """Note one line that something in the process wrote to standard error."""
        ...


class WatchControls(Protocol):
    """The hand on a watch."""

    @property
    def registry(self) -> RegistryControls: ...

    def stop(self) -> None: ...

    def check(self) -> None:
        """Probe every instance's health now."""
        ...

    def log(self, text: str) -> None:
        """Note one line that something in the process wrote to standard error."""
        ...


class CompareControls(Protocol):
    """The hand on a comparison of policies."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def stop(self) -> None:
        """Let the run that goes on come to its end, and begin no other."""
        ...

    def abort(self) -> None:
        """End at once; the run that goes on does not count."""
        ...

    def skip(self) -> None:
        """Leave the run that goes on out, and go on with the next."""
        ...

    def log(self, text: str) -> None:
        """Note one line that something in the process wrote to standard error."""
        ...
