"""LB502: a key that is still there although its lease has run out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from lbctl.doctor.case import Case
from lbctl.doctor.evidence.leases import leases
from lbctl.doctor.finding import Check, Level, Symptom
from lbctl.doctor.rotation import follow
from lbctl.model import Instance

_LATE_S: Final = 1.0


async def examine(case: Case) -> Sequence[Symptom]:
    """Look once more, a second later, at keys whose lease was gone when it was asked for."""
    found = await case.once(leases)
    suspects = [each for each in case.keys if each.lease and found[each.lease].expired]
    if not suspects:
        return []
    await asyncio.sleep(_LATE_S)
    listing = await case.etcd.values([each.key.encode() for each in suspects])
    held = {entry.key.decode(): entry.lease for entry in listing.entries}
    return [_symptom(case, each) for each in suspects if held.get(each.key) == each.lease]


def _symptom(case: Case, instance: Instance) -> Symptom:
    what = "its lease has run out, and a second later the key is still there"
    return Symptom(what, instance.address, instance.service, follow(case, instance))


CHECK = Check(
    "LB502",
    "late expiry",
    Level.WARN,
    why="Clients call a backend that is gone for longer than its lease promises.",
    fix="look at etcd: it has no leader for long, or more leases end at once than it can revoke",
    examine=examine,
)
