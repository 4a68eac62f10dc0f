from __future__ import annotations

from lbctl.stats.streams import Spread, StreamTally


def test_messages_are_counted_of_all_calls_and_spread_over_the_good_ones() -> None:
    tally = StreamTally()
    assert tally.spreads() is None
    for sent, received, ok in ((1, 10, True), (3, 0, False), (2, 4, True), (2, 7, True)):
        tally.end(sent, received, ok=ok)
    assert (tally.sent, tally.received) == (8, 21)
    assert tally.spreads() == (Spread(1, 5 / 3, 2), Spread(4, 7.0, 10))


def test_gaps_are_in_microseconds() -> None:
    tally = StreamTally()
    tally.record_gaps([1_000, 2_500_000])
    assert (tally.gaps.total, tally.gaps.min_us, tally.gaps.max_us) == (2, 1, 2500)
