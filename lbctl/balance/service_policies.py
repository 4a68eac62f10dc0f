"""``loadBalancingConfig``: gRPC's names of policies and of their fields, and what they are called here.

The list is in order of preference, and the first policy that is known counts. Policies that wrap another one (outlier
detection, subsetting) are taken apart: what they do stands beside the policy they wrap. lbctl's own policies go by
their own names, with the options of ``--policy-opt`` as fields.

    [{"weighted_random": {}}]                                          weighted_random
    [{"ring_hash_experimental": {"minRingSize": 2048}}]                ring_hash, min-ring-size=2048
    [{"outlier_detection_experimental":
        {"childPolicy": [{"round_robin": {}}], "interval": "5s"}}]     round_robin, and outlier detection each 5 s
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any, Final

from lbctl.balance.policies.base import Policy
from lbctl.balance.policies.table import POLICIES
from lbctl.balance.service_values import Fields, mistake, shown
from lbctl.errors import UsageError

_OUTLIERS: Final = "outlier_detection_experimental"
_SUBSET: Final = "random_subsetting_experimental"

# gRPC's policies whose names are not lbctl's. Their fields are options of the same names: ``minRingSize`` is
# ``min-ring-size``; a field without an option has no effect here.
_OWN_OF: Final[Mapping[str, str]] = {
    "ring_hash_experimental": "ring_hash",
    "least_request_experimental": "least_request",
}
_NAMES: Final = ("round_robin", "pick_first", "weighted_round_robin", *_OWN_OF, "outlier_detection_experimental")

# Fields whose option has another name and other values.
_REWORDED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "shuffleAddressList": ("shuffle", {"true": "uniform", "false": "no"}),
}


@dataclass(frozen=True, slots=True)
class Balancing:
    """The policy of a config. ``named`` is how it is called there, ``options`` are those of ``--policy-opt``.

    ``outlier_detection`` and ``subset`` are the fields of wrappers around it: durations in seconds, names as gRPC
    writes them.
    """

    policy: str
    named: str
    options: Mapping[str, str] = field(default_factory=dict)
    outlier_detection: Mapping[str, Any] | None = None
    subset: int | None = None


def balancing_of(config: Fields) -> Balancing | None:
    """What the config says of balancing; ``loadBalancingConfig`` counts before the older ``loadBalancingPolicy``."""
    older = config.text("loadBalancingPolicy")
    if "loadBalancingConfig" in config:
        if older is not None:
            config.notes.append("service config: loadBalancingPolicy is deprecated, loadBalancingConfig counts")
        return _first_known(config, "loadBalancingConfig")
    if older is None:
        return None
    policy = _policy(older.lower())
    if policy is None:
        raise mistake("loadBalancingPolicy", f"{shown(older)} is no policy{_near(older)}")
    return Balancing(policy.name, older)


def _first_known(fields: Fields, name: str) -> Balancing:
    """The first policy of a list that is known; a list without one rejects the config."""
    unknown = []
    found: Balancing | None = None
    for each in fields.objects(name):
        names = list(each)
        if len(names) != 1:
            raise mistake(each.path, f"an object with one policy is wanted, this has {len(names)}")
        if found is None:
            found = _known(names[0], each)
        if found is None:
            unknown.append(names[0])
    if found is None:
        near = _near(unknown[0]) if unknown else ""
        raise mistake(
            fields.at(name), f"no policy of {', '.join(map(shown, unknown)) or 'the empty list'} is known{near}"
        )
    for each_name in unknown:
        fields.notes.append(f"service config: {fields.at(name)}: {each_name} is not known, the next one counts")
    return found


def _known(name: str, each: Fields) -> Balancing | None:
    """A policy with its fields, a wrapper with what it wraps, or None for what is not known."""
    wrap = _WRAPPERS.get(name)
    policy = _policy(name)
    if wrap is None and policy is None:
        return None
    fields = each.fields(name) or Fields({}, each.at(name), each.notes)
    if wrap is not None:
        return wrap(fields)
    assert policy is not None
    return Balancing(policy.name, name, _options(policy, fields))


def _policy(name: str) -> Policy | None:
    return POLICIES.get(_OWN_OF.get(name, name))


def _options(policy: Policy, fields: Fields) -> Mapping[str, str]:
    """The fields as options; raises UsageError for a value that an option cannot have."""
    known = {each.name.replace("_", "-") for each in dataclass_fields(policy.options)}
    options = {}
    for key in fields:
        option, words = _REWORDED.get(key, (_dashed(key), {}))
        if option in known:
            value = _typed(fields.raw(key), fields.at(key))
            options[option] = words.get(value, value)
    fields.rest()
    try:
        policy.with_options(options)
    except UsageError as error:
        raise mistake(fields.path, str(error)) from error
    return options


def _typed(value: object, path: str) -> str:
    """A value as one would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    if not isinstance(value, str | int | float):
        raise mistake(path, f"{shown(value)} is neither a number, a string, true nor false")
    return str(value)


def _dashed(name: str) -> str:
    """``weightUpdatePeriod`` and ``weight_update_period`` as ``weight-update-period``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower().replace("_", "-")


def _near(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), [*_NAMES, *POLICIES], 1, cutoff=0.7)
    return f", did you mean {near[0]}?" if near else ""


def _subsetting(fields: Fields) -> Balancing:
    size = fields.whole("subsetSize", 1)
    if size is None:
        raise mistake(fields.path, "subsetSize is missing")
    child = _child(fields)
    fields.rest()
    return replace(child, subset=size)


def _outlier_detection(fields: Fields) -> Balancing:
    child = _child(fields)
    found: dict[str, Any] = {}
    for name in ("interval", "baseEjectionTime", "maxEjectionTime"):
        nanoseconds = fields.duration_ns(name)
        if nanoseconds is not None:
            found[name] = nanoseconds / 1e9
    percent = fields.whole("maxEjectionPercent", 0, 100)
    if percent is not None:
        found["maxEjectionPercent"] = percent
    for name, first in (("successRateEjection", "stdevFactor"), ("failurePercentageEjection", "threshold")):
        detector = fields.fields(name)
        if detector is not None:
            found[name] = _detector(detector, first)
    fields.rest()
    return replace(child, outlier_detection=found)


def _detector(fields: Fields, first: str) -> Mapping[str, int]:
    limits = {first: 100 if first == "threshold" else (1 << 32) - 1, "enforcementPercentage": 100}
    limits |= dict.fromkeys(("minimumHosts", "requestVolume"), (1 << 32) - 1)
    found = {name: fields.whole(name, 0, most) for name, most in limits.items()}
    fields.rest()
    return {name: value for name, value in found.items() if value is not None}


def _child(fields: Fields) -> Balancing:
    if "childPolicy" not in fields:
        raise mistake(fields.path, "childPolicy is missing")
    return _first_known(fields, "childPolicy")


_WRAPPERS: Final = {_OUTLIERS: _outlier_detection, _SUBSET: _subsetting}
