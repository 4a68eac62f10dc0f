"""What a service config asks for around the policy, as the flags of ``guard_options`` would say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from lbctl.balance.policies.base import Policy
from lbctl.balance.policies.table import GRPC_POLICIES
from lbctl.cli.guard_options import GuardFlags

if TYPE_CHECKING:  # it takes a while, and most commands do without
    from lbctl.balance.service_config import ServiceConfig

# gRPC's names of a detector's fields, and the options of --outlier-detection that they are.
_TIMES: Final = {
    "interval": "interval",
    "baseEjectionTime": "base-ejection-time",
    "maxEjectionTime": "max-ejection-time",
}
_DETECTORS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "successRateEjection": (
        "success-rate",
        {
            "stdevFactor": "stdev-factor",
            "enforcementPercentage": "success-enforcement",
            "minimumHosts": "success-hosts",
            "requestVolume": "success-volume",
        },
    ),
    "failurePercentageEjection": (
        "failure-percentage",
        {
            "threshold": "failure-threshold",
            "enforcementPercentage": "failure-enforcement",
            "minimumHosts": "failure-hosts",
            "requestVolume": "failure-volume",
        },
    ),
}
_AT_LEAST_ONE: Final = ("minimumHosts", "requestVolume")


@dataclass(frozen=True, slots=True)
class Guarded:
    """The flags with what the config adds to them, and what it does not, in words."""

    flags: GuardFlags
    notes: tuple[str, ...] = ()


def guarded(flags: GuardFlags, config: ServiceConfig, policy: Policy, *, balanced: bool) -> Guarded:
    """Add what the config says where no flag does; ``balanced``: the policy is the config's, with what is around it."""
    asked: dict[str, tuple[str, str]] = {}
    if config.health_check is not None:
        service = config.health_check["service_name"]
        asked["health_check"] = ("healthCheckConfig", f"service={service}" if service else "on")
    if config.balancing is not None and balanced:
        if config.balancing.outlier_detection is not None:
            text = _outliers(config.balancing.outlier_detection)
            if text:
                asked["outlier_detection"] = ("outlier_detection_experimental", text)
        if config.balancing.subset is not None:
            asked["subset"] = ("random_subsetting_experimental", str(config.balancing.subset))
    if policy.name in GRPC_POLICIES:
        return Guarded(flags, tuple(_no_effect(where, policy) for where, _ in asked.values()))
    beaten = [name for name in asked if getattr(flags, name) is not None]
    notes = [f"--{name.replace('_', '-')} counts, not {asked[name][0]} of the service config" for name in beaten]
    added: dict[str, Any] = {name: text for name, (_, text) in asked.items() if name not in beaten}
    return Guarded(replace(flags, **added), tuple(notes))


def _no_effect(where: str, policy: Policy) -> str:
    return f"service config: {where} has no effect: {policy.name} picks by itself"


def _outliers(found: Mapping[str, Any]) -> str:
    """The options of a detector; nothing where neither test is asked for, since gRPC ejects nobody then."""
    wanted = [name for name in _DETECTORS if name in found]
    if not wanted:
        return ""
    options = {option: f"{found[name]:g}s" for name, option in _TIMES.items() if name in found}
    if "maxEjectionPercent" in found:
        options["max-ejection-percent"] = str(found["maxEjectionPercent"])
    options["detect"] = "both" if len(wanted) == len(_DETECTORS) else _DETECTORS[wanted[0]][0]
    for name in wanted:
        for field, option in _DETECTORS[name][1].items():
            if field in found[name]:
                number = found[name][field]
                options[option] = str(max(1, number) if field in _AT_LEAST_ONE else number)
    return ",".join(f"{name}={value}" for name, value in options.items())
