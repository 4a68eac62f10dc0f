"""gRPC's service config, the JSON of ``WithDefaultServiceConfig``: how calls of a method are balanced and repeated.

The rules are gRFC A6's and grpc-go's: one mistake rejects the whole config, the most exact name of a method wins, and
there is one config, which a second one replaces.

    name of a methodConfig                          it is for
    {"service": "user.v1.Users", "method": "Get"}   that method
    {"service": "user.v1.Users"}                    other methods of that service
    {}                                              every other method
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NoReturn

from lbctl.balance.service_methods import MethodConfig, methods_of
from lbctl.balance.service_policies import Balancing, balancing_of
from lbctl.balance.service_values import Fields, mistake, shown
from lbctl.errors import UsageError

_MOST_TOKENS: Final = 1000
ONE_CONFIG: Final = (
    "gRPC knows one service config: a second WithDefaultServiceConfig replaces the first, and what only the first one "
    "said (a policy, a retryPolicy) is silently gone; write both into one JSON object"
)


@dataclass(frozen=True, slots=True)
class Throttling:
    """Tokens in thousandths: a failure takes 1000, a success gives ``ratio`` back; retries stop at half or less."""

    max_tokens: int
    ratio: int


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """A whole config. ``notes``: what of it has no effect, and what was changed, a sentence each."""

    balancing: Balancing | None = None
    methods: Mapping[tuple[str, str], MethodConfig] = field(default_factory=dict)  # by service and method
    throttling: Throttling | None = None
    health_check: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def method(self, path: str) -> MethodConfig:
        """What holds for ``package.Service/Method``."""
        service, _, method = path.strip("/").partition("/")
        for name in ((service, method), (service, ""), ("", "")):
            if name in self.methods:
                return self.methods[name]
        return MethodConfig()


def parse_service_config(text: str) -> ServiceConfig:
    """Read the JSON; raises UsageError with the path of what is wrong."""
    notes: list[str] = []
    config = Fields(_document(text, notes), "", notes)
    throttling = config.fields("retryThrottling")
    balancing = balancing_of(config)
    methods = methods_of(config)
    health = config.fields("healthCheckConfig")
    config.rest()
    return ServiceConfig(
        balancing=balancing,
        methods=methods,
        throttling=None if throttling is None else _throttling(throttling),
        health_check=None if health is None else _health_check(health),
        notes=tuple(dict.fromkeys(notes)),
    )


def _document(text: str, notes: list[str]) -> object:
    """The one JSON value of the text."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [name for name, count in Counter(name for name, _ in found).items() if count > 1]
        notes.extend(f"service config: {name} is there twice in one object: the last one counts" for name in twice)
        return dict(found)

    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=_no_constant)
    try:
        value, end = decoder.raw_decode(text.strip())
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise mistake("", f"it is not JSON: {error.msg.lower()} at {where}", "gRPC takes JSON only") from None
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        raise mistake("", "a number of it is too long, or it is nested too deeply") from None
    rest = text.strip()[end:].strip()
    if isinstance(value, list) or rest.startswith(("{", ",")):
        raise mistake("", "these are several configs, and there is one", ONE_CONFIG)
    if rest:
        raise mistake("", f"there is something behind it: {shown(rest)}")
    return value


def _no_constant(name: str) -> NoReturn:
    raise mistake("", f"{name} is not JSON")


def _throttling(throttling: Fields) -> Throttling:
    tokens, ratio = throttling.number("maxTokens"), throttling.number("tokenRatio")
    for name, value in (("maxTokens", tokens), ("tokenRatio", ratio)):
        if value is None:
            raise mistake(throttling.path, f"{name} is missing")
        if value <= 0:
            raise mistake(throttling.at(name), f"{value:g} is not above 0")
    assert tokens is not None
    assert ratio is not None
    if tokens > _MOST_TOKENS:
        raise mistake(throttling.at("maxTokens"), f"{tokens:g} is above {_MOST_TOKENS}")
    thousandths = _thousandths(throttling.raw("tokenRatio"))
    if not thousandths:
        raise mistake(throttling.at("tokenRatio"), f"{ratio:g} is nothing with three decimals")
    throttling.rest()
    return Throttling(_thousandths(throttling.raw("maxTokens")), thousandths)


def _thousandths(number: float) -> int:
    """The number in thousandths; what is beyond its third decimal, as it was written, does not count."""
    return int(Decimal(repr(number)) * 1000)


def _health_check(health: Fields) -> Mapping[str, Any]:
    service = health.text("serviceName")
    health.rest()
    return {"service_name": service or ""}


def one(texts: list[str]) -> str:
    """The one config that was given; raises UsageError for several, and says what gRPC would make of them."""
    if len(texts) > 1:
        raise UsageError(f"--service-config was given {len(texts)} times", ONE_CONFIG)
    return texts[0]
