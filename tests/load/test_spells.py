"""When breakers begin and stop to turn calls away."""

from __future__ import annotations

from lbctl.load.spells import Spells

MS = 1_000_000


class Told:
    """Breakers by these names; ``at`` looks at them with so many calls turned away by then."""

    def __init__(self, *names: str) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.counts = dict.fromkeys(names, 0)
        self.now_ms = 0
        self.spells = Spells(
            self.counts, lambda kind, backend, text, level: self.events.append((kind, f"{backend} {text}", level))
        )

    def at(self, ms: int, **counts: int) -> None:
        self.now_ms, self.counts = ms, self.counts | counts
        self.spells.look(self.counts, ms * MS)

    @property
    def texts(self) -> list[str]:
        return [text.removeprefix("None ") for _, text, _ in self.events]


def test_a_thousand_calls_turned_away_are_two_events() -> None:
    told = Told("sre")
    for ms in range(0, 5000, 20):
        told.at(ms, sre=max(0, min(1000, ms - 1000)))
    assert told.events == [
        ("breaker", "None sre: begins to turn calls away", "bad"),
        ("breaker", "None sre: turns no more calls away, 1,000 calls in 0.98s", "good"),
    ]


def test_a_pause_is_not_an_end_and_pauses_must_be_longer_each_time() -> None:
    told = Told("kratos")
    for ms, count in ((0, 1), (990, 1), (1000, 2), (1990, 2), (2000, 2), (3000, 3), (4990, 3), (5000, 3)):
        told.at(ms, kratos=count)
    assert told.texts == [
        "kratos: begins to turn calls away",
        "kratos: turns no more calls away, 2 calls in 1s",
        "kratos: begins to turn calls away",
        "kratos: turns no more calls away, 1 call in 0s",
    ]
    told.at(6000, kratos=4)
    told.at(9990)
    told.at(9999)
    assert len(told.texts) == 5  # four seconds now
    told.at(10_000)
    assert len(told.texts) == 6


def test_breakers_are_told_apart_and_what_lasts_is_told_at_the_end() -> None:
    told = Told("gozero", "max-requests")
    told.at(0, gozero=5)
    told.at(20, **{"max-requests": 7})
    told.spells.end(told.counts, 40 * MS)
    assert told.texts == [
        "gozero: begins to turn calls away",
        "max-requests: begins to turn calls away",
        "gozero: 5 calls turned away by the end of the run",
        "max-requests: 7 calls turned away by the end of the run",
    ]


def test_a_quiet_breaker_says_nothing() -> None:
    told = Told("sre")
    told.at(0)
    told.spells.end(told.counts, 10 * MS)
    assert not told.events
