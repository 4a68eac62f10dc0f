"""How much load, and until when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """A closed loop: ``concurrency`` calls are in flight until ``requests`` were sent or ``duration_s`` has passed.

    At least one of the two limits is set. ``timeout_s`` is each call's deadline, 0 for none.
    """

    concurrency: int
    requests: int | None
    duration_s: float | None
    timeout_s: float

    @property
    def timeout_ns(self) -> int:
        return int(self.timeout_s * 1e9)
