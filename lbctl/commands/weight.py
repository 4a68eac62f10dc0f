"""``lbctl weight``: other weights for registered instances, written only over what was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from lbctl.commands.rewriting import Registered, Rewrite, afterwards, in_rotation, instance_of, text
from lbctl.discovery.backends import decisive
from lbctl.discovery.flaws import Unusable
from lbctl.discovery.weight_report import DRY_RUN, UNCHANGED, WEIGHT, Measured, WeightReport, WeightRow
from lbctl.discovery.weights import reweighed
from lbctl.errors import UsageError
from lbctl.model import Instance
from lbctl.redaction import masked_text


class Wish(NamedTuple):
    """A weight for the instance of this address, or of this key."""

    where: str
    weight: int


def planned(found: Registered, wishes: Sequence[Wish]) -> tuple[Rewrite, ...]:
    """What has to be written; raises NotFound for an instance that is not there, UsageError where nothing can be."""
    plan = tuple(_rewrite(found, instance_of(found.service, wish.where), wish.weight) for wish in wishes)
    keys = [each.instance.key for each in plan]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is given two weights", "give one")
    return plan


def rewrites(found: Registered, weights: Mapping[str, int]) -> tuple[Rewrite, ...]:
    """What has to be written for weights by key; a weight that is the one in use already is left as it is spelled."""
    first = {each.key: each for each in reversed(found.service.instances) if each.key in weights}
    return tuple(
        _as_it_is(found, each, weights[each.key])
        if weights[each.key] == each.effective_weight
        else _rewrite(found, each, weights[each.key])
        for each in reversed(first.values())
    )


def report(
    found: Registered,
    plan: Sequence[Rewrite],
    at: datetime,
    measured: Mapping[str, Measured] | None = None,
    action: str = WEIGHT,
) -> WeightReport:
    """What there is to show before anything is written."""
    service = found.service
    now, then = _shares(service.instances), _shares(afterwards(service, plan))
    rows = tuple(_row(each, now, then, (measured or {}).get(each.instance.key)) for each in plan)
    state = DRY_RUN if any(row.changes for row in rows) else UNCHANGED
    return WeightReport(at, service.name, service.layout, service.prefix, found.revision, state, rows, action=action)


def left_in_rotation(found: Registered, plan: Sequence[Rewrite]) -> int:
    """How many instances can be picked once the plan is carried out."""
    return in_rotation(afterwards(found.service, plan))


def _rewrite(found: Registered, instance: Instance, weight: int) -> Rewrite:
    if instance.weight == weight and not instance.warnings:
        return _as_it_is(found, instance, weight)
    entry = found.entries[instance.key]
    try:
        value = reweighed(instance.layout, instance.key, entry.value, weight)
    except Unusable as flaw:
        raise UsageError(f"{masked_text(instance.key)}: {flaw.reason}", "nothing was written") from None
    return Rewrite(instance, weight, entry, value, instance.status)


def _as_it_is(found: Registered, instance: Instance, weight: int) -> Rewrite:
    entry = found.entries[instance.key]
    return Rewrite(instance, weight, entry, entry.value, instance.status)


def _shares(instances: Sequence[Instance]) -> dict[str, float]:
    weights = {each.key: 0 for each in instances}
    for each in decisive(instances):
        weights[each.key] += each.effective_weight if each.status is None else 0
    total = sum(weights.values())
    return {key: weight / total if total else 0.0 for key, weight in weights.items()}


def _row(each: Rewrite, now: Mapping[str, float], then: Mapping[str, float], measured: Measured | None) -> WeightRow:
    instance = each.instance
    return WeightRow(
        key=instance.key,
        address=instance.address,
        lease=each.read.lease,
        weight=instance.weight,
        proposed=instance.effective_weight if each.weight is None else each.weight,
        share=now[instance.key],
        share_proposed=then[instance.key],
        value=text(each.read.value),
        new_value="" if each.value is None else text(each.value),
        measured=measured,
    )
