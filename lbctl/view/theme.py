"""What things look like: SGR codes per role, and the glyph sets. Colour is never the only carrier of a meaning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from lbctl.view import text as words

_SHORT: Final = 100  # characters


@dataclass(frozen=True, slots=True)
class Style:
    """The SGR sequence that switches each role on; ``reset`` ends all. Empty strings where a role is not drawn.

    Only the 16 base colours are used, so the user's own theme decides what they look like.
    """

    ok: str
    warn: str
    err: str
    accent: str
    bar: str
    latency: str
    muted: str
    bold: str
    reverse: str
    reset: str

    @property
    def colour(self) -> bool:
        return bool(self.ok)


PLAIN = Style("", "", "", "", "", "", "", bold="", reverse="", reset="")
MONOCHROME = Style("", "", "", "", "", "", "", bold="\x1b[1m", reverse="\x1b[7m", reset="\x1b[0m")
COLOUR = Style(
    ok="\x1b[32m",
    warn="\x1b[33m",
    err="\x1b[31m",
    accent="\x1b[36m",
    bar="\x1b[34m",
    latency="\x1b[35m",
    muted="\x1b[90m",
    bold="\x1b[1m",
    reverse="\x1b[7m",
    reset="\x1b[0m",
)


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of drawing characters, all one cell wide. ``eighths`` and ``levels`` grow from least to full."""

    thin: str
    thin_half: str
    tick: str
    eighths: str
    track: str
    levels: str
    rule: str
    wall: str
    selected: str
    ready: str
    half: str
    gone: str
    out: str  # kept out of the rotation
    aside: str  # not used, although nothing is wrong with it
    ellipsis: str
    dot: str
    delta: str
    corners: str  # top left, top right, bottom left, bottom right
    ascii: bool = False


UNICODE = Glyphs(
    thin="━",
    thin_half="╸",
    tick="┃",
    eighths="▏▎▍▌▋▊▉█",
    track="░",
    levels="▁▂▃▄▅▆▇█",
    rule="─",
    wall="│",
    selected="▸",
    ready="●",
    half="◐",
    gone="○",
    out="⊘",
    aside="◌",
    ellipsis="…",
    dot="·",
    delta="Δ",
    corners="┌┐└┘",
)
ASCII = Glyphs(
    thin="=",
    thin_half="-",
    tick="|",
    eighths="-=#",
    track=".",
    levels="_.-=+*#%",
    rule="-",
    wall="|",
    selected=">",
    ready="*",
    half="o",
    gone="x",
    out="!",
    aside="-",
    ellipsis="~",
    dot="-",
    delta="d",
    corners="++++",
    ascii=True,
)


def glyphs_for(encoding: str | None, *, ascii_only: bool = False) -> Glyphs:
    """Choose the Unicode set where the encoding has every glyph of it, otherwise the ASCII set."""
    if ascii_only or not encoding:
        return ASCII
    everything = "".join(_parts(UNICODE))
    try:
        everything.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def _parts(glyphs: Glyphs) -> list[str]:
    return [value for name in Glyphs.__slots__ if isinstance(value := getattr(glyphs, name), str)]


def style_for(*, colour: bool, attributes: bool = True) -> Style:
    """Colour, or bold and reverse only (NO_COLOR), or nothing at all (not a terminal)."""
    if colour:
        return COLOUR
    return MONOCHROME if attributes else PLAIN


@lru_cache(maxsize=2048)
def _cleaned(text: str, ascii_only: bool) -> str:
    """Clean names and addresses, which are in every frame."""
    return words.clean(text, ascii_only=ascii_only)


@lru_cache(maxsize=2048)
def _cells(text: str, ascii_only: bool) -> int:
    return words.cell_len(_cleaned(text, ascii_only))


class Look(NamedTuple):
    """The style and the glyphs that one screen is drawn with."""

    style: Style
    glyphs: Glyphs

    def show(self, text: str) -> str:
        """Text from outside, cleaned for this screen."""
        if len(text) > _SHORT:
            return words.clean(text, ascii_only=self.glyphs.ascii)
        return _cleaned(text, self.glyphs.ascii)

    def cells(self, text: str) -> int:
        """How many cells a name or an address from outside covers on this screen."""
        return _cells(text, self.glyphs.ascii)

    def paint(self, role: str, text: str) -> str:
        """Return the text in a role's colour; ``role`` is one of the style's sequences."""
        return f"{role}{text}{self.style.reset}" if role else text

    def elide(self, text: str, width: int) -> str:
        """Return the text cut on the right with this screen's ellipsis."""
        return words.elide(text, width, self.glyphs.ellipsis)

    def elide_left(self, text: str, width: int) -> str:
        """Return the text cut on the left with this screen's ellipsis."""
        return words.elide_left(text, width, self.glyphs.ellipsis)

    def elide_middle(self, text: str, width: int) -> str:
        """Return the text cut in the middle with this screen's ellipsis."""
        return words.elide_middle(text, width, self.glyphs.ellipsis)

    def left(self, text: str, width: int) -> str:
        """Exactly ``width`` cells: cut on the right or filled with blanks."""
        return words.left(text, width, self.glyphs.ellipsis)
