"""The error of a service none of whose backends can be called."""

from __future__ import annotations

from collections.abc import Mapping

from lbctl.errors import CannotCall
from lbctl.model import Service
from lbctl.rpc.obstacle import Obstacle, hint, listed
from lbctl.suggestion import Again


def unreachable(service: Service, named: str, obstacles: Mapping[str, Obstacle], again: Again) -> CannotCall:
    """Say why nobody can be called, by address; ``named`` is what the user calls the service."""
    none = f'none of the {len(obstacles)} backends of "{service.name}" can be called'
    one = f'the only backend of "{service.name}" cannot be called'
    return CannotCall(
        f"{one if len(obstacles) == 1 else none}: {listed(obstacles)}",
        hint(obstacles.values(), named, registered=bool(service.prefix), again=again),
    )
