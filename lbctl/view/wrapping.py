"""Sentences that are longer than a terminal is wide, broken between words."""

from __future__ import annotations

import re
from typing import Final

from lbctl.view.text import cell_len

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_COMMAND: Final = re.compile(r"\blbctl ")
_NARROWEST: Final = 20
_INDENT: Final = "  "


def wrapped(text: str, width: int | None) -> str:
    """The text with its first line broken between words, so that none is cut in two; None is as wide as it gets.

    What has a command in it stays as it is, to be copied in one go, and so do further lines, which are laid out.
    """
    line, *more = text.split("\n")
    if width is None or width < _NARROWEST or _cells(line) <= width or _COMMAND.search(line):
        return text
    return "\n".join([*_broken(line, width), *more])


def _broken(line: str, width: int) -> list[str]:
    first, *words = line.split(" ")
    lines = [first]
    for word in words:
        if word and _cells(lines[-1]) + 1 + _cells(word) > width:
            lines[-1] = lines[-1].rstrip(" ")
            lines.append(_INDENT + word)
        else:
            lines[-1] += f" {word}"
    return lines


def _cells(text: str) -> int:
    return cell_len(_COLOUR.sub("", text))
