"""How weights are read: strict for numbers, forgiving for text, and never silent (docs/decisions/0003)."""

from __future__ import annotations

import re

from lbctl.discovery.flaws import Unusable

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MAX_DIGITS = 9
_SHOWN = 40


def parse_weight(text: str) -> tuple[int, tuple[str, ...]]:
    """Return the weight and a warning, if any; raise Unusable for a number that no client can use as a weight."""
    if not text:
        raise Unusable("bad_weight", "weight is empty")
    if not _NUMBER.fullmatch(text):
        return 1, (f'weight "{text[:_SHOWN]}" is not a number; 1 is used',)
    if text.startswith("-"):
        raise Unusable("bad_weight", "weight is negative")
    if not text.isdigit():
        raise Unusable("bad_weight", "weight is not an integer")
    if len(text) > _MAX_DIGITS:
        raise Unusable("bad_weight", "weight does not fit an integer")
    return int(text), ()
