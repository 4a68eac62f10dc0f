"""Messages of a streaming call that become known one after the other, while it lasts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


def _nobody() -> None:
    """Nobody has to know."""


class Outbox:
    """What is still to be sent on one call.

    ``on_put`` is told that there is something to send, or an end; ``on_taken`` of every message that has gone, while
    the connection is being written: it must not touch that.
    """

    __slots__ = ("_ended", "_messages", "on_put", "on_taken", "taken")

    def __init__(self, on_taken: Callable[[], None] = _nobody) -> None:
        self.on_put: Callable[[], None] = _nobody
        self.on_taken = on_taken
        self.taken = 0
        self._messages: deque[bytes] = deque()
        self._ended = False

    def __len__(self) -> int:
        """How many messages wait."""
        return len(self._messages)

    def put(self, message: bytes) -> None:
        """Add a message."""
        self._messages.append(message)
        self.on_put()

    def end(self) -> None:
        """Say that no more will come."""
        self._ended = True
        self.on_put()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left, and nothing will come."""
        return self._ended and not self._messages

    def take(self) -> bytes | None:
        """The next message, None where there is none (yet)."""
        if not self._messages:
            return None
        message = self._messages.popleft()
        self.taken += 1
        self.on_taken()
        return message
