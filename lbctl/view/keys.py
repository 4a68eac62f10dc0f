"""Bytes from a terminal into names of keys."""

from __future__ import annotations

_SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "OA": "up",
    "OB": "down",
    "OC": "right",
    "OD": "left",
    "[5~": "pgup",
    "[6~": "pgdn",
    "[H": "g",
    "[F": "G",
    "OH": "g",
    "OF": "G",
    "[1~": "g",
    "[4~": "G",
    "[7~": "g",
    "[8~": "G",
}
_CONTROLS = {"\r": "enter", "\n": "enter", "\x0c": "repaint", " ": "space", "\t": "tab", "\x7f": "backspace"}


def parse(chunk: bytes) -> list[str]:
    """Every key of one read; unknown sequences give nothing, a lone ESC byte at the end is the Esc key."""
    text = chunk.decode("utf-8", "replace")
    keys: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char == "\x1b":
            length = _sequence_length(text, position + 1)
            name = _SEQUENCES.get(text[position + 1 : position + 1 + length], "") if length else "esc"
            position += 1 + length
        else:
            name = _CONTROLS.get(char, char if char.isprintable() else "")
            position += 1
        if name:
            keys.append(name)
    return keys


def _sequence_length(text: str, start: int) -> int:
    """Characters of the escape sequence after its ESC; 0 if there is none."""
    if text[start : start + 1] == "O":
        return min(2, len(text) - start)
    if text[start : start + 1] != "[":
        return 0
    end = start + 1
    while end < len(text) and not "@" <= text[end] <= "~":
        end += 1
    return min(end + 1, len(text)) - start
