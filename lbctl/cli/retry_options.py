"""The options of ``lbctl hammer`` about calls that failed, and gRPC's service config, which says that and more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.completion_values import files
from lbctl.cli.flags import Flags, option
from lbctl.cli.values import parse_count, parse_duration, parse_percent, parse_positive_duration, parse_rate
from lbctl.errors import UsageError

if TYPE_CHECKING:  # they take a while, and most commands do without
    from lbctl.balance.policies.base import Policy
    from lbctl.balance.service_config import ServiceConfig
    from lbctl.commands.repeating import Configured
    from lbctl.load.throttle import Allowance

PANEL: Final = "Calls that fail"
NO_POLICY: Final = "the service config names no policy: a gRPC client that has it uses pick_first"


def parse_attempts(text: str) -> int:
    """A number of attempts, as many as gRPC allows; the first one counts."""
    from lbctl.balance.service_methods import MOST_ATTEMPTS

    attempts = parse_count(text)
    if not 2 <= attempts <= MOST_ATTEMPTS:
        raise ValueError(f"{text!r} is not from 2 to {MOST_ATTEMPTS}; the first attempt counts")
    return attempts


def parse_budget(text: str) -> Allowance:
    """``20%``, ``20%,10/s``, ``20%,10/s,10s``: a part of all calls, a number a second besides, and for how long."""
    from lbctl.load.throttle import Allowance

    parts = text.split(",")
    if len(parts) > 3:
        raise ValueError(f"{text!r} is not PERCENT[,RATE[,TIME]] (for example 20%,10/s,10s)")
    defaults = Allowance()
    return Allowance(
        parse_percent(parts[0]),
        parse_rate(parts[1]) if len(parts) > 1 else defaults.least_per_s,
        parse_positive_duration(parts[2]) if len(parts) > 2 else defaults.ttl_s,
    )


@dataclass(frozen=True, slots=True)
class RetryFlags(Flags):
    """Which calls are made again."""

    service_config: Annotated[
        list[str] | None,
        option(
            "--service-config",
            text="gRPC's service config, JSON or a file of it: policy, timeout, retryPolicy, hedgingPolicy, "
            "retryThrottling",
            metavar="FILE|JSON",
            panel=PANEL,
            completes=files("*.json"),
        ),
    ] = None
    max_attempts: Annotated[
        int | None,
        option(
            "--max-attempts",
            text="attempts of a call that ends UNAVAILABLE, 2 to 5, the first included; the next after 100ms, 200ms, "
            "... as gRPC retries (default 1)",
            metavar="N",
            panel=PANEL,
            parse=parse_attempts,
        ),
    ] = None
    hedge: Annotated[
        float | None,
        option(
            "--hedge",
            text="send a call once more, elsewhere, that has no answer after this long; the first answer counts "
            "(--max-attempts in all, default 2)",
            metavar="TIME",
            panel=PANEL,
            parse=parse_duration,
        ),
    ] = None
    retry_budget: Annotated[  # parsed: typer has no name for what a parser returns
        Any,
        option(
            "--retry-budget",
            text="retries and hedges at most: a part of all calls, and some a second, within a time (20%,10/s,10s)",
            metavar="PERCENT[,RATE[,TIME]]",
            panel=PANEL,
            parse=parse_budget,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Balanced:
    """The policy of the run where flags and config are both heard, and who was not, in words."""

    policy: Policy | None
    notes: tuple[str, ...] = field(default=())


def configured(flags: RetryFlags, *, timeout_given: bool) -> Configured:
    """What the flags say, the service config read. Raises UsageError for one that gRPC would reject."""
    from lbctl.balance.service_config import ServiceConfig, one, parse_service_config
    from lbctl.commands.repeating import Configured

    config = ServiceConfig()
    if flags.service_config:
        config = parse_service_config(_read(one(flags.service_config)))
    return Configured(config, flags.max_attempts, flags.hedge, flags.retry_budget, timeout_given)


def balanced(config: ServiceConfig, given: Policy | None, setting: str | None) -> Balanced:
    """Who decides the policy: ``--policy``, then the service config, then the setting."""
    wanted = config.balancing
    if wanted is None:
        is_other = given is None or given.name != "pick_first"
        return Balanced(given, (NO_POLICY,) if config.methods and is_other else ())
    if given is not None:
        note = (
            () if given.name == wanted.policy else (f"--policy {given.name} counts, not {wanted.named} of the config",)
        )
        return Balanced(given, note)
    from lbctl.balance.policies.table import POLICIES

    policy = POLICIES[wanted.policy].with_options(wanted.options)
    return Balanced(policy, tuple(_chosen(policy, wanted.named, setting)))


def _chosen(policy: Policy, named: str, setting: str | None) -> Iterator[str]:
    known_as = "" if policy.name == named else f" ({named})"
    instead = "" if setting is None or setting == policy.name else f", not {setting} of the settings"
    yield f"policy {policy.name}{known_as} by the service config{instead}"


def _read(text: str) -> str:
    """The JSON itself, or that of a file."""
    if not text.strip():
        raise UsageError("--service-config is empty", "give a file, or JSON: '{...}'")
    if text.lstrip().startswith(("{", "[")):
        return text
    try:
        return Path(text).read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"--service-config: cannot read {text}: {reason}", "give a file, or JSON: '{...}'") from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"--service-config: {text} is not UTF-8 text (byte {error.start})", "a service config is JSON"
        ) from None
