"""Words and numbers for the screen: cleaned, measured in terminal cells, cut to fit, always spelled the same way."""

from __future__ import annotations

import re
from math import floor, isfinite, log10

from lbctl.redaction import masked_text

NONE = "-"  # what a value that does not exist looks like
_LIMIT = 500
_LOOKED_INTO = 20  # times as much of a text as is shown
_WORD = re.compile(r"(?:'[^']*'|\S)+")  # of a shell, as shlex.join quotes it


def clean(text: str, limit: int = _LIMIT, *, ascii_only: bool = False) -> str:
    r"""Make text from outside fit to be shown: without the secrets in it (see ``masked_text``), and cut at ``limit``.

    Nothing in it moves the cursor, reorders or hides text. What cannot be shown is spelled as its code (``\x1b``,
    ``\u202e``); with ``ascii_only`` everything else that is not ASCII becomes ``?``.
    """
    text = masked_text(text[: _LOOKED_INTO * limit])  # first: a secret whose end is cut off looks like none
    if len(text) > limit:
        text = text[: max(limit - 3, 0)] + "..."
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _spelled(char) for char in text)
    if ascii_only and not text.isascii():
        text = text.encode("ascii", "replace").decode("ascii")
    return text


def _spelled(char: str) -> str:
    if char in "\u00a0\u2002\u2003\u2009\u202f\u3000":
        return " "
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cell_len(text: str) -> int:
    """How many terminal cells the text covers (no escape sequences in it)."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len as measured

    return measured(text)


def elide(text: str, width: int, ellipsis: str = "…") -> str:
    """Cut on the right, for messages: ``connection ref…``."""
    if cell_len(text) <= width:
        return text
    return _cut(text, width - len(ellipsis)) + ellipsis if width >= len(ellipsis) else _cut(text, max(width, 0))


def elide_left(text: str, width: int, ellipsis: str = "…") -> str:
    """Cut on the left, for addresses, whose end tells them apart: ``….0.11:50051``."""
    if cell_len(text) <= width:
        return text
    if width < len(ellipsis):
        return ellipsis[: max(width, 0)]
    return ellipsis + _cut_left(text, width - len(ellipsis))


def elide_middle(text: str, width: int, ellipsis: str = "…") -> str:
    """Cut in the middle, for names: ``/services/very.lon…v1.Inventory``."""
    if cell_len(text) <= width:
        return text
    room = width - len(ellipsis)
    if room < 2:
        return elide(text, width, ellipsis)
    return _cut(text, (room + 1) // 2) + ellipsis + _cut_left(text, room // 2)


def left(text: str, width: int, ellipsis: str = "…") -> str:
    """Exactly ``width`` cells: cut on the right or filled with blanks."""
    text = elide(text, width, ellipsis)
    return text + " " * (width - cell_len(text))


def right(text: str, width: int, ellipsis: str = "…") -> str:
    """Exactly ``width`` cells, the text at the right end."""
    text = elide(text, width, ellipsis)
    return " " * (width - cell_len(text)) + text


def _cut(text: str, width: int) -> str:
    if text.isascii():
        return text[: max(width, 0)]
    end = min(len(text), max(width, 0))
    while end and cell_len(text[:end]) > width:
        end -= 1
    return text[:end]


def _cut_left(text: str, width: int) -> str:
    if width <= 0:
        return ""
    if text.isascii():
        return text[-width:]
    start = max(len(text) - width, 0)
    while start < len(text) and cell_len(text[start:]) > width:
        start += 1
    return text[start:]


def duration(us: float | None) -> str:
    """Microseconds in at most 5 cells: ``850us 2.3ms 38ms 1.25s 12.5s 120s 75m``; None is ``-``."""
    if us is None or not isfinite(us):
        return NONE
    if us < 999.5:
        return f"{us:.0f}us"
    if us < 9_950:
        return f"{us / 1e3:.1f}ms"
    if us < 999_500:
        return f"{us / 1e3:.0f}ms"
    seconds = us / 1e6
    if seconds < 9.995:
        return f"{seconds:.2f}s"
    if seconds < 99.95:
        return f"{seconds:.1f}s"
    return f"{seconds:.0f}s" if seconds < 999.5 else f"{seconds / 60:.0f}m"


def clock(seconds: float) -> str:
    """Elapsed time as ``01:12`` or ``1:02:05``."""
    whole = max(int(seconds), 0)
    hours, rest = divmod(whole, 3600)
    minutes, left_over = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left_over:02d}" if hours else f"{minutes:02d}:{left_over:02d}"


def age(seconds: float | None) -> str:
    """How long ago, in one unit and at most 4 cells up to 27 years: ``8s 3m 5h 12d``; None is ``-``."""
    if seconds is None:
        return NONE
    whole = max(int(seconds), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def count(number: float, width: int = 9) -> str:
    """Spell a count in at most ``width`` cells: ``6,292``, or ``6292``, ``12k``, ``3.4M`` if no more fits."""
    whole = round(number)
    plain = f"{whole:,}"
    if len(plain) <= width:
        return plain
    plain = f"{whole}"
    if len(plain) <= width:
        return plain
    for size, unit in ((1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")):
        if abs(whole) < size * 999.5:
            short = f"{whole / size:.1f}{unit}"
            return short if len(short) <= width else f"{whole / size:.0f}{unit}"
    return f"{whole:.0e}"


def rate(per_second: float, digits: int = 2) -> str:
    """Spell a rate without its unit; small ones keep ``digits`` significant digits: ``3,649``, ``12.5``, ``0.05``."""
    if per_second <= 0:
        return "0"
    decimals = max(0, digits - 1 - floor(log10(per_second)))
    text = f"{per_second:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def part(number: int, whole: int) -> str:
    """Spell a part as ``67%``; ``100%`` is all of it and ``0%`` none, nothing in between."""
    if not whole:
        return NONE
    shown = round(number / whole * 100)
    if 0 < number < whole:
        shown = min(max(shown, 1), 99)
    return f"{shown}%"


def percent(share: float | None) -> str:
    """Spell a share (0..1) as a percentage with one decimal: ``41.7``; None is ``-``."""
    return NONE if share is None else f"{share * 100:.1f}"


def points(delta: float | None) -> str:
    """Spell a difference of shares in percentage points, at most 5 cells: ``+10.7``, ``-0.2``, never ``-0.0``."""
    if delta is None:
        return NONE
    value = delta * 100
    if abs(value) < 0.05:
        return "+0.0"
    return f"{value:+.1f}" if abs(value) < 99.95 else f"{value:+.0f}"


def error_rate(errors: int, finished: int) -> str:
    """Errors among finished calls: ``0.46%``; ``-`` for nothing finished."""
    return f"{errors / finished * 100:.2f}%" if finished else NONE


def plural(number: int, noun: str) -> str:
    """``1 backend``, ``3 backends``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def folded(command: str, width: int) -> list[str]:
    """Cut a command between its words, with what a shell needs to read the lines as one."""
    first, *rest = _WORD.findall(command) or [""]
    lines = [first]
    for word in rest:
        if cell_len(lines[-1]) + cell_len(word) + len("  \\") > width:
            lines[-1] += " \\"
            lines.append("    " + word)
        else:
            lines[-1] += " " + word
    return lines
