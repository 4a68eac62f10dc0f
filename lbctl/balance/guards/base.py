"""What watches peers from outside the policy and keeps some of them out of the rotation, or weakens them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol

from lbctl.balance.peer import Peer
from lbctl.errors import UsageError
from lbctl.model import Code, Origin, Reply

# Why a peer is out of the rotation, as it is shown; of several reasons the first is.
CONNECTING: Final = "connecting"  # its health is not known yet
UNHEALTHY: Final = "unhealthy"
EJECTED: Final = "ejected"
OPEN: Final = "breaker_open"
HALF_OPEN: Final = "half_open"
BARS: Final = (CONNECTING, UNHEALTHY, EJECTED, OPEN, HALF_OPEN)
HEALTH: Final = frozenset({CONNECTING, UNHEALTHY})

# What says that a server is in trouble, and not that the request was wrong.
SERVER_TROUBLE: Final = "UNAVAILABLE+DEADLINE_EXCEEDED+RESOURCE_EXHAUSTED+INTERNAL+UNKNOWN+DATA_LOSS"

_NOTHING: Final[Mapping[str, int]] = {}


class Ended(Protocol):
    """An attempt that has ended: when it began, in ns, and when it was sent to try its peer out, 0 if it was not."""

    @property
    def begun_ns(self) -> int: ...

    @property
    def trial_ns(self) -> int: ...


class Rotation(Protocol):
    """What guards act through: the balancer. ``on_note`` makes an event: kind, peer, text, level."""

    on_note: Callable[[str, Peer, str, str], None]

    def bar(self, peer: Peer, why: str, *, barred: bool) -> None: ...

    def warm(self, peer: Peer, warmth: float) -> None: ...

    def try_out(self, peer: Peer) -> None: ...

    def call_off(self, peer: Peer) -> None: ...


class Guard:
    """Learns how attempts end and what time it is; acts through the balancer. This one does nothing."""

    def succeeded(self, peer: Peer, attempts: Sequence[Ended], now_ns: int) -> None:
        """These attempts ended OK."""

    def ended(self, peer: Peer, trial_ns: int, reply: Reply, now_ns: int) -> None:
        """One attempt ended, mostly not OK; ``trial_ns`` as in Ended."""

    def untried(self, peer: Peer, trial_ns: int) -> None:
        """A call that was to try the peer out has told nothing of it."""

    def marked(self, peer: Peer) -> None:
        """Whether calls may go to the peer may have changed."""

    def left(self, peer: Peer) -> None:
        """The peer has left; should it come back, it is like new."""

    def tick(self, peers: Collection[Peer], now_ns: int) -> None:
        """Time has passed; ``peers`` are all that the registry lists. The first time is when the run begins."""

    def counts(self, peer: Peer) -> Mapping[str, int]:
        """What was done to this peer so far: ``ejections``, ``trips``."""
        return _NOTHING

    def doubts(self) -> Iterable[str]:
        """Why it could not do its work, if it could not."""
        return ()


def moves_on(reply: Reply) -> bool:
    """Whether a connection was to be replaced when the call came, which says nothing of the server."""
    return reply.origin is Origin.TRANSPORT and reply.reason.startswith("not processed: GOAWAY NO_ERROR")


def codes_of(text: str) -> frozenset[Code]:
    """The codes of an option, ``UNAVAILABLE+INTERNAL``; raises ValueError for what is none."""
    names = [name.strip().upper() for name in text.split("+")]
    for name in names:
        if name not in Code.__members__ or name == "OK":
            raise ValueError(f"{name or text!r} is not a status code of a failed call, such as UNAVAILABLE")
    return frozenset(Code[name] for name in names)


def split(flag: str, text: str, head: str | None = None) -> dict[str, str]:
    """What was typed after a guard's flag: ``VALUE,name=value,...`` where it has a ``head``, else without the first.

    ``on`` stands for nothing but the defaults.
    """
    items = [item.strip() for item in text.split(",") if item.strip()]
    values: dict[str, str] = {}
    for place, item in enumerate(items):
        name, equals, value = item.partition("=")
        if not equals and place == 0 and head is not None:
            name, value = head, item
        elif not equals and item == "on" and len(items) == 1:
            continue
        elif not equals:
            raise UsageError(f"{flag}: {item!r} is not name=value", f"for example {flag} interval=5s,name=value")
        if name.strip() in values:
            raise UsageError(f"{flag}: {name.strip()} is given twice", "each option has one value")
        values[name.strip()] = value.strip()
    return values


def seconds(value: float) -> int:
    """Nanoseconds of an option in seconds."""
    return round(value * 1_000_000_000)


def spelled_s(ns: int) -> str:
    """A time for people."""
    return f"{ns / 1e9:.3g}s" if ns < 100_000_000_000 else f"{ns / 1e9:.0f}s"
