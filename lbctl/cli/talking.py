"""What is said on standard error beside a result: on a terminal broken between words, else a line each."""

from __future__ import annotations

import os
import sys

_STDERR = 2


def say(text: str) -> None:
    """Say it at once, in as many lines as the terminal needs; one line where nobody looks."""
    print(_fitting(text), file=sys.stderr, flush=True)  # noqa: T201


def width() -> int | None:
    """The columns of the terminal that standard error is; None where it is none, or does not tell."""
    try:
        return os.get_terminal_size(_STDERR).columns or None
    except OSError:
        return None


def _fitting(text: str) -> str:
    columns = width()
    if columns is None or (len(text) <= columns and text.isascii()):
        return text
    from lbctl.view.wrapping import wrapped

    return wrapped(text, columns)
