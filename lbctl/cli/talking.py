"""What is said on standard error beside a result: on a terminal broken between words, else a line each."""

from __future__ import annotations

import os
import sys

_STDERR = 2


def say(text: str) -> None:
    """Say it at once, in as many lines as the terminal needs; one line where nobody looks."""
    print(_fitting(text), file=sys.stderr, flush=True)  # noqa: T201


def _fitting(text: str) -> str:
    try:
        if not os.isatty(_STDERR):
            return text
        width = os.get_terminal_size(_STDERR).columns
    except OSError:
        return text
    if len(text) <= width and text.isascii():
        return text
    from lbctl.view.wrapping import wrapped

    return wrapped(text, width)
