"""Recorded arrivals: a file with the time of a call on every line."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lbctl.errors import UsageError

_LONGEST_S: Final = 366 * 24 * 3600.0


def read_arrivals(path: Path) -> array[int]:
    """Nanoseconds from the first call on, in order, of a file of ``arrivals``; raises UsageError where it is none."""
    try:
        with path.open(encoding="utf-8") as lines:
            found = arrivals(lines)
    except OSError as error:
        raise UsageError(f"--replay: cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--replay: {path} is not text") from None
    except ValueError as error:
        raise UsageError(
            f"--replay: {path}, {error}",
            "a line is a time in seconds, or as 2026-01-31T12:00:00.5Z; what follows a comma or blank is left out",
        ) from None
    if not found:
        raise UsageError(f"--replay: {path} has no times")
    return found


def arrivals(lines: Iterable[str]) -> array[int]:
    """The times of these lines, nanoseconds from the first one, in order.

    A line begins with a number of seconds or a date with a time; empty ones, those that begin with ``#`` and a first
    one with names of columns are left out. Raises ValueError, which names the line, for everything else.
    """
    times: list[float] = []
    started = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        word = text.replace(",", " ").replace("\t", " ").replace(";", " ").split(" ")[0]
        when = _seconds(word) if word else None
        if when is None and started:
            raise ValueError(f"line {number}: {text[:40]!r} does not begin with a time")
        started = True
        if when is not None:
            times.append(when)
    times.sort()
    if times and times[-1] - times[0] > _LONGEST_S:
        raise ValueError(f"last line: {times[-1] - times[0]:g}s after the first is more than a year")
    first = times[0] if times else 0.0
    return array("q", (round((when - first) * 1e9) for when in times))


def _seconds(word: str) -> float | None:
    """The time that a word is, in seconds since some moment; None for a word that is none."""
    try:
        seconds = float(word)
    except ValueError:
        pass
    else:
        return seconds if math.isfinite(seconds) else None
    try:
        when = datetime.fromisoformat(word)
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
