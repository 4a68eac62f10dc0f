"""Contents made ahead: in their order, in turns of the event loop, and the first failure ends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lbctl.errors import UsageError
from lbctl.load.requests.content import Content
from lbctl.load.requests.supply import Supply


def numbers(count: int, failing: bool = False) -> Iterator[Content]:
    for number in range(count):
        yield Content((b"%d" % number,))
    if failing:
        raise UsageError("no more")


def taken(supply: Supply, count: int) -> list[int]:
    return [int(next(supply).messages[0]) for _ in range(supply.supply(count))]


def test_contents_come_in_order_and_end() -> None:
    supply = Supply(numbers(5))
    assert taken(supply, 3) == [0, 1, 2]
    supply.put_back(Content((b"2",)))
    assert taken(supply, 9) == [2, 3, 4]
    assert (supply.supply(1), supply.failure) == (0, None)


def test_what_is_wrong_with_one_of_the_first_is_raised_and_with_a_later_one_is_the_end() -> None:
    with pytest.raises(UsageError, match="no more"):
        Supply(numbers(5, failing=True)).prime(6)
    supply = Supply(numbers(5, failing=True))
    supply.prime(3)
    assert taken(supply, 9) == [0, 1, 2, 3, 4]
    assert str(supply.failure) == "no more"


def test_turns_of_the_loop_make_some_ahead_and_stop_where_there_are_enough() -> None:
    turns: list[Callable[[], None]] = []
    made: list[Content] = []

    def contents() -> Iterator[Content]:
        for content in numbers(100_000):
            made.append(content)
            yield content

    supply = Supply(contents())
    supply.soon = turns.append
    assert taken(supply, 1) == [0]
    while turns:
        before = len(made)
        turns.pop(0)()
        assert len(made) - before <= 8
    assert len(made) == 257
    assert taken(supply, 50) == list(range(1, 51))
    assert turns == []  # there are enough
    supply.close()


def test_large_messages_do_not_pile_up() -> None:
    supply = Supply(Content((bytes(1 << 20),)) for _ in range(100))
    supply.prime()
    assert len(supply.first(100)) == 4
