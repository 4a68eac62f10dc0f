"""What a person at the screen can do to a run or a watch while it is going on. None of it may block."""

from __future__ import annotations

from typing import Protocol


class Controls(Protocol):
    """The hand on a running load. Each call takes effect at once and leaves an event where it changes anything."""

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
