"""When the calls of an open loop are due. Nothing here knows a clock: times are nanoseconds of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Pacer(Protocol):
    """A schedule. Calls are numbered from 0; times count from the moment call 0 is due, pauses left out."""

    @property
    def rps(self) -> float:
        """The rate, for people."""
        ...

    def due_ns(self, number: int) -> int:
        """When that call is due: never before the call ahead of it. Asked for rising numbers only."""
        ...

    def count(self, number: int, end_ns: int) -> int:
        """How many calls from that one on are due before the end."""
        ...

    def scaled(self, factor: float, number: int, now_ns: int) -> Pacer:
        """The schedule at ``factor`` times the rate from now on; ``number`` is the next call, due later than now."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant rate: call ``number`` is due at ``at_ns``, and each one after it 1/rps s after the one before."""

    rps: float
    number: int = 0
    at_ns: int = 0

    def due_ns(self, number: int) -> int:
        return self.at_ns + int((number - self.number) * 1e9 / self.rps)

    def count(self, number: int, end_ns: int) -> int:
        after = max(number, self.number + int((end_ns - self.at_ns) * self.rps / 1e9))
        while self.due_ns(after) < end_ns:  # where fractions were cut
            after += 1
        return after - number

    def scaled(self, factor: float, number: int, now_ns: int) -> Constant:
        # What is left of the gap is passed through at the new rate: nothing bunches up and nothing is left out.
        rps = float(f"{self.rps * factor:.4g}")
        left_ns = max(0, self.due_ns(number) - now_ns)
        return Constant(rps, number, now_ns + int(left_ns * self.rps / rps))
