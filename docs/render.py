"""Pictures of the screens, for the README and these pages.

``python docs/render.py OUT.png [WIDTH HEIGHT [BACKENDS]]`` draws a frame of the invented run of the tests;
``tmux capture-pane -e -p | python docs/render.py OUT.png --screen [WIDTH]`` draws what a terminal shows;
``python docs/retake.py`` takes those of the README anew.
Needs the ``dev`` extra (pillow) and the DejaVu Sans Mono font.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from PIL import Image, ImageDraw, ImageFont

from lbctl.view.hammer_frame import build
from lbctl.view.theme import COLOUR, UNICODE
from lbctl.view.watch_frame import build_watch
from lbctl.view.watch_ui import WatchUi
from tests.view.sample import sample, seasoned
from tests.view.sample_watch import watch_sample

_BACKGROUND, _TEXT, _BOLD = "#16181d", "#c9ced6", "#ffffff"
_COLOURS = {
    31: "#f0716b",
    32: "#7fc97a",
    33: "#e0b352",
    34: "#6c9fe8",
    35: "#c58fe0",
    36: "#58c0c0",
    90: "#6d7480",
}
_SIZE, _MARGIN = 26, 24
_SGR = re.compile(r"\x1b\[([0-9;]*)m")


class Run(NamedTuple):
    """Characters that look alike."""

    text: str
    colour: str
    bold: bool
    reverse: bool


class Pen:
    """What the next character looks like; tmux tells only what changes, also from one line to the next."""

    def __init__(self) -> None:
        self._colour, self._bold, self._reverse = _TEXT, False, False

    def runs(self, line: str) -> Iterator[Run]:
        """Return the line cut where its appearance changes."""
        position = 0
        for match in _SGR.finditer(line):
            if match.start() > position:
                yield self._run(line[position : match.start()])
            for code in map(int, (match.group(1) or "0").split(";")):
                self._take(code)
            position = match.end()
        if position < len(line):
            yield self._run(line[position:])

    def _run(self, text: str) -> Run:
        bright = self._bold and self._colour == _TEXT
        return Run(text, _BOLD if bright else self._colour, self._bold, self._reverse)

    def _take(self, code: int) -> None:
        if code == 0:
            self._colour, self._bold, self._reverse = _TEXT, False, False
        elif code in (1, 22):
            self._bold = code == 1
        elif code in (7, 27):
            self._reverse = code == 7
        elif code == 39:
            self._colour = _TEXT
        else:
            self._colour = _COLOURS.get(code, self._colour)


def picture(lines: list[str], width: int) -> Image.Image:
    """Return the frame as a terminal would show it."""
    fonts = {bold: _font(bold=bold) for bold in (False, True)}
    cell = round(fonts[False].getlength("M"))
    high = round(_SIZE * 1.25)
    image = Image.new("RGB", (cell * width + 2 * _MARGIN, high * len(lines) + 2 * _MARGIN), _BACKGROUND)
    draw, pen = ImageDraw.Draw(image), Pen()
    for row, line in enumerate(lines):
        column, top = 0, _MARGIN + row * high
        for run in pen.runs(line):
            left = _MARGIN + column * cell
            if run.reverse:
                draw.rectangle((left, top, left + cell * len(run.text) - 1, top + high - 1), fill=run.colour)
            colour = _BACKGROUND if run.reverse else run.colour
            for index, char in enumerate(run.text):
                _glyph(draw, char, left + index * cell, top, cell, high, colour, fonts[run.bold])
            column += len(run.text)
    return image


_LEVELS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def _glyph(
    draw: ImageDraw.ImageDraw,
    char: str,
    x: int,
    y: int,
    cell: int,
    high: int,
    colour: str,
    font: ImageFont.FreeTypeFont,
) -> None:
    """Draw one cell; blocks and lines fill it exactly, as terminals do, the rest comes from the font."""
    if char in _LEVELS[1:]:
        height = round(high * _LEVELS.index(char) / 8)
        draw.rectangle((x, y + high - height, x + cell - 1, y + high - 1), fill=colour)
    elif char in _EIGHTHS[1:]:
        draw.rectangle((x, y, x + max(round(cell * _EIGHTHS.index(char) / 8), 1) - 1, y + high - 1), fill=colour)
    elif char in "─━╸":
        thick = 2 if char == "─" else 6
        right = x + (cell // 2 if char == "╸" else cell) - 1
        draw.rectangle((x, y + high // 2 - thick // 2, right, y + high // 2 + thick // 2 - 1), fill=colour)
    elif char in "│┃":
        thick = 2 if char == "│" else 5
        middle = x + cell // 2 - thick // 2
        draw.rectangle((middle, y, middle + thick - 1, y + high - 1), fill=colour)
    elif char != " ":
        draw.text((x, y), char, fill=colour, font=font)


def _font(*, bold: bool) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype("DejaVuSansMono-Bold.ttf" if bold else "DejaVuSansMono.ttf", _SIZE)


def frame(width: int, height: int, backends: int, *, skewed: bool = False) -> list[str]:
    """Return a frame of the invented run."""
    report = sample(backends, skewed=skewed)
    return build(report, seasoned(report), width, height, COLOUR, UNICODE)


def main(arguments: list[str]) -> None:
    """Write one picture; a name that starts with ``watch`` is of the watch."""
    out = Path(arguments[0])
    if arguments[1:2] == ["--screen"]:
        width = int(arguments[2]) if arguments[2:] else 80
        return save(picture(sys.stdin.read().rstrip("\n").split("\n"), width), out)
    width, height, backends = (int(word) for word in [*arguments[1:4], *("80", "24", "5")[len(arguments[1:4]) :]])
    if out.name.startswith("watch"):
        lines = build_watch(watch_sample(), WatchUi(), width, height, COLOUR, UNICODE)
    else:
        lines = frame(width, height, backends, skewed="skew" in out.name)
    return save(picture(lines, width), out)


def save(image: Image.Image, out: Path) -> None:
    """Write the picture, small."""
    image.quantize(256, Image.Quantize.MAXCOVERAGE).save(out, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
