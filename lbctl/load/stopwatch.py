"""The time of a run: from its first call to its end, standing still while it is paused."""

from __future__ import annotations

from lbctl.clock import Clock


class Stopwatch:
    """Seconds of the run; pauses are left out, so that rates are those of the time in which calls were issued."""

    __slots__ = ("_began_ns", "_clock", "_paused_ns", "_since_ns", "_still_ns")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ns = 0
        self._paused_ns = 0
        self._since_ns = 0  # when the pause began that is going on, 0 without one
        self._still_ns = 0  # when it was stopped

    @property
    def began(self) -> bool:
        return self._began_ns > 0

    @property
    def was_paused(self) -> bool:
        return bool(self._paused_ns or self._since_ns)

    def start(self) -> None:
        self._began_ns = self._clock.now_ns()

    def restart(self) -> None:
        """Run from 0 again."""
        self._paused_ns = self._since_ns = self._still_ns = 0
        self.start()

    def reset(self) -> None:
        """Be as before the start."""
        self._began_ns = self._paused_ns = self._since_ns = self._still_ns = 0

    def pause(self) -> None:
        """Stand still, if it is running."""
        if self._began_ns and not self._since_ns and not self._still_ns:
            self._since_ns = self._clock.now_ns()

    def resume(self) -> None:
        """Run on, if it was paused."""
        if self._since_ns and not self._still_ns:
            self._paused_ns += self._clock.now_ns() - self._since_ns
            self._since_ns = 0

    def stop(self) -> None:
        """Stand still for ever."""
        if self._began_ns and not self._still_ns:
            self._still_ns = self._since_ns or self._clock.now_ns()

    def elapsed_s(self) -> float:
        """Seconds since the start without pauses; 0 before it."""
        if not self._began_ns:
            return 0.0
        now_ns = self._still_ns or self._since_ns or self._clock.now_ns()
        return (now_ns - self._began_ns - self._paused_ns) / 1e9
