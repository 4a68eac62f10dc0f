"""Weights as a client uses them: within limits of its own, whatever is registered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lbctl.model import Instance


@dataclass(frozen=True, slots=True)
class WeightLimits:
    """The least and the greatest weight that is used, and the one of an instance that states none; None is no limit.

    A weight of 0 keeps an instance out of the rotation, and no limit brings it back.
    """

    least: int | None = None
    most: int | None = None
    default: int | None = None

    def used(self, instance: Instance) -> Instance:
        """The instance with the weight that is used."""
        weight = self._used(instance)
        return instance if weight == instance.weight else replace(instance, weight=weight)

    def _used(self, instance: Instance) -> int | None:
        weight = instance.weight
        if self.default is not None and (weight is None or _is_guess(instance)):
            weight = self.default
        if not weight:
            return weight
        if self.least is not None:
            weight = max(weight, self.least)
        return weight if self.most is None else min(weight, self.most)


def _is_guess(instance: Instance) -> bool:
    """Whether what is registered is no number, and 1 only what is made of it."""
    return any(warning.startswith("weight ") for warning in instance.warnings)
