"""A result on standard output, and on standard error what is to be said about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lbctl.cli.settings import Settings
from lbctl.cli.talking import say


def hidden_note(hidden: Sequence[str]) -> list[str]:
    """Return the line that names the columns a table had no room for; nothing where it has them all."""
    return [f"hidden: {', '.join(hidden)} (use -o wide)"] if hidden else []


def print_result(text: str, notes: Iterable[str], settings: Settings) -> None:
    """Print a text, if there is one, and the notes unless -q."""
    if text:
        print(text, flush=True)  # noqa: T201
    if not settings.quiet:
        for note in notes:
            say(note)
