"""The option that all policies share which go by what this client measures; see ``lbctl.balance.penalty``."""

from __future__ import annotations

from typing import Any

from lbctl.balance.policies.options import option


def failure_penalty() -> Any:  # noqa: ANN401  # like option
    """Return the field of an options class."""
    return option(
        1.0,
        "a failed attempt counts as if it had kept its slot that long; 0s is the original",
        least=0,
        unit="duration",
    )
