"""Weights that follow measurements, and do not flap: the rule of ``dynamic``, held against what was seen before.

The rule starts from a base weight, which is the one an instance had when it was first seen, not what the rule made of
it since. A weight that somebody else writes is a new base. A change is proposed when so many looks in a row point the
same way, up or down, and then it is the smallest of theirs:

    weight   looks (confirm 2)   proposed
    5        10                  5    only one look
    5        10, 9               9    both above 5: the nearer
    5        10, 5               5    the second asks for no change
    5        2, 10               5    one down, one up
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from lbctl.balance.dynamic import Thresholds, adjusted, explained


class Sample(NamedTuple):
    """The calls of one instance that ended: how many, how many were errors, and the time all others took together.

    ``trouble`` says why it could not be called.
    """

    requests: int = 0
    errors: int = 0
    ok_s: float = 0.0
    trouble: str = ""

    @property
    def mean_s(self) -> float | None:
        """The mean latency of calls that were OK: a failure is fast or slow for reasons of its own."""
        ok = self.requests - self.errors
        return self.ok_s / ok if ok > 0 else None

    def plus(self, other: Sample) -> Sample:
        """Both together; the other one is the later."""
        return Sample(self.requests + other.requests, self.errors + other.errors, self.ok_s + other.ok_s, other.trouble)


class Proposal(NamedTuple):
    """What to do with one instance's weight; ``wanted`` is what the rule says by this look alone."""

    base: int
    wanted: int
    weight: int
    why: str


class _Known:
    """What is remembered of one instance."""

    def __init__(self, base: int, weight: int, looks: int) -> None:
        self.base = base
        self.weight = weight
        self.wanted: deque[int] = deque(maxlen=looks)


class Adjuster:
    """Proposes weights, one look after the other; ``bases`` are the base weights that were given, by key."""

    def __init__(
        self, rule: Thresholds, *, confirm: int = 1, min_change: int = 1, bases: Mapping[str, int] | None = None
    ) -> None:
        self._rule = rule
        self._confirm = confirm
        self._min_change = min_change
        self._bases = dict(bases or {})
        self._known: dict[str, _Known] = {}

    def look(self, key: str, weight: int, sample: Sample) -> Proposal:
        """Propose a weight for an instance that has this one now, by what was measured."""
        known, news = self._remembered(key, weight)
        base = known.base if weight else 0  # whoever took it out of the rotation will put it back
        rule, mean_s = self._rule, sample.mean_s
        # Where no call was OK there is no latency to judge; this one is neither high nor low.
        latency_s = rule.latency_low_s if mean_s is None else mean_s
        wanted = adjusted(base, sample.requests, sample.errors, latency_s, rule)
        why = explained(base, sample.requests, sample.errors, latency_s, rule)
        known.wanted.append(wanted)
        proposed, held = self._settled(known, weight)
        return Proposal(base, wanted, proposed, "; ".join(part for part in (news, why, sample.trouble, held) if part))

    def wrote(self, key: str, weight: int) -> None:
        """Remember a weight as one of ours: it is no news, and no base."""
        known = self._known[key]
        known.weight = weight
        known.wanted.clear()

    def forget_all_but(self, keys: set[str]) -> None:
        """Forget instances that are gone: what comes back under their keys starts anew."""
        for key in self._known.keys() - keys:
            del self._known[key]

    def _remembered(self, key: str, weight: int) -> tuple[_Known, str]:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known(self._bases.get(key, weight), weight, self._confirm)
            return known, ""
        if known.weight == weight:
            return known, ""
        was, known.weight = known.weight, weight
        known.wanted.clear()
        if key in self._bases or not weight:
            return known, f"somebody wrote {weight} over {was}"
        known.base = weight
        return known, f"somebody wrote {weight} over {was}: that is the base now"

    def _settled(self, known: _Known, weight: int) -> tuple[int, str]:
        """The weight to have, and why it is not the one wanted."""
        looks, wanted = known.wanted, known.wanted[-1]
        if wanted == weight:
            return weight, ""
        up = wanted > weight
        agreeing = sum((each > weight) if up else (each < weight) for each in looks)
        if agreeing < self._confirm:
            return weight, f"look {self._streak(looks, weight, up=up)} of {self._confirm}"
        nearest = min(looks) if up else max(looks)
        if abs(nearest - weight) < self._min_change:
            return weight, f"less than {self._min_change} away"
        return nearest, ""

    @staticmethod
    def _streak(looks: deque[int], weight: int, *, up: bool) -> int:
        streak = 0
        for each in reversed(looks):
            if not (each > weight if up else each < weight):
                break
            streak += 1
        return streak
