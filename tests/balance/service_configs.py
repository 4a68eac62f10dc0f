"""Service configs as tests write them, and what is said of those that cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lbctl.balance.service_config import ServiceConfig, parse_service_config
from lbctl.errors import UsageError

MS = 1_000_000
RETRY = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2.0,
    "retryableStatusCodes": ["UNAVAILABLE"],
}


def parsed(config: Any) -> ServiceConfig:  # noqa: ANN401  # whatever JSON has
    return parse_service_config(json.dumps(config))


def refusal(config: Any) -> str:  # noqa: ANN401
    with pytest.raises(UsageError) as caught:
        parsed(config)
    return str(caught.value)


def of_all(**method: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"methodConfig": [{"name": [{}], **method}]}
