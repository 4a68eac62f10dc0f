"""What happened during a run or a watch, in order and in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import overload

from lbctl.model import Event

FIRST = 100
CAPACITY = 10_000


class EventLog(Sequence[Event]):
    """The first events and the latest ones; ``dropped`` counts what fell out between them."""

    __slots__ = ("_first", "_latest", "_room", "dropped")

    def __init__(self, capacity: int = CAPACITY, first: int = FIRST) -> None:
        self._first: list[Event] = []
        self._room = min(first, capacity)
        self._latest: deque[Event] = deque(maxlen=capacity - self._room)
        self.dropped = 0

    def add(self, event: Event) -> None:
        """Append one event; when the log is full the oldest one after the first block makes room."""
        if len(self._first) < self._room:
            self._first.append(event)
            return
        if len(self._latest) == self._latest.maxlen:
            self.dropped += 1
        self._latest.append(event)

    def shift(self, seconds: float) -> None:
        """Count time from so many seconds later; what was before has a negative time."""
        for events in (self._first, self._latest):
            for place, event in enumerate(events):
                events[place] = event._replace(t_s=event.t_s - seconds)

    @property
    def total(self) -> int:
        """Every event there ever was, the dropped ones too."""
        return len(self) + self.dropped

    def __len__(self) -> int:
        return len(self._first) + len(self._latest)

    def __iter__(self) -> Iterator[Event]:
        yield from self._first
        yield from self._latest

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self._first[place] if place < len(self._first) else self._latest[place - len(self._first)]
