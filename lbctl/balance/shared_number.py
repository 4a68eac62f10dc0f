"""A number that all peers of a set remember, so that the next picker can go on where this one was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lbctl.balance.peer import Peer


@dataclass(slots=True)
class SharedNumber:
    """One object for all of them: whoever is away for a while learns of what it has become."""

    value: int


def number_of(peers: Sequence[Peer]) -> SharedNumber | None:
    """Return the number that the peers remember."""
    return next((peer.memory for peer in peers if isinstance(peer.memory, SharedNumber)), None)


def keep_number(peers: Sequence[Peer], value: int) -> None:
    """Have all of them remember it."""
    number = number_of(peers) or SharedNumber(value)
    number.value = value
    for peer in peers:
        peer.memory = number
