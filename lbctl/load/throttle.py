"""What keeps retries from making an overload worse: gRPC's tokens, and Finagle's budget.

retryThrottling {"maxTokens": 10, "tokenRatio": 0.1}: allowed while more than 5 are left
event       start  fails  fails  fails  fails  fails    11 successes
tokens      10     9      8      7      6      5        6.1
allowed            yes    yes    yes    yes    no       (a failure: 5.1, yes)

--retry-budget 20%,10/s,10s: within 10 s as many retries as 20 % of the calls, and 10 a second besides
calls       1,000 in the last 10 s
retries     0.2 x 1,000 + 10 x 10 = 300
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lbctl.balance.service_config import Throttling

_TOKEN: Final = 1000  # all counts are in thousandths
_SLICES: Final = 10


class Throttle:
    """The tokens of one run, which is one server name: whole thousandths, so that nothing is lost to rounding."""

    def __init__(self, throttling: Throttling) -> None:
        self.tokens = throttling.max_tokens
        self._most = throttling.max_tokens
        self._ratio = throttling.ratio

    @property
    def allows(self) -> bool:
        """Whether more than half of the tokens are left."""
        return 2 * self.tokens > self._most

    def failed(self) -> None:
        """An attempt failed in a way that would be retried, or the server said not to."""
        self.tokens = max(0, self.tokens - _TOKEN)

    def succeeded(self, calls: int = 1) -> None:
        """Calls ended OK."""
        self.tokens = min(self._most, self.tokens + calls * self._ratio)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a budget allows: a part 0..1 of all calls within ``ttl_s``, and a number a second in any case."""

    part: float = 0.2
    least_per_s: float = 10.0
    ttl_s: float = 10.0


class Budget:
    """A leaky bucket: what calls pay in and retries take out counts for ``ttl_s``, in ten slices of it."""

    def __init__(self, allowance: Allowance) -> None:
        self._price = int(_TOKEN / allowance.part) if allowance.part else 1
        self._deposit = _TOKEN if allowance.part else 0
        self._reserve = int(allowance.least_per_s * allowance.ttl_s) * self._price
        self._slice_ns = max(1, int(allowance.ttl_s * 1e9) // _SLICES)
        self._slices = [0] * _SLICES
        self._at = 0  # the number of the slice written last

    def deposit(self, calls: int, now_ns: int) -> None:
        """So many calls were issued."""
        self._slices[self._slice(now_ns)] += calls * self._deposit

    def withdraw(self, now_ns: int) -> bool:
        """Pay for one retry, if there is enough left."""
        current = self._slice(now_ns)
        if self._reserve + sum(self._slices) < self._price:
            return False
        self._slices[current] -= self._price
        return True

    def left(self, now_ns: int) -> int:
        """How many retries could be paid for now."""
        self._slice(now_ns)
        return max(0, (self._reserve + sum(self._slices)) // self._price)

    def _slice(self, now_ns: int) -> int:
        """The slice of this moment; those that are older than all ten are emptied."""
        number = now_ns // self._slice_ns
        for gone in range(max(self._at + 1, number - _SLICES + 1), number + 1):
            self._slices[gone % _SLICES] = 0
        self._at = max(self._at, number)
        return self._at % _SLICES
