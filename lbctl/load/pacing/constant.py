"""One rate, and the same gap after every call: the schedule of most runs, and the one that costs least."""

from __future__ import annotations

from dataclasses import dataclass

from lbctl.load.pacing.base import rate_words, rounded


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant rate: call ``number`` is due at ``at_ns``, and each one after it 1/rps s after the one before."""

    rps: float
    number: int = 0
    at_ns: int = 0

    def rate(self, at_ns: int) -> float:
        return self.rps

    def words(self, at_ns: int) -> tuple[str, str]:
        return rate_words(self.rps)

    def due_ns(self, number: int) -> int:
        return self.at_ns + int((number - self.number) * 1e9 / self.rps)

    def count(self, number: int, end_ns: int) -> int:
        after = max(number, self.number + int((end_ns - self.at_ns) * self.rps / 1e9))
        while self.due_ns(after) < end_ns:  # where fractions were cut
            after += 1
        return after - number

    def scaled(self, factor: float, number: int, now_ns: int) -> Constant:
        # What is left of the gap is passed through at the new rate: nothing bunches up and nothing is left out.
        rps = rounded(self.rps * factor)
        left_ns = max(0, self.due_ns(number) - now_ns)
        return Constant(rps, number, now_ns + int(left_ns * self.rps / rps))
