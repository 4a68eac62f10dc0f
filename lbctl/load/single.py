"""What became of single calls: where each went and why, what came back, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lbctl.errors import ExitCode, LbctlError
from lbctl.model import Code, Instance, Origin, Reply
from lbctl.stats.report import Explanation
from lbctl.wire.request import Headers

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

STATUS_OFFSET = 64  # of the exit status of a failed call, to which the code is added


class Answer(NamedTuple):
    """One message that came back: its octets, and as JSON, where somebody described its type (``kind``).

    ``of_stream``: it may be one of several. ``unreadable`` is why there is no JSON of it, "" where there is.
    """

    octets: bytes
    value: Any
    kind: Descriptor | None = None
    of_stream: bool = False
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Picked:
    """The backend that gets a call. ``policy`` "" is the user, who named it; ``number`` counts the calls from 1.

    ``weight`` is the backend's and that of all that could be picked, where the policy goes by it: 0 where all have 0.
    """

    instance: Instance
    number: int
    policy: str = ""
    weight: tuple[float, float] | None = None
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A call that has ended. ``metadata`` is what was sent, secrets included, and ``sensitive`` names more of them.

    ``answers`` are those that were kept: all of a unary call, none that were shown as they came. ``details`` are those
    of an error. ``failed_check`` is what --check says against an OK reply, "" for nothing; ``unreadable`` why one of
    the messages is none of its type.
    """

    picked: Picked
    reply: Reply
    latency_s: float
    attempts: int = 1
    answers: tuple[Answer, ...] = ()
    details: tuple[dict[str, Any], ...] = ()
    metadata: Headers = field(default=(), repr=False)
    sensitive: frozenset[bytes] = frozenset()
    failed_check: str = ""
    unreadable: str = ""
    streams: bool = False  # on either side
    is_early: bool = False  # the server ended it while messages were still to be sent

    @property
    def is_ok(self) -> bool:
        return self.reply.code is Code.OK and not (self.failed_check or self.unreadable)

    @property
    def is_cancelled(self) -> bool:
        """Whether a signal ended it."""
        return self.reply.code is Code.CANCELLED and self.reply.origin is Origin.CLIENT

    @property
    def exit_status(self) -> int:
        """What a command ends with whose only call this is."""
        if self.reply.code is not Code.OK:
            return STATUS_OFFSET + int(self.reply.code)
        if self.unreadable:
            return ExitCode.CANNOT_CALL
        return ExitCode.CHECK_FAILED if self.failed_check else ExitCode.OK


@dataclass(frozen=True, slots=True)
class Called:
    """The calls of one command: all, or of those that nobody wants to see again the first that failed.

    ``signal`` is the number of the one that ended it, if one did, and ``error`` why no more calls could be made.
    """

    service: str
    method: str = ""
    kind: str = "unary"
    described_by: str = ""
    calls: Sequence[Done] = ()
    signal: int | None = None
    error: LbctlError | None = None

    @property
    def exit_status(self) -> int:
        """That of the first call that failed; 128 and its number after a signal."""
        if self.signal is not None:
            return 128 + self.signal
        return next((each.exit_status for each in self.calls if each.exit_status), 0)


class Show(Protocol):
    """Shows calls while they go on."""

    def begun(self, picked: Picked, metadata: Headers, sensitive: frozenset[bytes]) -> None: ...

    async def answered(self, answer: Answer) -> None:
        """Show a message; returns when there is room for another."""
        ...

    def ended(self, done: Done) -> None: ...
