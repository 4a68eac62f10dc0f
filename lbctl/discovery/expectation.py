"""Backends that ought to be registered against those that are."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lbctl.discovery.backends import distinct
from lbctl.model import Endpoint, Instance, Invalid

if TYPE_CHECKING:
    from lbctl.rpc.health import Health


class Missing(NamedTuple):
    """An expected backend that is not registered; ``key`` is one that has its address and cannot be used."""

    endpoint: Endpoint
    key: str = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What became of a list of expected backends.

    ``registered`` counts those of them that are; ``unexpected`` is one instance for each address that is not in the
    list. ``health`` is that of the missing ones, where health was checked.
    """

    registered: int
    missing: tuple[Missing, ...]
    unexpected: tuple[Instance, ...]
    health: Mapping[Endpoint, Health] = field(default_factory=dict)

    @property
    def is_met(self) -> bool:
        return not self.missing and not self.unexpected


def compare(expected: Sequence[Endpoint], instances: Iterable[Instance], invalid: Sequence[Invalid]) -> Expectation:
    """Compare addresses: names of hosts whatever their case, IP addresses however they are spelled."""
    wanted = {_same(endpoint): endpoint for endpoint in reversed(expected)}
    there = {_same(each.endpoint): each for each in reversed(distinct(instances))}
    missing = (wanted[same] for same in reversed(wanted) if same not in there)
    unexpected = (there[same] for same in reversed(there) if same not in wanted)
    return Expectation(
        sum(same in there for same in wanted),
        tuple(Missing(endpoint, _unusable(endpoint, invalid)) for endpoint in missing),
        tuple(unexpected),
    )


def _unusable(endpoint: Endpoint, invalid: Sequence[Invalid]) -> str:
    leaf = f"/{endpoint}"
    return next((each.key for each in invalid if f"/{each.key}".endswith(leaf)), "")


def _same(endpoint: Endpoint) -> Endpoint:
    if endpoint.is_unix:
        return endpoint
    try:
        return endpoint._replace(host=str(ipaddress.ip_address(endpoint.host)))
    except ValueError:
        return endpoint._replace(host=endpoint.host.lower().rstrip("."))
