"""Contents made ahead of the calls that send them, a few at a time, while the event loop has nothing else to do.

The first are made before anything is sent: whatever is wrong with them is told then. What is wrong with a later one
ends the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import Final

from lbctl.errors import UsageError
from lbctl.load.requests.content import Content

CHECKED: Final = 1000  # contents that are made before anything is sent
_AHEAD: Final = 256
_A_TURN: Final = 8  # made without a pause: a tenth of a millisecond
_MOST_OCTETS: Final = 4 << 20  # of messages that wait

Soon = Callable[[Callable[[], None]], object]  # has something called in the next turn of the event loop


class Supply:
    """The contents of an iterator, in its order; ``soon`` gives it turns to make some before they are asked for."""

    def __init__(self, contents: Iterator[Content]) -> None:
        self.failure: UsageError | None = None
        self.soon: Soon | None = None
        self._contents = contents
        self._made: deque[Content] = deque()
        self._octets = 0
        self._over = False
        self._busy = False  # a turn is due

    def prime(self, count: int = CHECKED) -> None:
        """Make the first; raises UsageError where one of them is wrong."""
        self._make(count)
        if self.failure is not None:
            raise self.failure

    def first(self, count: int) -> list[Content]:
        """A few that come first, which stay where they are."""
        return list(islice(self._made, count))

    def supply(self, most: int) -> int:
        made = self._made
        while len(made) < most and not self._over:
            self._one()
        if self.soon is not None and not self._busy and not self._over and len(made) - most < _AHEAD // 2:
            self._busy = True
            self.soon(self._turn)
        return min(most, len(made))

    def __next__(self) -> Content:
        content = self._made.popleft()
        self._octets -= _size(content)
        return content

    def put_back(self, content: Content) -> None:
        self._made.appendleft(content)
        self._octets += _size(content)

    def close(self) -> None:
        self._over = True
        self._made.clear()
        if isinstance(self._contents, Generator):
            self._contents.close()  # and with it whoever reads for it

    def _turn(self) -> None:
        self._busy = False
        self._make(min(_AHEAD, len(self._made) + _A_TURN))
        if self.soon is not None and not self._over and len(self._made) < _AHEAD and self._octets < _MOST_OCTETS:
            self._busy = True
            self.soon(self._turn)

    def _make(self, count: int) -> None:
        while len(self._made) < count and self._octets < _MOST_OCTETS and not self._over:
            self._one()

    def _one(self) -> None:
        try:
            content = next(self._contents, None)
        except UsageError as error:
            self.failure, content = error, None
        if content is None:
            self._over = True
        else:
            self._made.append(content)
            self._octets += _size(content)


def _size(content: Content) -> int:
    return sum(map(len, content.messages))
