"""Times to live of leases as people type them."""

from __future__ import annotations

from typing import Final

from lbctl.cli.values import parse_duration

MOST_TTL_S: Final = 24 * 3600


def parse_ttl(text: str) -> int:
    """Whole seconds from 1s to 24h, as etcd counts them; raises ValueError."""
    seconds = parse_duration(text)
    if seconds != int(seconds) or not 1 <= seconds <= MOST_TTL_S:
        raise ValueError(f"{text!r} is not a whole number of seconds from 1s to 24h")
    return int(seconds)
