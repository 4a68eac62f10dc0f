"""Health by grpc.health.v1: what counts as healthy, and how many answers it takes to believe it.

    answer                                   with Watch                         with Check, every interval
    SERVING                                  in the rotation at once            after ``successes`` in a row
    NOT_SERVING, UNKNOWN, SERVICE_UNKNOWN    out at once                        out after ``failures`` in a row
    another error, or none in time           out, and asked again               counts as a failure
    UNIMPLEMENTED                            Check is used instead              in the rotation, and asked no more

Until the first answer a backend is not ready. pick_first alone ignores all this, as it does in gRPC.
"""

from __future__ import annotations

from dataclasses import dataclass

from lbctl.balance.policies.options import option


@dataclass(frozen=True, slots=True)
class HealthOptions:
    """What is asked, how, and how often."""

    service: str = option("", "the service whose health is asked for; empty is the server as a whole")
    mode: str = option("watch", "watch, with check where a server has no Watch; or check", choices=("watch", "check"))
    interval: float = option(10.0, "check: time between two checks", above=0, unit="duration")
    timeout: float = option(3.0, "how long an answer may take", above=0, unit="duration")
    failures: int = option(1, "check: failures in a row that take a backend out", least=1)
    successes: int = option(1, "check: successes in a row that bring it back", least=1)


class Pulse:
    """Turns the answers of checks into a state: None before the first, which is believed at once."""

    __slots__ = ("_failures", "_in_a_row", "_successes", "healthy")

    def __init__(self, options: HealthOptions) -> None:
        self.healthy: bool | None = None
        self._failures = options.failures
        self._successes = options.successes
        self._in_a_row = 0  # answers that contradict the state

    def beat(self, good: bool) -> None:
        """Take the answer of one check."""
        if self.healthy is None:
            self.healthy = good
        elif good == self.healthy:
            self._in_a_row = 0
        else:
            self._in_a_row += 1
            if self._in_a_row >= (self._successes if good else self._failures):
                self.healthy, self._in_a_row = good, 0
