"""The service whose backends are called: looked up in etcd, or made of backends that were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lbctl.commands.following import called
from lbctl.commands.rewriting import Where
from lbctl.discovery.directory import find, read
from lbctl.errors import CannotCall, NotFound
from lbctl.etcd.client import Etcd
from lbctl.model import Instance, Service


async def called_service(etcd: Etcd | None, where: Where, given: Sequence[Instance]) -> Service:
    """Find a service with those of its instances that speak gRPC; without etcd it is the given ones.

    Raises NotFound, CannotCall where no instance speaks gRPC, RegistryError.
    """
    if etcd is None:
        return Service(where.service, "backends", "", tuple(given))
    registry = await read(etcd, where.prefix, layout=where.layout, named_by=where.named_by)
    service = find(registry, where.service, where.layout, where.again)
    look = where.command("ls")
    if not service.instances:
        raise unusable(service, look)
    spoken = called(service.instances)
    if not spoken:
        protocols = ", ".join(sorted({str(each.protocol) for each in service.instances}))
        raise CannotCall(f'no instance of "{service.name}" speaks gRPC: {protocols}', f"see: {look}")
    return replace(service, instances=tuple(spoken))


def unusable(service: Service, look: str) -> NotFound:
    """Say that a service has nobody to call; ``look`` is the command that shows why."""
    return NotFound(f'service "{service.name}" has no usable instances', f"see why: {look}")
