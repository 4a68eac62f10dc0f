"""Values as people type them: durations, counts, sizes, rates, percentages. Every refusal says what was wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from fractions import Fraction

T = TypeVar("T")

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_MULTIPLES = {"": 1, "k": 1000, "m": 1_000_000}
_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
_DECIMAL = rf"(?:{_NUMBER})(?:[eE][+-]?\d+)?"
_PART = re.compile(rf"({_DECIMAL})([^\d.\s]*)")
_LONGEST_S = 366 * 24 * 3600.0
_LARGEST_COUNT = 10**12
_SIZES = {"": 1, "b": 1} | {
    unit + tail: step**power
    for power, unit in enumerate("kmg", 1)
    for tail, step in (("", 1024), ("ib", 1024), ("b", 1000))
}
_LARGEST_SIZE = 2 << 30
_PERIODS = {"s": 1, "m": 60, "h": 3600}
_LARGEST_RATE = 10_000_000


def option_parser(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Make a parser of this module usable as typer's ``parser=``: its ValueError becomes a usage error.

    typer also hands defaults through the parser, already parsed: those pass unchanged.
    """

    @wraps(parse)
    def checked(text: str) -> T:
        if not isinstance(text, str):
            return text
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return checked


def parse_duration(text: str) -> float:
    """Seconds of ``500ms``, ``10s``, ``1m30s``, ``1h``; a bare number is seconds; no more than a year."""
    seconds = _seconds(text)
    if seconds > _LONGEST_S:
        raise ValueError(f"{text!r} is longer than a year")
    return seconds


def parse_positive_duration(text: str) -> float:
    """As :func:`parse_duration`, and more than zero."""
    return _positive(text, parse_duration(text))


def parse_timeout(text: str) -> float:
    """Seconds that something may take at most; a limit of over a year never ends anything, and is one of a year."""
    return min(_seconds(text), _LONGEST_S)


def parse_positive_timeout(text: str) -> float:
    """As :func:`parse_timeout`, and more than zero."""
    return _positive(text, parse_timeout(text))


def _seconds(text: str) -> float:
    given = text.strip()
    if not given:
        raise ValueError("a duration is missing (for example 500ms, 10s, 1m30s)")
    if given.startswith("-"):
        raise ValueError(f"{text!r}: a duration cannot be negative")
    if re.fullmatch(_DECIMAL, given):
        return float(given)
    seconds, end = 0.0, 0
    for part in _PART.finditer(given):
        if part.start() != end:
            break
        seconds += float(part[1]) * _unit(text, part[2])
        end = part.end()
    if end != len(given):
        raise ValueError(f"{text!r} is not a duration (for example 500ms, 10s, 1m30s)")
    return seconds


def _unit(text: str, unit: str) -> float:
    if unit in _UNITS:
        return _UNITS[unit]
    if not unit:
        raise ValueError(f"{text!r}: the last part has no unit (use ns, us, ms, s, m or h)")
    raise ValueError(f"{text!r}: unknown unit {unit!r} (use ns, us, ms, s, m or h)")


def _positive(text: str, seconds: float) -> float:
    if seconds <= 0:
        raise ValueError(f"{text!r}: must be more than 0")
    return seconds


def _exact(number: str) -> Fraction:
    from fractions import Fraction

    return Fraction(number)


def parse_count(text: str) -> int:
    """Read a whole number, 1 or more: ``200``, ``10k``, ``1.5k``, ``1m``."""
    match = re.fullmatch(rf"({_NUMBER})([a-zA-Z]*)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a count (for example 200, 10k, 1m)")
    multiple = _MULTIPLES.get(match[2].lower())
    if multiple is None:
        raise ValueError(f"{text!r}: unknown multiple {match[2]!r} (use k for thousand, m for million)")
    value = _exact(match[1]) * multiple
    if value.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number")
    if value < 1:
        raise ValueError(f"{text!r}: must be 1 or more")
    if value > _LARGEST_COUNT:
        raise ValueError(f"{text!r}: must be 1000000m or less")
    return int(value)


def parse_count_or_none(text: str) -> int:
    """As :func:`parse_count`, or 0."""
    return 0 if text.strip() == "0" else parse_count(text)


def parse_size(text: str) -> int:
    """Octets of ``4MiB``, ``64k``, ``1048576``: steps of 1024, or of 1000 where the unit is kB, MB or GB."""
    match = re.fullmatch(rf"({_NUMBER})\s*([a-zA-Z]*)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size (for example 4MiB, 512KiB, 1048576)")
    factor = _SIZES.get(match[2].lower())
    if factor is None:
        raise ValueError(f"{text!r}: unknown unit {match[2]!r} (use KiB, MiB or GiB)")
    value = _exact(match[1]) * factor
    if value.denominator != 1 or value < 1:
        raise ValueError(f"{text!r} is not a whole number of bytes, 1 or more")
    if value > _LARGEST_SIZE:
        raise ValueError(f"{text!r}: must be 2GiB or less")
    return int(value)


def parse_rate(text: str) -> float:
    """Calls a second of ``500``, ``10k``, ``500/s``, ``30/m``, ``1/h``; ``0`` is none."""
    match = re.fullmatch(rf"({_NUMBER})([kKmM]?)(?:/(s|m|h))?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a rate (for example 500, 10k, 500/s, 30/m)")
    rate = _exact(match[1]) * _MULTIPLES[match[2].lower()] / _PERIODS[match[3] or "s"]
    if rate > _LARGEST_RATE:
        raise ValueError(f"{text!r}: must be {_LARGEST_RATE // 1_000_000}m a second or less")
    return float(rate)


def parse_percent(text: str) -> float:
    """Read a share 0..1 from ``2%`` or ``0.5%``; ``0`` needs no sign."""
    given = text.strip()
    if given == "0":
        return 0.0
    match = re.fullmatch(rf"({_NUMBER})\s*(%?)", given)
    if match is None:
        raise ValueError(f"{text!r} is not a percentage (for example 0.5%)")
    if not match[2]:
        raise ValueError(f"{text!r}: write {given}% for per cent")
    share = float(_exact(match[1]) / 100)
    if share > 1:
        raise ValueError(f"{text!r}: must be 100% or less")
    return share


def parse_label(text: str) -> tuple[str, str]:
    """``key=value`` of ``-l``; the value may be empty, the key may not."""
    key, found, value = text.partition("=")
    if not found or not key.strip():
        raise ValueError(f"{text!r} is not key=value")
    return key.strip(), value.strip()
