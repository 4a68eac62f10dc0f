"""nginx's least_time last_byte: times in milliseconds, averaged, rounded up, and weighed with calls in flight.

average    the new one if it was 0, else 5 % of the new one and 95 % of the old, rounded
time       average 0..19 ms -> 20, 20..39 -> 40 ...; above 5000 ms: 5000, so that only calls in flight count there
estimate   time x (calls in flight + 1), compared per weight; equals take turns by smooth weighted round robin
"""

from __future__ import annotations

from typing import Final

from lbctl.balance.peer import Peer
from lbctl.balance.penalty import Kept

_GREATEST_MS: Final = 5000
_STEP_MS: Final = 20
_WIDEST: Final = 64  # bits: a time that was halved as often is 0


def averaged(average_ms: int, sample_ms: int) -> int:
    """Return the average with one more sample."""
    return (sample_ms * 5 + average_ms * 95 + 50) // 100 if average_ms else sample_ms


def eta_ms(time_ms: int, in_flight: int) -> int:
    """Return how long a backend should need for what it has and one more call."""
    time_ms = _GREATEST_MS if time_ms > _GREATEST_MS else time_ms + _STEP_MS - time_ms % _STEP_MS
    return time_ms * (1 + in_flight)


class Node(Kept):
    """What is known of one peer, in nginx's units: milliseconds, and whole seconds of the clock."""

    __slots__ = ("_age_ms", "_changed_ms", "_late_ms", "_unanswered", "average_ms", "checked_s")

    def __init__(self) -> None:
        super().__init__()
        self.average_ms = 0
        self.checked_s = 0
        self._unanswered = 0  # calls
        self._age_ms = 0  # of all of them, when their number last changed
        self._changed_ms = 0
        self._late_ms = 0  # the average of their mean age

    def time_ms(self, now_ms: int, timeout_s: int) -> int:
        """Return the time that counts now: halved while nobody looked, and no less than what is awaited."""
        time_ms, away_s = self.average_ms, now_ms // 1000 - self.checked_s
        if away_s > timeout_s:
            time_ms >>= min(away_s // (timeout_s + 1), _WIDEST)
        return max(time_ms, self._late_ms) if self._unanswered else time_ms

    def choose(self, now_s: int, timeout_s: int) -> None:
        """It is given a call, so it is looked at."""
        if now_s - self.checked_s > timeout_s:
            self.checked_s = now_s

    def await_answers(self, peer: Peer, now_ms: int) -> None:
        """Take the age of unanswered calls into account; one that was given back is never told."""
        self._unanswered = min(self._unanswered, peer.in_flight)
        if self._unanswered:
            age_ms = self._age_ms // self._unanswered + now_ms - self._changed_ms
            self._late_ms = averaged(self._late_ms, age_ms)

    def begin(self, now_ms: int) -> None:
        """A call begins that is to be answered."""
        if self._unanswered:
            self._age_ms += (now_ms - self._changed_ms) * self._unanswered
        else:
            self._age_ms = 0
        self._changed_ms = now_ms
        self._unanswered += 1

    def answer(self, now_ms: int, took_ms: int) -> None:
        """One of them is answered."""
        if self._unanswered:
            self._age_ms += (now_ms - self._changed_ms) * self._unanswered - took_ms
            self._changed_ms = now_ms
            self._unanswered -= 1
