"""Breakers before the pick: they turn calls of the whole service away when too many of the last ones failed.

    breaker       turns a call away with probability                                 of the last
    sre           (requests - k x accepted) / (requests + 1), never below 0          2 minutes (k 2)
    kratos        the same once there were 20 requests                               3 s in 10 buckets (k 2)
    gozero        (requests - 5 - w x accepted) / (requests + 1), see below          10 s in 40 buckets
    max-requests  1 while as many attempts are under way as it allows (gRPC, Envoy)  -

Requests include the calls that were turned away. That makes a cliff: with k = 2 nothing is turned away while half of
the calls succeed; below that almost everything is, and about 1 / (1 - k x success rate) calls a window get through.

gozero: w falls from 1.5 to 1.1 with the buckets that had failures since the last one with a success; the probability
is scaled down by the buckets that had successes since the last one with a failure; and one call a second passes
whatever it says.

max-requests counts attempts, since a retry or a hedge is a request to a backend: it drops them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from lbctl.balance.guards.base import codes_of, seconds
from lbctl.balance.guards.window import Window
from lbctl.balance.policies.options import option
from lbctl.model import Code

_FORCED_NS: Final = 1_000_000_000  # go-zero's time between two calls that pass in any case
_PROTECTED: Final = 5  # requests that go-zero does not count against a service
_LEAST_K: Final = 1.1


@dataclass(frozen=True, slots=True)
class SreOptions:
    """Google's client-side throttling; its backends say RESOURCE_EXHAUSTED or UNAVAILABLE when they have too much."""

    k: float = option(2.0, "requests allowed for each that was accepted", least=1, most=1000)
    window: float = option(120.0, "how far back is looked", above=0, unit="duration")
    buckets: int = option(120, "parts of the window", least=1, most=10_000)
    minimum: int = option(0, "requests in the window below which none is turned away", least=0)
    codes: str = option("UNAVAILABLE+RESOURCE_EXHAUSTED+DEADLINE_EXCEEDED", "codes that count as failures, joined by +")

    def __post_init__(self) -> None:
        codes_of(self.codes)


@dataclass(frozen=True, slots=True)
class KratosOptions(SreOptions):
    """Kratos' SRE breaker."""

    window: float = option(3.0, "how far back is looked", above=0, unit="duration")
    buckets: int = option(10, "parts of the window", least=1, most=10_000)
    minimum: int = option(20, "requests in the window below which none is turned away", least=0)
    codes: str = option("UNAVAILABLE+DEADLINE_EXCEEDED+INTERNAL+UNKNOWN+DATA_LOSS", "codes that count as failures")


@dataclass(frozen=True, slots=True)
class GozeroOptions:
    """go-zero's breaker; its constants are its own."""

    codes: str = option(
        "DEADLINE_EXCEEDED+INTERNAL+UNAVAILABLE+DATA_LOSS+UNIMPLEMENTED+RESOURCE_EXHAUSTED",
        "codes that count as failures, joined by +",
    )

    def __post_init__(self) -> None:
        codes_of(self.codes)


@dataclass(frozen=True, slots=True)
class MaxRequestsOptions:
    """The circuit breaker of gRPC's xDS and of Envoy: a bound on attempts under way."""

    limit: int = option(1024, "attempts that may be under way to the whole service", least=1)


class Breaker(Protocol):
    """Admits calls or turns them away, and hears how those ended; ``each_attempt``: further attempts as well."""

    name: str
    each_attempt: bool

    def admit(self, count: int, under_way: int, now_ns: int) -> int:
        """How many of so many may go on, while so many attempts are at a backend or wait for one."""
        ...

    def ended(self, code: Code, count: int, now_ns: int) -> None: ...


class SreBreaker:
    """The rule of the SRE book; Kratos' is the same with other numbers."""

    each_attempt = False

    def __init__(self, name: str, options: SreOptions, rng: Random) -> None:
        self.name = name
        self._options = options
        self._codes = codes_of(options.codes)
        self._window = Window(options.buckets, seconds(options.window) // options.buckets)
        self._rng = rng

    def admit(self, count: int, under_way: int, now_ns: int) -> int:
        window, options = self._window, self._options
        window.advance(now_ns)
        if sre_drop(window.total, window.successes, options.k, options.minimum) <= 0:
            return count
        admitted = 0
        for _ in range(count):
            if self._rng.random() < sre_drop(window.total, window.successes, options.k, options.minimum):
                window.add(now_ns, drops=1)
            else:
                admitted += 1
        return admitted

    def ended(self, code: Code, count: int, now_ns: int) -> None:
        failed = code in self._codes
        self._window.add(now_ns, *((0, count) if failed else (count, 0)))


class GozeroBreaker:
    """go-zero's rule."""

    name = "gozero"
    each_attempt = False

    def __init__(self, options: GozeroOptions, rng: Random) -> None:
        self._codes = codes_of(options.codes)
        self._window = Window(40, 250_000_000)
        self._rng = rng
        self._passed_ns = 0  # when a call passed last that might have been turned away

    def admit(self, count: int, under_way: int, now_ns: int) -> int:
        window = self._window
        window.advance(now_ns)
        failing, working = streaks(window.oldest_first())
        return sum(self._passes(now_ns, failing, working) for _ in range(count))

    def _passes(self, now_ns: int, failing: int, working: int) -> bool:
        window = self._window
        if gozero_drop(window.total, window.successes, failing, 0) <= 0:
            return True
        forced = 0 < self._passed_ns < now_ns - _FORCED_NS
        drop = gozero_drop(window.total, window.successes, failing, working)
        if not forced and self._rng.random() < drop:
            window.add(now_ns, drops=1)
            return False
        self._passed_ns = now_ns
        return True

    def ended(self, code: Code, count: int, now_ns: int) -> None:
        failed = code in self._codes
        self._window.add(now_ns, *((0, count) if failed else (count, 0)))


class MaxRequests:
    """A bound on attempts under way."""

    name = "max-requests"
    each_attempt = True

    def __init__(self, options: MaxRequestsOptions) -> None:
        self._limit = options.limit

    def admit(self, count: int, under_way: int, now_ns: int) -> int:
        return min(count, max(0, self._limit - under_way))

    def ended(self, code: Code, count: int, now_ns: int) -> None:
        """It goes by what is under way."""


def sre_drop(total: int, accepted: int, k: float, minimum: int = 0) -> float:
    """The probability to turn a call away, 0 <= p < 1."""
    if total < minimum:
        return 0.0
    return max(0.0, (total - k * accepted) / (total + 1))


def gozero_drop(total: int, accepted: int, failing: int, working: int, buckets: int = 40) -> float:
    """The same of go-zero; ``failing`` and ``working`` as ``streaks`` counts them."""
    weight = max(_LEAST_K, 1.5 - 0.4 * failing / buckets)
    drop = (total - _PROTECTED - weight * accepted) / (total + 1)
    return max(0.0, drop) * (buckets - working) / buckets


def streaks(buckets: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Buckets with failures since the last with a success, and buckets with successes since the last with a failure."""
    failing = working = 0
    for successes, failures, _ in buckets:
        if failures:
            working = 0
        elif successes:
            working += 1
        if successes:
            failing = 0
        elif failures:
            failing += 1
    return failing, working
