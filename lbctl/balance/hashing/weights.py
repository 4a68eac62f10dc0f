"""Weights as rings and tables count them: where one peer has only a part of its own, the others stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

from lbctl.balance.peer import Peer
from lbctl.balance.policies.base import weights_of


def strengths(peers: Sequence[Peer]) -> tuple[float, ...]:
    """Each peer's weight, or the part of it that counts."""
    scale = 1000 if any(peer.scale != 1.0 for peer in peers) else 1
    return tuple(weight / scale for weight in weights_of(peers))


def whole(peers: Sequence[Peer]) -> list[int]:
    """The same as whole numbers, at least 1."""
    return [max(1, round(strength)) for strength in strengths(peers)]
