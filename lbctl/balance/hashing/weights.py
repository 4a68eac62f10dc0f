"""Weights as rings and tables count them: where one peer has only a part of its own, the others stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import unit_of, weights_of


def strengths(peers: Sequence[Peer]) -> tuple[float, ...]:
    """Each peer's weight, or the part of it that counts."""
    unit = unit_of(peers)
    return tuple(weight / unit for weight in weights_of(peers))


def whole(peers: Sequence[Peer]) -> list[int]:
    """The same as whole numbers, at least 1."""
    return [max(1, round(strength)) for strength in strengths(peers)]
