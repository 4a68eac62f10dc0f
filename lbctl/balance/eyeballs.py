"""How pick_first of gRPC connects: the order of addresses, and when each attempt begins (gRFC A61, happy eyeballs)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple, TypeVar

from lbctl.model import Endpoint

T = TypeVar("T")

DELAY_MS: Final = 250.0
_LEAST_MS, _MOST_MS = 100.0, 2000.0


class Attempt(NamedTuple):
    """What happens to a connection attempt: ready or failed after so long, or never heard of again."""

    takes_ms: float | None
    succeeds: bool = False


class Race(NamedTuple):
    """When each attempt began, None for one that was not needed; which was ready first and when, None if all failed."""

    starts_ms: tuple[float | None, ...]
    chosen: int | None
    ready_ms: float | None


def family(host: str) -> str:
    """The address family of an IP literal; anything else is a family of its own."""
    try:
        return f"ipv{ip_address(host.partition('%')[0]).version}"
    except ValueError:
        return "name"


def interleaved(addresses: Sequence[T], endpoint: Callable[[T], Endpoint]) -> list[T]:
    """The addresses without those that came before, families taking turns, the first one's family first."""
    queues: dict[str, list[T]] = {}
    seen: set[Endpoint] = set()
    for address in addresses:
        at = endpoint(address)
        if at not in seen:
            seen.add(at)
            queues.setdefault(family(at.host), []).append(address)
    rounds = max(map(len, queues.values()), default=0)
    return [queue[turn] for turn in range(rounds) for queue in queues.values() if turn < len(queue)]


def race(attempts: Sequence[Attempt], delay_ms: float = DELAY_MS) -> Race:
    """Begin each attempt when the one before has failed or the delay has passed, until the first is ready.

    The delay is kept within 100 ms and 2 s.
    """
    delay = min(max(delay_ms, _LEAST_MS), _MOST_MS)
    starts: list[float | None] = [None] * len(attempts)
    start, chosen, ready = 0.0, None, None
    for number, (takes, succeeds) in enumerate(attempts):
        if ready is not None and ready <= start:
            break
        starts[number] = start
        if takes is not None and succeeds and (ready is None or start + takes < ready):
            chosen, ready = number, start + takes
        start += delay if takes is None or succeeds else min(delay, takes)
    return Race(tuple(starts), chosen, ready)
