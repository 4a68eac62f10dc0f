"""Outlier detection against a model in fractions, over thousands of sets of options."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest

from lbctl.balance.guards.outlier import OutlierDetection, OutlierOptions
from lbctl.balance.peer import Peer
from lbctl.model import Code, Reply
from tests.balance.fleet import fleet
from tests.balance.guards.ward import SECOND, Attempt


class Model:
    """A50 once more, with fractions and without any cleverness."""

    def __init__(self, count: int, chosen: OutlierOptions, rng: Random) -> None:
        self.options, self.rng = chosen, rng
        self.out: list[int | None] = [None] * count
        self.multipliers = [0] * count

    def look(self, samples: Sequence[tuple[int, int]], now_s: int) -> None:
        chosen, envoy = self.options, self.options.dialect == "envoy"
        if envoy:
            self.back(now_s)
        usable = [n for n in range(len(samples)) if not (envoy and self.out[n] is not None)]
        if chosen.detect != "failure-percentage":
            busy = [n for n in usable if sum(samples[n]) >= chosen.success_volume]
            for n in self.slow(samples, busy) if len(busy) >= chosen.success_hosts else ():
                self.eject(n, chosen.success_enforcement, now_s)
        if chosen.detect != "success-rate":
            busy = [n for n in usable if sum(samples[n]) >= chosen.failure_volume]
            for n in self.failing(samples, busy) if len(busy) >= chosen.failure_hosts else ():
                self.eject(n, chosen.failure_enforcement, now_s)
        if not envoy:
            self.back(now_s)

    def slow(self, samples: Sequence[tuple[int, int]], busy: list[int]) -> list[int]:
        rates = {n: Fraction(samples[n][0], sum(samples[n])) for n in busy}
        mean = sum(rates.values(), Fraction()) / len(rates)
        variance = sum(((rate - mean) ** 2 for rate in rates.values()), Fraction()) / len(rates)
        limit = variance * Fraction(self.options.stdev_factor, 1000) ** 2
        return [n for n in busy if mean > rates[n] and (mean - rates[n]) ** 2 > limit]

    def failing(self, samples: Sequence[tuple[int, int]], busy: list[int]) -> list[int]:
        parts = {n: Fraction(100 * samples[n][1], sum(samples[n])) for n in busy}
        limit, at = self.options.failure_threshold, self.options.dialect == "envoy"
        return [n for n in busy if parts[n] > limit or (at and parts[n] == limit)]

    def eject(self, n: int, enforcement: int, now_s: int) -> None:
        count, ejected = len(self.out), sum(out is not None for out in self.out)
        part, most = Fraction(100 * ejected, count), self.options.max_ejection_percent
        if self.options.dialect == "core":
            drawn = self.rng.randrange(1, 100)
            if drawn >= enforcement or (ejected and part >= most):
                return
        else:
            full = part >= most if self.options.dialect == "grpc" else Fraction(100 * (ejected + 1), count) > most
            if full or self.rng.randrange(100) >= enforcement:
                return
        self.out[n] = now_s
        self.multipliers[n] += 1

    def back(self, now_s: int) -> None:
        for n, out in enumerate(self.out):
            base, most = self.options.base_ejection_time, self.options.max_ejection_time
            if out is None:
                self.multipliers[n] -= self.multipliers[n] > 0
            elif now_s > out + min(base * self.multipliers[n], max(base, most)):
                self.out[n] = None


class Doors:
    """A rotation that only remembers who is out."""

    def __init__(self) -> None:
        self.out: set[Peer] = set()

    def bar(self, peer: Peer, why: str, *, barred: bool) -> None:
        (self.out.add if barred else self.out.discard)(peer)

    def on_note(self, *event: object) -> None:
        """Nobody listens."""


def _drawn(rng: Random) -> OutlierOptions:
    return OutlierOptions(
        base_ejection_time=rng.choice((5, 10, 20)),
        max_ejection_time=rng.choice((5, 30)),
        max_ejection_percent=rng.choice((0, 10, 34, 50, 100)),
        detect=rng.choice(("both", "success-rate", "failure-percentage")),
        stdev_factor=rng.choice((0, 500, 1000, 1900)),
        success_enforcement=rng.choice((50, 100)),
        success_hosts=rng.randint(1, 4),
        success_volume=rng.randint(1, 4),
        failure_threshold=rng.choice((0, 50, 85)),
        failure_enforcement=rng.choice((50, 100)),
        failure_hosts=rng.randint(1, 4),
        failure_volume=rng.randint(1, 4),
        dialect=rng.choice(("grpc", "core", "envoy")),
    )


@pytest.mark.slow
def test_the_detector_agrees_with_a_model_in_fractions() -> None:
    rng = Random(11)
    fleets = {count: fleet([1] * count) for count in range(1, 8)}
    ejected = 0
    lost = Reply(Code.UNAVAILABLE)
    for case in range(10_000):
        peers = fleets[rng.randint(1, 7)]
        chosen, doors = _drawn(rng), Doors()
        guard = OutlierDetection(chosen, doors, Random(case))  # type: ignore[arg-type]
        model = Model(len(peers), chosen, Random(case))
        guard.tick(peers, 0)
        for turn in (1, 2):
            samples = [(rng.randint(0, 4), rng.choice((0, 0, 1, 3))) for _ in peers]
            for peer, (successes, failures) in zip(peers, samples, strict=True):
                guard.succeeded(peer, [Attempt()] * successes, 0)
                for _ in range(failures):
                    guard.ended(peer, 0, lost, 0)
            guard.tick(peers, turn * 10 * SECOND)
            model.look(samples, turn * 10)
            assert [peer in doors.out for peer in peers] == [out is not None for out in model.out], (case, chosen)
            ejected += len(doors.out)
    assert ejected > 3000  # the cases are not all dull
