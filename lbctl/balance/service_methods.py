"""``methodConfig`` of a service config: which calls an entry is for, their deadline, and how they are made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lbctl.balance.service_values import Fields, mistake, shown
from lbctl.model import Code

MOST_ATTEMPTS: Final = 5  # as gRPC's implementations have it


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
class MethodConfig:
    """What holds for calls of one method. ``retry`` and ``hedging`` exclude each other; None: not stated."""

    timeout_ns: int | None = None
    wait_for_ready: bool | None = None
    retry: RetryPolicy | None = None
    hedging: HedgingPolicy | None = None


def methods_of(config: Fields) -> dict[tuple[str, str], MethodConfig]:
    """What holds for which service and method; raises UsageError for two entries of one name."""
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
    attempts = policy.whole("maxAttempts", -(1 << 62), 1 << 62)
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
    if Code.OK in codes:
        policy.notes.append(
            f"service config: {policy.at('retryableStatusCodes')}: a call that is OK has not failed, and is not retried"
        )
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
