"""The pictures of docs/images, taken anew of real runs: ``python docs/retake.py [NAME...]``.

Needs tmux, the ``demo`` and ``dev`` extras, the DejaVu Sans Mono font, and a machine with nothing else to do.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from render import picture, save

_IMAGES = Path(__file__).parent / "images"
_SOCKET = f"lbctl-retake-{time.monotonic_ns()}"
_CLOCK = re.compile(r"(\d\d):(\d\d) *$")
_RUN = (
    f"{Path(sys.executable).parent}/lbctl demo -b 5 --weights 5,3,2,1,1 --latency 'lognormal(2ms,0.5)' --errors 0.5%"
    " -- lbctl hammer echo Echo/Say -z 20s -c 8"
)
_TAKEN_AT_S = 14
_PATIENCE_S = 60


class Screen(NamedTuple):
    """A picture: the window it is taken in."""

    name: str
    width: int
    height: int


_SCREENS = (Screen("hammer", 80, 24), Screen("hammer-wide", 140, 45))


def taken(screen: Screen) -> list[str]:
    """Return what the window shows when the run has gone on for a while."""
    size = ("-x", str(screen.width), "-y", str(screen.height))
    _tmux("new-session", "-d", "-s", screen.name, *size, _RUN)
    try:
        return _after(screen.name, _TAKEN_AT_S)
    finally:
        _tmux("kill-session", "-t", screen.name)


def _after(name: str, seconds: int) -> list[str]:
    """Wait until the clock in the title has come that far."""
    for _ in range(_PATIENCE_S * 4):
        title = _tmux("capture-pane", "-p", "-t", name).split("\n", 1)[0]
        found = _CLOCK.search(title)
        if found and int(found[1]) * 60 + int(found[2]) >= seconds:
            return _tmux("capture-pane", "-e", "-p", "-t", name).rstrip("\n").split("\n")
        time.sleep(0.25)
    raise SystemExit(f"{name}: no run after {_PATIENCE_S} s; the window shows: {title!r}")


def _tmux(*arguments: str) -> str:
    done = subprocess.run(["tmux", "-L", _SOCKET, "-u", *arguments], check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    for each in _SCREENS:
        if not sys.argv[1:] or each.name in sys.argv[1:]:
            save(picture(taken(each), each.width), _IMAGES / f"{each.name}.png")
