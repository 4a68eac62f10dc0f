"""The calls that were started together: one object for all of them, since their times are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lbctl.balance.peer import Peer
from lbctl.wire.state import Wait

if TYPE_CHECKING:
    from lbctl.load.attempt import Attempt
    from lbctl.load.requests.content import Content


class Batch:
    """Times in nanoseconds of the run's clock. ``timeout_ns`` is 0 while the request's own deadline is stated.

    A call of a closed loop is queued when it is issued, one of an open loop when it was due; its latency counts from
    then. A call that has to wait, or is sent again, leaves the batch and gets an object of its own (``alone``).
    """

    __slots__ = (
        *("attempt", "attempts", "begun_ns", "deadline_ns", "key", "left", "queued_ns", "timeout_ns", "tried"),
        *("trial_ns", "waited_for", "written_ns"),
    )

    content: Content | None = None  # what it sends, where calls differ: ``Laden`` has one

    def __init__(self, queued_ns: int, deadline_ns: int, begun_ns: int) -> None:
        self.queued_ns = queued_ns
        self.deadline_ns = deadline_ns
        self.begun_ns = begun_ns  # when this attempt was handed to a backend
        self.written_ns = 0  # 0 until it was written
        self.timeout_ns = 0
        self.waited_for = Wait.NOTHING
        self.attempts = 1
        self.key = b""  # a call with a hash key has a batch of its own
        self.trial_ns = 0  # when it was sent to try a backend that is out of the rotation; 0 if it was not
        self.tried: tuple[Peer, ...] = ()  # where earlier attempts went
        self.attempt: Attempt | None = None  # of a call that is followed: retried by a policy, or hedged
        self.left = 0  # calls that left this batch

    def alone(self) -> Batch:
        """One call of this batch on its own: queued when the batch was, written later."""
        self.left += 1
        single = self._like(self.begun_ns)
        single.attempts = self.attempts
        single.key = self.key
        single.tried = self.tried
        single.timeout_ns = self.timeout_ns
        single.trial_ns = self.trial_ns
        if self.attempt is not None:
            single.attempt = self.attempt
            single.attempt.call = single
        return single

    def beside(self, now_ns: int) -> Batch:
        """The call for an attempt that is made while others are under way."""
        single = self._like(now_ns)
        single.key = self.key
        return single

    def _like(self, begun_ns: int) -> Batch:
        return Batch(self.queued_ns, self.deadline_ns, begun_ns)

    def again(self, now_ns: int) -> Batch:
        """The call for another attempt, begun now."""
        single = self.alone()
        single.begun_ns = now_ns
        single.trial_ns = 0
        return single


class Laden(Batch):
    """A call with a content of its own."""

    __slots__ = ("content",)

    def __init__(self, queued_ns: int, deadline_ns: int, begun_ns: int, content: Content) -> None:
        super().__init__(queued_ns, deadline_ns, begun_ns)
        self.content: Content = content

    def _like(self, begun_ns: int) -> Laden:
        return Laden(self.queued_ns, self.deadline_ns, begun_ns, self.content)
