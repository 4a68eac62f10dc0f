"""Frames of a live view, drawn in one go."""

from __future__ import annotations

from itertools import chain

from lbctl.view.live import View


def drawn(view: View, now_s: float = 0.0, width: int = 80, height: int = 24, *, fresh: bool = False) -> list[str]:
    """Return the lines of one frame."""
    return list(chain.from_iterable(view.draw(now_s, width, height, fresh=fresh)))
