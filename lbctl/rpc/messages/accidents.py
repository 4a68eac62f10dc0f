"""What people write by accident where JSON is wanted: what it is that JSON does not have, and what it has instead."""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import Final

_COMMENT: Final = "JSON has no comments: leave them out"
_TRAILING: Final = "JSON has no comma behind the last one: leave it out"
_QUOTES: Final = 'JSON has double quotes only: {"name": "value"}; for a shell put single quotes around the whole'
_CURLY: Final = 'these are typographic quotes; JSON has the plain ones only: {"name": "value"}'
_ESCAPED: Final = 'the quotes are escaped once more than was taken away; JSON itself has {"name": "value"}'
_BARE: Final = 'names and text are in double quotes: {"name": "value"}; for a shell put single quotes around the whole'
_NUMBER: Final = "a number is written such as 1, -0.5 or 1e3"
_WORDS: Final = (
    'the words that JSON has are true, false and null; text is in double quotes, as are "NaN" and "Infinity"'
)
_ESCAPE: Final = 'behind \\ may be one of " \\ / b f n r t, or u with four hexadecimal digits'
_CONTROL: Final = "in a text the end of a line is written \\n, and a tab \\t"
_END: Final = "it ends too early: something is not closed"
_MORE: Final = "one value is wanted here, and something stands behind it"

_WORD: Final = re.compile(r"[A-Za-z_$]\w*")
_IN_NUMBER: Final = re.compile(r"[\w.]")


def hint_of(error: JSONDecodeError) -> str:
    """What may have been meant where a JSON parser stopped; empty where nothing is likely."""
    text, at = error.doc, error.pos
    if "control character" in error.msg:
        return _CONTROL
    if "escape" in error.msg:
        return _ESCAPE
    if text[at : at + 1] in ("#", "/"):
        return _COMMENT
    if _is_trailing_comma(text, at):
        return _TRAILING
    return _by_character(text, at, error.msg)


def _by_character(text: str, at: int, reason: str) -> str:
    """What is likely by the character where the parser stopped, and the one before."""
    here, before = text[at : at + 1], text[max(0, at - 1) : at]
    if not text[at:].strip() or reason.startswith("Unterminated"):
        return _END
    if here in "'`":
        return _QUOTES
    if here == "\\":
        return _ESCAPED
    if here in "“”„«»‘’":
        return _CURLY
    if here in "+." or (before.isdigit() and _IN_NUMBER.match(here)):
        return _NUMBER
    if reason.startswith("Extra data"):
        return _MORE
    if not _WORD.match(here):
        return ""
    return _WORDS if reason.startswith("Expecting value") else _BARE


def _is_trailing_comma(text: str, at: int) -> bool:
    """Whether nothing is between a comma and the end of a list or an object; parsers stop at either."""
    if text[at : at + 1] == ",":
        return text[at + 1 :].lstrip()[:1] in ("]", "}")
    return text[at : at + 1] in ("]", "}") and text[:at].rstrip().endswith(",")
