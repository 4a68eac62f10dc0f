"""What the terminal around us can do, decided once from the environment and the open streams; see ``decide``."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from lbctl.view.theme import ASCII, Glyphs, Style, glyphs_for, style_for

FPS, FPS_REMOTE = 8.0, 4.0


@dataclass(frozen=True, slots=True)
class Streams:
    """Facts about the three streams; ``foreground`` is whether we may change the terminal's modes."""

    stdin_tty: bool
    stdout_tty: bool
    stderr_tty: bool
    foreground: bool
    stdout_encoding: str | None
    stderr_encoding: str | None
    stdout_columns: int | None = None  # of the terminal that stdout is
    tty_opens: bool = False  # /dev/tty can be opened


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the person asked for by flag."""

    colour: str = "auto"  # auto | always | never
    ui: str = "auto"  # auto | live | plain | none
    ascii_only: bool = False
    fps: float | None = None


@dataclass(slots=True)
class Measured:
    """What a terminal tells once it is asked, which a live view does."""

    wide: bool = False  # our glyphs take two cells


@dataclass(frozen=True, slots=True)
class Caps:
    """What each stream may be given. ``screen`` is live | plain | none, ``keys`` is stdin | tty | none."""

    screen: str
    keys: str
    out_style: Style
    err_style: Style
    out_glyphs: Glyphs
    err_glyphs: Glyphs
    out_width: int | None  # None: as wide as the content
    fps: float
    refused: str = ""  # why there is no live view although it was asked for
    out_tty: bool = False
    measured: Measured = field(default_factory=Measured, compare=False)

    @property
    def result_glyphs(self) -> Glyphs:
        """Those of standard output after a live view."""
        return ASCII if self.measured.wide and self.out_tty else self.out_glyphs


def decide(env: Mapping[str, str], streams: Streams, wishes: Wishes | None = None) -> Caps:
    """One answer for the whole process. Colour never switches animation on, and no colour never switches it off."""
    wishes = wishes or Wishes()
    obstacle = _obstacle(env, streams)
    screen = _screen(env, wishes.ui, obstacle)
    dumb = _dumb(env)
    ascii_only = wishes.ascii_only or _set(env, "LBCTL_ASCII") or dumb
    # outside a terminal, characters beyond ASCII in talk help nobody
    err_ascii = ascii_only or not streams.stderr_tty
    return Caps(
        screen=screen,
        keys=_keys(streams) if screen == "live" else "none",
        # What forces colour in a whole environment is for people who read logs: a program reads a pipe's results.
        out_style=_style(env, wishes.colour, tty=streams.stdout_tty and not dumb, forceable=False),
        err_style=_style(env, wishes.colour, tty=streams.stderr_tty and not dumb, forceable=True),
        out_glyphs=glyphs_for(streams.stdout_encoding, ascii_only=ascii_only),
        err_glyphs=glyphs_for(streams.stderr_encoding, ascii_only=err_ascii),
        out_width=_width(env, streams),
        fps=wishes.fps or (FPS_REMOTE if _set(env, "SSH_CONNECTION") else FPS),
        refused=obstacle if wishes.ui == "live" else "",
        out_tty=streams.stdout_tty,
    )


def _obstacle(env: Mapping[str, str], streams: Streams) -> str:
    """Return why a live view cannot be drawn; "" if it can."""
    if not streams.stderr_tty:
        return "standard error is not a terminal"
    if not streams.foreground:
        return "lbctl is in the background"
    if _dumb(env):
        return f"TERM is {env['TERM']}" if env.get("TERM") else "TERM is not set"
    return ""


def _screen(env: Mapping[str, str], ui: str, obstacle: str) -> str:
    if ui in ("plain", "none"):
        return ui
    if obstacle:
        return "plain"
    return "plain" if ui == "auto" and _set(env, "CI") else "live"


def _keys(streams: Streams) -> str:
    if streams.stdin_tty:
        return "stdin"
    return "tty" if streams.tty_opens else "none"


def _style(env: Mapping[str, str], wish: str, *, tty: bool, forceable: bool) -> Style:
    if wish == "auto":
        wish = env.get("LBCTL_COLOR", "auto")
    return style_for(colour=_coloured(env, wish, tty=tty, forceable=forceable), attributes=tty)


def _coloured(env: Mapping[str, str], wish: str, *, tty: bool, forceable: bool) -> bool:
    if wish in ("always", "never"):
        return wish == "always"
    if env.get("NO_COLOR"):
        return False
    if any(_set(env, name) for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return tty or forceable
    return tty and env.get("CLICOLOR") != "0"


def _width(env: Mapping[str, str], streams: Streams) -> int | None:
    if streams.stdout_tty and streams.stdout_columns:
        return streams.stdout_columns
    columns = env.get("COLUMNS", "")
    return int(columns) if columns.isascii() and columns.isdigit() and int(columns) > 0 else None


def _dumb(env: Mapping[str, str]) -> bool:
    return env.get("TERM", "") in ("", "dumb")


def _set(env: Mapping[str, str], name: str) -> bool:
    return env.get(name, "") not in ("", "0", "false")


def observe() -> Streams:
    """Look at this process's own streams."""
    return Streams(
        stdin_tty=_is_tty(0),
        stdout_tty=_is_tty(1),
        stderr_tty=_is_tty(2),
        foreground=_is_foreground(2),
        stdout_encoding=getattr(sys.stdout, "encoding", None),
        stderr_encoding=getattr(sys.stderr, "encoding", None),
        stdout_columns=_columns(1),
        tty_opens=_opens("/dev/tty"),
    )


def _is_tty(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _is_foreground(fd: int) -> bool:
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except (OSError, AttributeError):
        return False


def _columns(fd: int) -> int | None:
    try:
        return os.get_terminal_size(fd).columns or None
    except OSError:
        return None


def _opens(path: str) -> bool:
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDONLY | getattr(os, "O_NOCTTY", 0)))
        return True
    return False
