"""Lines of a frame: made of plain text and SGR sequences, measured and joined without wrapping."""

from __future__ import annotations

import re
from typing import NamedTuple

from lbctl.view.text import cell_len
from lbctl.view.theme import Look

_SGR = re.compile(r"\x1b\[[0-9;]*m")


class Span(NamedTuple):
    """A piece of a line and the number of cells it covers."""

    text: str
    width: int


def plain(text: str) -> Span:
    """Return a span without SGR."""
    return Span(text, cell_len(text))


def coloured(look: Look, role: str, text: str) -> Span:
    """Return a span in one role."""
    return Span(look.paint(role, text), cell_len(text))


def joined(*spans: Span) -> Span:
    """Spans one after the other."""
    return Span("".join([span.text for span in spans]), sum([span.width for span in spans]))


def stripped(line: str) -> str:
    """Return the line without its SGR sequences."""
    return _SGR.sub("", line)


def width_of(line: str) -> int:
    """Return the cells that a line covers, its SGR sequences not counted."""
    return cell_len(_SGR.sub("", line))


def padded(line: str, width: int) -> str:
    """Return the line filled with blanks on the right; a longer one is left alone."""
    return line + " " * (width - width_of(line))


def spread(start: Span, end: Span, width: int) -> str:
    """Return the first span at the left edge, the second at the right one; they must fit."""
    return start.text + " " * (width - start.width - end.width) + end.text


def rule(title: str, width: int, look: Look, tail: Span | None = None) -> str:
    """Return a thin line with a title in it, and at its right end what is worth saying about the part below."""
    style, glyphs = look
    title = look.elide(title, max(width - 4, 0))
    used = cell_len(title) + 3
    if tail is not None and used + tail.width + 3 > width:
        tail = None
    end = f" {tail.text} " if tail else ""
    fill = width - used - (tail.width + 2 if tail else 0)
    if width < 4:
        return look.paint(style.muted, glyphs.rule * width)
    head = f"{style.muted}{glyphs.rule}{style.reset} {style.bold}{title}{style.reset} "
    return head + look.paint(style.muted, glyphs.rule * max(fill, 0)) + end


def titled(title: str, window: str) -> str:
    """Return the title of a part, and what of the run it is about unless that is all of it."""
    return f"{title}  {window}" if window else title


def filled(lines: list[str], rows: int) -> list[str]:
    """Exactly ``rows`` lines: cut at the end, or blank ones added."""
    return (lines + [""] * (rows - len(lines)))[: max(rows, 0)]


def fitting(words: list[str], between: str, width: int) -> str:
    """As many of the words as fit, from the first on; the first is always there."""
    text = words[0]
    for word in words[1:]:
        if cell_len(text) + len(between) + cell_len(word) > width:
            break
        text += between + word
    return text
