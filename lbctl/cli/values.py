"""Values as people type them: durations, counts, percentages, addresses. Every refusal says what was wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import TypeVar

import typer

from lbctl.model import Endpoint

T = TypeVar("T")

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_MULTIPLES = {"": 1, "k": 1000, "m": 1_000_000}
_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
_PART = re.compile(rf"({_NUMBER})([^\d.\s]*)")
_LONGEST_S = 366 * 24 * 3600.0
_LARGEST_COUNT = 10**12


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
    """Seconds of ``500ms``, ``10s``, ``1m30s``, ``1h``; a bare number is seconds."""
    given = text.strip()
    if not given:
        raise ValueError("a duration is missing (for example 500ms, 10s, 1m30s)")
    if given.startswith("-"):
        raise ValueError(f"{text!r}: a duration cannot be negative")
    if re.fullmatch(_NUMBER, given):
        return _not_too_long(text, float(given))
    seconds, end = 0.0, 0
    for part in _PART.finditer(given):
        if part.start() != end:
            break
        seconds += float(part[1]) * _unit(text, part[2])
        end = part.end()
    if end != len(given):
        raise ValueError(f"{text!r} is not a duration (for example 500ms, 10s, 1m30s)")
    return _not_too_long(text, seconds)


def _unit(text: str, unit: str) -> float:
    if unit in _UNITS:
        return _UNITS[unit]
    if not unit:
        raise ValueError(f"{text!r}: the last part has no unit (use ns, us, ms, s, m or h)")
    raise ValueError(f"{text!r}: unknown unit {unit!r} (use ns, us, ms, s, m or h)")


def _not_too_long(text: str, seconds: float) -> float:
    if seconds > _LONGEST_S:
        raise ValueError(f"{text!r} is longer than a year")
    return seconds


def parse_positive_duration(text: str) -> float:
    """As :func:`parse_duration`, and more than zero."""
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError(f"{text!r}: must be more than 0")
    return seconds


def parse_count(text: str) -> int:
    """Read a whole number, 1 or more: ``200``, ``10k``, ``1.5k``, ``1m``."""
    match = re.fullmatch(rf"({_NUMBER})([a-zA-Z]*)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a count (for example 200, 10k, 1m)")
    multiple = _MULTIPLES.get(match[2].lower())
    if multiple is None:
        raise ValueError(f"{text!r}: unknown multiple {match[2]!r} (use k for thousand, m for million)")
    value = Fraction(match[1]) * multiple
    if value.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number")
    if value < 1:
        raise ValueError(f"{text!r}: must be 1 or more")
    if value > _LARGEST_COUNT:
        raise ValueError(f"{text!r}: must be 1000000m or less")
    return int(value)


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
    share = float(Fraction(match[1]) / 100)
    if share > 1:
        raise ValueError(f"{text!r}: must be 100% or less")
    return share


def parse_endpoint(text: str, default_port: int | None = None) -> Endpoint:
    """``host:port`` or ``[v6]:port``; the port may be left out where a default is given."""
    given = text.strip()
    host, port = _split_host(text, given)
    if not host:
        raise ValueError(f"{text!r} has no host (write host:port)")
    if re.search(r"[\s/@\[\]]", host):
        raise ValueError(f"{text!r} is not host:port")
    if port is None:
        if default_port is None:
            raise ValueError(f"{text!r} has no port (write host:port)")
        return Endpoint(host, default_port)
    return Endpoint(host, _port(text, port))


def _split_host(text: str, given: str) -> tuple[str, str | None]:
    """Host without brackets, and the port's text where there is one."""
    if given.startswith("["):
        match = re.fullmatch(r"\[([0-9A-Fa-f:.%\w]+)\](?::(.*))?", given)
        if match is None:
            raise ValueError(f"{text!r} is not [IPv6]:port")
        return match[1], match[2]
    if given.count(":") > 1:
        raise ValueError(f"{text!r}: an IPv6 address needs brackets{_bracketed(given)}")
    head, colon, tail = given.partition(":")
    return head, tail if colon else None


def _bracketed(given: str) -> str:
    """Spell what may have been meant by an IPv6 address without brackets, with or without a port."""
    from ipaddress import AddressValueError, IPv6Address

    host, _, port = given.rpartition(":")
    meant = []
    for address, spelled in ((host, f"[{host}]:{port}"), (given, f"[{given}]:PORT")):
        try:
            IPv6Address(address)
        except AddressValueError:
            continue
        meant.append(spelled)
    return f" (did you mean {' or '.join(meant)}?)" if meant else ""


def _port(text: str, port: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", port):
        raise ValueError(f"{text!r}: port {port!r} is not a number")
    number = int(port)
    if not 1 <= number <= 65535:
        raise ValueError(f"{text!r}: port {number} is not in 1..65535")
    return number


def parse_endpoints(text: str) -> tuple[Endpoint, ...]:
    """Read ``--endpoints``: comma-separated host:port, each with or without http:// (port 2379 if left out)."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ValueError("no etcd endpoint given (for example 127.0.0.1:2379)")
    if len({part.partition("://")[0] for part in parts if "://" in part}) > 1:
        raise ValueError(f"{text!r} mixes http and https")
    return tuple(parse_endpoint(_without_scheme(part), 2379) for part in parts)


def _without_scheme(text: str) -> str:
    scheme, found, rest = text.partition("://")
    if not found:
        return text
    if scheme not in ("http", "https"):
        raise ValueError(f"{text!r}: unknown scheme {scheme!r} (use http or https, or none)")
    return rest.rstrip("/")


def names_https(text: str) -> bool:
    """Whether any of the comma-separated endpoints asks for TLS by its scheme."""
    return any(part.strip().startswith("https://") for part in text.split(","))


def parse_label(text: str) -> tuple[str, str]:
    """``key=value`` of ``-l``; the value may be empty, the key may not."""
    key, found, value = text.partition("=")
    if not found or not key.strip():
        raise ValueError(f"{text!r} is not key=value")
    return key.strip(), value.strip()


def parse_weighted_endpoints(text: str) -> tuple[tuple[Endpoint, int], ...]:
    """Read ``--backends``: comma-separated host:port, each with or without ``=weight`` (1 if left out)."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ValueError("no backend given (for example 127.0.0.1:50051=5,127.0.0.1:50052)")
    return tuple(_weighted(part) for part in parts)


def _weighted(part: str) -> tuple[Endpoint, int]:
    address, found, weight = part.partition("=")
    endpoint = parse_endpoint(address)
    if not found:
        return endpoint, 1
    if not re.fullmatch(r"[0-9]{1,9}", weight):
        raise ValueError(f"{part!r}: weight {weight!r} is not a whole number of at most 9 digits")
    return endpoint, int(weight)
