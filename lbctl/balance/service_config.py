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

from lbctl.balance.service_policies import Balancing, balancing_of
from lbctl.balance.service_values import Fields, mistake, shown
from lbctl.errors import UsageError
from lbctl.model import Code

MOST_ATTEMPTS: Final = 5  # as gRPC's implementations have it
_MOST_TOKENS: Final = 1000
ONE_CONFIG: Final = (
    "gRPC knows one service config: a second WithDefaultServiceConfig replaces the first, and what only the first one "
    "said (a policy, a retryPolicy) is silently gone; write both into one JSON object"
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Sends a call again that ended with one of these codes; ``max_attempts`` counts the first attempt too."""

    max_attempts: int
    initial_backoff_ns: int
    max_backoff_ns: int
    multiplier: float
    codes: frozenset[Code]


@dataclass(frozen=True, slots=True)
class HedgingPolicy:
    """Sends the same call several times, one attempt every ``delay_ns``, until one of them decides it.

    An attempt that ends with one of ``non_fatal`` decides nothing, and the next one follows at once.
    """

    max_attempts: int
    delay_ns: int
    non_fatal: frozenset[Code]


@dataclass(frozen=True, slots=True)
class Throttling:
    """Tokens in thousandths: a failure takes 1000, a success gives ``ratio`` back; retries stop at half or less."""

    max_tokens: int
    ratio: int


@dataclass(frozen=True, slots=True)
class MethodConfig:
    """What holds for calls of one method. ``retry`` and ``hedging`` exclude each other; None: not stated."""

    timeout_ns: int | None = None
    wait_for_ready: bool | None = None
    retry: RetryPolicy | None = None
    hedging: HedgingPolicy | None = None


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
    methods = _methods(config)
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


def _methods(config: Fields) -> dict[tuple[str, str], MethodConfig]:
    methods: dict[tuple[str, str], MethodConfig] = {}
    paths: dict[tuple[str, str], str] = {}
    for each in config.objects("methodConfig"):
        names = list(each.objects("name"))
        found = _method(each)
        if not names:
            config.notes.append(f"service config: {each.path} has no name, so it is for no call")
        for name in names:
            key = _name(name)
            if key in methods:
                raise mistake(name.path, f"{_told(key)} has a methodConfig already, at {paths[key]}")
            methods[key], paths[key] = found, name.path
    return methods


def _name(name: Fields) -> tuple[str, str]:
    service, method = name.text("service") or "", name.text("method") or ""
    name.rest()
    if method and not service:
        raise mistake(name.path, f"method {shown(method)} without a service")
    return service, method


def _told(name: tuple[str, str]) -> str:
    return "/".join(filter(None, name)) or "the default"


def _method(each: Fields) -> MethodConfig:
    retry, hedging = each.fields("retryPolicy"), each.fields("hedgingPolicy")
    if retry is not None and hedging is not None:
        raise mistake(each.path, "retryPolicy and hedgingPolicy exclude each other")
    timeout_ns = each.duration_ns("timeout")
    if timeout_ns == 0:
        raise mistake(each.at("timeout"), "no call can end within 0s", "leave it out for no deadline")
    wait_for_ready = each.flag("waitForReady")
    if wait_for_ready is False:
        each.notes.append(f"service config: {each.at('waitForReady')}: lbctl's calls wait for a backend in any case")
    for limit in ("maxRequestMessageBytes", "maxResponseMessageBytes"):
        if each.raw(limit) is not None:
            each.notes.append(f"service config: {each.at(limit)} has no effect here, see --max-msg-size")
    each.rest()
    return MethodConfig(
        timeout_ns,
        wait_for_ready,
        None if retry is None else _retry(retry),
        None if hedging is None else _hedging(hedging),
    )


def _attempts(policy: Fields) -> int:
    attempts = policy.whole("maxAttempts", 0, 1 << 62)
    if attempts is None:
        raise mistake(policy.path, "maxAttempts is missing")
    if attempts < 2:
        raise mistake(policy.at("maxAttempts"), f"{attempts} is not above 1; it counts the first attempt too")
    if attempts > MOST_ATTEMPTS:
        policy.notes.append(
            f"service config: {policy.at('maxAttempts')}: {attempts} counts as {MOST_ATTEMPTS}, gRPC's limit"
        )
    return min(attempts, MOST_ATTEMPTS)


def _retry(policy: Fields) -> RetryPolicy:
    attempts = _attempts(policy)
    initial, longest = policy.positive_ns("initialBackoff"), policy.positive_ns("maxBackoff")
    multiplier = policy.number("backoffMultiplier")
    if multiplier is None:
        raise mistake(policy.path, "backoffMultiplier is missing")
    if multiplier <= 0:
        raise mistake(policy.at("backoffMultiplier"), f"{multiplier:g} is not above 0")
    codes = policy.codes("retryableStatusCodes")
    if not codes:
        what = "retryableStatusCodes is missing" if codes is None else "retryableStatusCodes is empty"
        raise mistake(policy.path, what)
    if Code.DEADLINE_EXCEEDED in codes:
        policy.notes.append(
            f"service config: {policy.at('retryableStatusCodes')}: the deadline spans all attempts, so "
            "DEADLINE_EXCEEDED is retried only where a server says it before the time is over"
        )
    policy.rest()
    return RetryPolicy(attempts, initial, longest, multiplier, codes)


def _hedging(policy: Fields) -> HedgingPolicy:
    attempts = _attempts(policy)
    delay_ns = policy.duration_ns("hedgingDelay") or 0
    codes = policy.codes("nonFatalStatusCodes") or frozenset()
    policy.notes.append(f"service config: {policy.path}: grpc-go and grpcio do not hedge and pass it over; lbctl does")
    policy.rest()
    return HedgingPolicy(attempts, delay_ns, codes)


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
