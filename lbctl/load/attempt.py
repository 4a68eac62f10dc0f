"""One attempt of a call that may have several, and what is counted of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from lbctl.balance.peer import Peer
from lbctl.load.batch import Batch
from lbctl.load.lane import Lane
from lbctl.model import Code, Reply

if TYPE_CHECKING:
    from lbctl.load.hedging import Race

_PUSHBACK: Final = b"grpc-retry-pushback-ms"
_MILLISECONDS: Final = re.compile(rb"[+-]?[0-9]{1,18}")
NO_MORE: Final = -1  # the server wants no further attempt


class Attempt:
    """One attempt of a call that is followed. ``call`` is the object that carries it now, ``peer`` where it went.

    ``number`` is how many came before it, ``backoffs`` how many delays in a row grew. ``lost``: its end is nobody's.
    """

    __slots__ = ("backoffs", "call", "lost", "number", "peer", "race")

    def __init__(self, number: int, call: Batch, backoffs: int = 0, race: Race | None = None) -> None:
        self.number = number
        self.call = call
        self.backoffs = backoffs
        self.race = race
        self.peer: Peer | None = None
        self.lost = False

    @property
    def is_over(self) -> bool:
        """Whether another attempt has decided the call."""
        return self.race is not None and self.race.winner not in (None, self)


class Held(NamedTuple):
    """A call that is nowhere on its way: its last attempt ended there, like this, and the next has its time."""

    lane: Lane
    call: Batch
    reply: Reply


@dataclass(slots=True)
class Repeats:
    """Counts. ``sent``: further attempts; ``cancelled``: hedges that were not needed any more.

    ``throttled``: further attempts that tokens or budget forbade; ``refused``: those that the server did not want;
    ``exhausted``: calls that failed although every attempt was made.
    """

    sent: int = 0
    cancelled: int = 0
    throttled: int = 0
    refused: int = 0
    exhausted: int = 0
    codes: Counter[Code] = field(default_factory=Counter)  # how the attempts ended that were followed by others


def pushback_ns(metadata: Iterable[tuple[bytes, bytes]]) -> int | None:
    """What a server says of further attempts: after this long, ``NO_MORE``, or None where it says nothing.

    As in grpc-go a negative value, one that is no whole number and several values mean that none is wanted.
    """
    values = [value for name, value in metadata if name == _PUSHBACK]
    if not values:
        return None
    if len(values) > 1 or not _MILLISECONDS.fullmatch(values[0]) or int(values[0]) < 0:
        return NO_MORE
    return int(values[0]) * 1_000_000
