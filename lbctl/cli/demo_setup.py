"""From the texts of ``lbctl demo``'s options to a Setup; every refusal names its option."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lbctl.cli.layouts import WRITERS
from lbctl.cli.lease_values import parse_ttl
from lbctl.cli.values import parse_duration, parse_percent
from lbctl.demo.certificates import Tls
from lbctl.demo.latency import Fixed, Latency, LogNormal
from lbctl.demo.scene import Setup
from lbctl.discovery.codecs.registration import Wanted
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.registering import has_weights, preview
from lbctl.errors import UsageError
from lbctl.model import Endpoint

DEFAULT_BACKENDS = 3
FIRST_WEIGHT = 5  # of --weights left out: 5,1,1
MOST_BACKENDS = 64
MOST_WEIGHT = 999_999_999  # nine digits, the most that the seed layout reads
MOST_SIGMA = 5.0
_ITEM = re.compile(r"(?:[^,()]|\([^()]*\))*")  # a comma inside brackets does not separate
_LOGNORMAL = re.compile(r"lognormal\(([^,()]+),([^,()]+)\)")
_NUMBER = re.compile(r"\d+(\.\d+)?|\.\d+")
_NAME = re.compile(r"[A-Za-z0-9._-]+")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Texts:
    """The options as typed; None where one was left out."""

    backends: int | None
    weights: str | None
    latency: str
    errors: str
    layout: str
    services: tuple[str, ...]
    ttl: str
    seed: int
    etcd_bin: str | None
    tls: bool = False
    mtls: bool = False
    orca: bool = False


def parse_setup(texts: Texts) -> Setup:
    """The Setup that the options describe; raises UsageError."""
    weights = None if texts.weights is None else _list("--weights", texts.weights, parse_weight)
    latencies = _list("--latency", texts.latency, parse_latency)
    error_rates = _list("--errors", texts.errors, parse_percent)
    lists: dict[str, Sequence[object]] = {"--weights": weights or [], "--latency": latencies, "--errors": error_rates}
    count = _count(texts.backends, lists)
    layout = _layout(texts.layout)
    return Setup(
        weights=_weights(weights, count, layout),
        latencies=_spread(latencies, count),
        error_rates=_spread(error_rates, count),
        services=_services(texts.services, layout),
        layout=layout,
        ttl_s=_ttl(texts.ttl),
        seed=texts.seed,
        etcd_binary=texts.etcd_bin,
        tls=Tls.MUTUAL if texts.mtls else Tls.SERVER if texts.tls else Tls.OFF,
        orca=texts.orca,
    )


def parse_latency(text: str) -> Latency:
    """``2ms``, or ``lognormal(MEDIAN,SIGMA)``; raises ValueError."""
    if "(" not in text:
        return Fixed(parse_duration(text))
    match = _LOGNORMAL.fullmatch(text.replace(" ", ""))
    if match is None:
        raise ValueError(f"{text!r} is not a distribution (for example lognormal(2ms,0.5))")
    median, sigma = parse_duration(match[1]), match[2]
    if not _NUMBER.fullmatch(sigma) or float(sigma) > MOST_SIGMA:
        raise ValueError(f"{text!r}: sigma {sigma!r} is not a number from 0 to {MOST_SIGMA:g}")
    return LogNormal(median, float(sigma))


def parse_weight(text: str) -> int:
    """A whole number from 0 (listed, never picked) to 999999999; raises ValueError."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"{text!r} is not a whole number from 0 to {MOST_WEIGHT}")
    return int(text)


def _list(option: str, text: str, parse: Callable[[str], T]) -> list[T]:
    try:
        return [parse(item) for item in _split(text)]
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _split(text: str) -> list[str]:
    """The items between the top-level commas, each stripped; raises ValueError for an empty one."""
    items, start = [], 0
    while True:
        match = _ITEM.match(text, start)
        assert match is not None
        items.append(match[0].strip())
        if match.end() == len(text):
            break
        if text[match.end()] != ",":
            raise ValueError(f"{text!r} has a bracket without its partner")
        start = match.end() + 1
    if not all(items):
        raise ValueError(f"{text!r} has an empty place" if text.strip() else "the list is empty")
    return items


def _count(asked: int | None, lists: dict[str, Sequence[object]]) -> int:
    """How many backends: as many as asked for, or as the lists have; a list of one fits any number."""
    sizes = {option: len(items) for option, items in lists.items() if len(items) > 1}
    count, source = (asked, "--backends") if asked is not None else _first(sizes)
    if not 1 <= count <= MOST_BACKENDS:
        raise UsageError(f"{source}: {count} backends are not possible", f"from 1 to {MOST_BACKENDS}")
    for option, size in sizes.items():
        if size != count:
            wanted = f"{source} asks for {count} {'backend' if count == 1 else 'backends'}"
            raise UsageError(f"{option} has {size} values, {wanted}", "give one value for all, or one per backend")
    return count


def _first(sizes: dict[str, int]) -> tuple[int, str]:
    return next(((size, option) for option, size in sizes.items()), (DEFAULT_BACKENDS, "--backends"))


def _spread(items: Sequence[T], count: int) -> tuple[T, ...]:
    return tuple(items) * count if len(items) == 1 else tuple(items)


def _weights(given: Sequence[int] | None, count: int, layout: str) -> tuple[int, ...]:
    if not has_weights(layout):
        if given is not None:
            raise UsageError(f"--weights: the layout {layout} has no weights", "leave --weights out")
        return (1,) * count
    if given is None:
        return (FIRST_WEIGHT, *[1] * (count - 1))
    for weight in given:
        _written("--weights", layout, weight=weight)
    return _spread(given, count)


def _layout(name: str) -> str:
    if name not in WRITERS:
        raise UsageError(f"--layout: there is no layout {name!r}", f"use one of: {', '.join(WRITERS)}")
    return name


def _services(names: tuple[str, ...], layout: str) -> tuple[str, ...]:
    for name in names:
        # A target of etcd's own naming may be a path; elsewhere a name is one segment.
        parts = name.removeprefix("/").split("/") if layout == "etcd-naming" else [name]
        if not all(_NAME.fullmatch(part) for part in parts):
            raise UsageError(
                f"--service: {name!r} is not a service name", "use letters, digits, dot, dash and underscore"
            )
        _written("--service", layout, service=name)
    if len(set(names)) < len(names):
        raise UsageError(f"--service: a name is given twice: {', '.join(names)}")
    return names


def _written(option: str, layout: str, service: str = "echo", weight: int | None = None) -> None:
    try:
        preview(layout, Wanted(service, Endpoint("127.0.0.1", 1), weight))
    except Unusable as flaw:
        raise UsageError(f"{option}: {flaw.reason}") from None


def _ttl(text: str) -> int:
    try:
        return parse_ttl(text)
    except ValueError as error:
        raise UsageError(f"--ttl: {error}") from None
