"""What every schedule does. Nothing here knows a clock: times are nanoseconds of the run."""

from __future__ import annotations

from typing import Final, Protocol

NEVER_NS: Final = 1 << 62


class Pacer(Protocol):
    """A schedule. Calls are numbered from 0; times count from the run's start, pauses left out."""

    def rate(self, at_ns: int) -> float | None:
        """The rate at that time, in calls/s; None where nobody planned one."""
        ...

    def words(self, at_ns: int) -> tuple[str, str]:
        """The pace at that time, for people: a noun and a figure, as ``rate`` and ``500/s``."""
        ...

    def due_ns(self, number: int) -> int:
        """When that call is due, NEVER_NS for never: never before the call ahead of it.

        Asked for numbers that do not fall; several times for the same.
        """
        ...

    def count(self, number: int, end_ns: int) -> int:
        """How many calls from that one on are due before the end. Nothing may be asked afterwards."""
        ...

    def scaled(self, factor: float, number: int, now_ns: int) -> Pacer:
        """The schedule at ``factor`` times the rate from now on; ``number`` is the next call, due later than now."""
        ...


def rate_words(rps: float) -> tuple[str, str]:
    """A rate as it is told."""
    return "rate", f"{rounded(rps):,g}/s"


def rounded(rps: float) -> float:
    """A rate in four digits, as it is shown."""
    return float(f"{rps:.4g}")


def counted(pacer: Pacer, number: int, end_ns: int) -> int:
    """``Pacer.count`` by looking at each call."""
    after = number
    while pacer.due_ns(after) < end_ns:
        after += 1
    return after - number
