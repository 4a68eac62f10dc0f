"""Weights that are text in metadata, as Go clients read them: what is no number of theirs counts as their default."""

from __future__ import annotations

import re
from typing import Final

from lbctl.discovery.flaws import Unusable

_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_INT64: Final = 2**63 - 1
_INT64_DIGITS: Final = 19
_MOST_DIGITS: Final = 9
_SHOWN: Final = 40


def parse_text_weight(text: str | None, default: int) -> tuple[int, tuple[str, ...]]:
    """Return a number, negative ones too, and a warning where the text is none that fits; None is no weight at all.

    Raises Unusable for a number that clients can use and lbctl cannot.
    """
    if text is None:
        return default, ()
    digits = text.lstrip("+-").lstrip("0")
    if not _INTEGER.fullmatch(text) or len(digits) > _INT64_DIGITS or int(digits or "0") > _MOST_INT64:
        return default, (f'weight "{text[:_SHOWN]}" is not a number; {default} is used',)
    if len(digits) > _MOST_DIGITS:
        raise Unusable("bad_weight", "weight has more than nine digits")
    number = int(digits or "0")
    return -number if text.startswith("-") else number, ()
