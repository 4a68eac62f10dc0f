"""``lbctl doctor``: read the registry, examine what is there, and say what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from lbctl.clock import Clock
from lbctl.doctor.case import Order, blind, opened
from lbctl.doctor.diagnosis import Diagnosis
from lbctl.doctor.examination import examine
from lbctl.doctor.finding import Check
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd


async def run(etcd: Etcd | None, order: Order, checks: Sequence[Check], clock: Clock, rng: Random) -> Diagnosis:
    """Make these checks; without etcd those of the backends that were given.

    Raises NotFound for an unknown service, and RegistryError where etcd lets itself not be read, unless looking at its
    members says why.
    """
    try:
        async with await opened(etcd, order, clock, rng) as case:
            return await examine(case, checks)
    except RegistryError as error:
        found = None if etcd is None else await _blindly(etcd, order, checks, clock, rng, str(error))
        if found is None or not found.findings:
            raise
        return found


async def _blindly(
    etcd: Etcd, order: Order, checks: Sequence[Check], clock: Clock, rng: Random, why: str
) -> Diagnosis | None:
    """What its members tell of an etcd that cannot be read; nothing where none of them answers."""
    async with blind(etcd, order, clock, rng, why) as case:
        found = await examine(case, checks)
    answered = found.cluster is not None and any(each.status is not None for each in found.cluster.seen)
    return found if answered else None
