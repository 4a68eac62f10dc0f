"""What is wrong with a value of JSON: where it is in the message, what was expected there, and what stood there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

MAX_SHOWN: Final = 40
MAX_NAMES: Final = 10
_LONGEST: Final = 200  # characters of a name that is compared with others
DESCRIBE: Final = "describe it with --proto FILE or --protoset FILE"


class Mistake(Exception):
    """A value that does not fit; ``hint`` is what to do, where that is more than putting it right."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


def wrong(path: str, expected: str, value: object, hint: str = "") -> Mistake:
    """The mistake of a value that should be something else."""
    return Mistake(f"{named(path)} must be {expected}, not {shown_value(value)}", hint)


def named(path: str) -> str:
    """What a place in the message is called; the whole is the request."""
    return f'field "{path}"' if path else "the request"


def at(path: str) -> str:
    """Where a mistake is whose message is named otherwise; the whole needs no place."""
    return f" (at {path})" if path else ""


def shown_value(value: object) -> str:
    """Write a value as JSON, as far as it is short."""
    text = json.dumps(value, ensure_ascii=not (isinstance(value, str) and value.isprintable()))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def one_of(names: Sequence[str]) -> str:
    """Write what there is to choose from, the first ten of it."""
    return ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the name that was meant, whatever the case of its letters; empty where none is near."""
    names = {each.lower(): each for each in reversed(list(known))}
    near = get_close_matches(name[:_LONGEST].lower(), names, n=1)
    return f'; did you mean "{names[near[0]]}"?' if near else ""
