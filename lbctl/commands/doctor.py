"""``lbctl doctor``: read the registry, examine what is there, and say what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from lbctl.clock import Clock
from lbctl.doctor.case import Order, opened
from lbctl.doctor.diagnosis import Diagnosis
from lbctl.doctor.examination import examine
from lbctl.doctor.finding import Check
from lbctl.etcd.client import Etcd


async def run(etcd: Etcd, order: Order, checks: Sequence[Check], clock: Clock, rng: Random) -> Diagnosis:
    """Make these checks; raises NotFound for an unknown service, RegistryError where etcd does not answer."""
    async with await opened(etcd, order, clock, rng) as case:
        return await examine(case, checks)
