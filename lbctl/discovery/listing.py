"""What ``ls`` found out: one read of the registry, with the leases and the health of what was in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from lbctl.discovery.backends import decisive
from lbctl.model import Identity, Instance, Invalid, Registry, Service

if TYPE_CHECKING:
    from lbctl.discovery.catalog import Other
    from lbctl.discovery.expectation import Expectation
    from lbctl.discovery.scan import Unread
    from lbctl.etcd.client import TimeToLive
    from lbctl.rpc.health import Health


MOST_LISTED: Final = 10_000  # keys of one service, or keys of one kind that are no use
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)


class Rest(NamedTuple):
    """The keys that are no registrations: services they may be, keys with the reason why not, and trees not read."""

    possible: tuple[Service, ...] = ()
    others: tuple[Other, ...] = ()
    unread: tuple[Unread, ...] = ()


class Aside(NamedTuple):
    """What was read and is not listed as it is of other layouts: services, and how many unusable keys of which."""

    services: int = 0
    invalid: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Listing:
    """A registry and what else is known about its instances; an absent entry means not asked or not known.

    ``rest`` is there where all keys were asked for, ``aside`` where one layout was, ``expectation`` where there is one.
    """

    registry: Registry
    leases: Mapping[int, TimeToLive] = field(default_factory=dict)
    health: Mapping[Identity, Health] = field(default_factory=dict)
    checked: bool = False
    rest: Rest | None = None
    aside: Aside | None = None
    expectation: Expectation | None = None

    def lease_of(self, instance: Instance) -> TimeToLive | None:
        return self.leases.get(instance.lease)

    def health_of(self, instance: Instance) -> Health | None:
        return self.health.get(instance.identity)


def listed_instances(service: Service) -> tuple[Instance, ...]:
    """The instances that are listed one by one: all, or of too many keys the newest of each address, within reason."""
    if len(service.instances) <= MOST_LISTED:
        return service.instances
    return tuple(decisive(service.instances))[:MOST_LISTED]


def first_of_each(rows: Iterable[R], kind: Callable[[R], K], most: int = MOST_LISTED) -> tuple[list[R], Counter[K]]:
    """Keep the first ``most`` rows of each kind, in their order, and count those that are left out by their kinds."""
    seen: Counter[K] = Counter()
    kept = []
    for row in rows:
        its = kind(row)
        seen[its] += 1
        if seen[its] <= most:
            kept.append(row)
    return kept, Counter({each: number - most for each, number in seen.items() if number > most})


def kind_of(invalid: Invalid) -> tuple[str, str]:
    """What unusable keys are alike in: their layout, and the code of what is wrong."""
    return invalid.layout, invalid.code


def shares(service: Service) -> dict[Identity, float]:
    """Each instance's share of the calls by weight alone, 0..1; one that is not up or speaks no gRPC has none.

    Where one address has several keys, the decisive one has its share, and the others have none.
    """
    weights = {each.identity: 0 for each in service.instances}
    for each in decisive(service.instances):
        weights[each.identity] = each.effective_weight if each.status is None and each.speaks_grpc else 0
    total = sum(weights.values())
    return {identity: weight / total if total else 0.0 for identity, weight in weights.items()}
