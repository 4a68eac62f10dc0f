from __future__ import annotations

from lbctl.load.resets import Resets

SECOND = 1_000_000_000


def test_a_hundred_within_half_a_minute_are_many_and_told_once() -> None:
    resets = Resets()
    told = [resets.add(1, number * SECOND // 5) for number in range(300)]
    assert [number for number, is_told in enumerate(told) if is_told] == [99]
    assert resets.are_many


def test_the_same_number_in_a_longer_time_is_not() -> None:
    resets = Resets()
    assert not any(resets.add(1, number * SECOND) for number in range(1000))
    assert (resets.most, resets.total) == (30, 1000)


def test_several_connections_share_them() -> None:
    resets = Resets(4)
    assert [resets.add(1, 0) for _ in range(400)].index(True) == 399
