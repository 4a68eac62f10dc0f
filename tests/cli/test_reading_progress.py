"""How far the reading of a big registry is: only on a terminal, only where it takes long, and gone afterwards."""

from __future__ import annotations

import io

from lbctl.cli.reading_progress import reading


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(terminal: io.StringIO, told: list[tuple[float, int]], *, quiet: bool = False) -> str:
    now = 0.0
    with reading(quiet=quiet, stream=terminal, clock=lambda: now) as tell:
        for now, seen in told:  # noqa: B007 - the clock reads it
            if tell is not None:
                tell(seen)
    return terminal.getvalue()


def test_what_takes_a_moment_is_not_told() -> None:
    assert shown(Terminal(), [(0.1, 1000), (0.9, 9000)]) == ""


def test_what_takes_long_is_told_now_and_then_and_wiped() -> None:
    told = [(1.0, 1000), (1.1, 2000), (1.2, 100_000)]
    first, second = "reading etcd: 1,000 keys", "reading etcd: 100,000 keys"
    assert shown(Terminal(), told) == f"\r{first}\r{second}\r{' ' * len(second)}\r"


def test_nobody_is_told_who_is_quiet_or_no_terminal() -> None:
    assert shown(Terminal(), [(5.0, 1)], quiet=True) == ""
    assert shown(io.StringIO(), [(5.0, 1)]) == ""
