"""The options of ``lbctl compare``: which policies, how often and in which order, and what is a regression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from lbctl.cli.completion_figures import limits
from lbctl.cli.flags import Flags, one_of, option
from lbctl.cli.policy_options import SEE_ALL, parse_policy, parse_policy_opts, policy_with_options
from lbctl.cli.regressions import parse_limits_or_default
from lbctl.cli.values import parse_count, parse_duration
from lbctl.errors import UsageError

if TYPE_CHECKING:
    from lbctl.balance.policies.base import Policy
    from lbctl.stats.rounds import Contender

PANEL: Final = "Comparison"
ORDERS: Final = ("interleaved", "sequential", "parallel")
DEFAULT_ROUNDS: Final = 3
DEFAULT_PAUSE_S: Final = 1.0


def parse_contender(text: str) -> Policy:
    """``smooth_wrr``, or ``least_request,choice-count=3``: a policy with options of its own; raises ValueError."""
    name, comma, rest = text.partition(",")
    policy = parse_policy(name.strip())
    if not comma:
        return policy
    pairs = parse_policy_opts(rest)
    twice = [option for option, times in Counter(option for option, _ in pairs).items() if times > 1]
    if twice:
        raise ValueError(f"{text!r}: {twice[0]} is given twice")
    try:
        return policy.with_options(dict(pairs))
    except UsageError as error:
        raise ValueError(f"{text!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class ContestFlags(Flags):
    """What is compared, and how."""

    policy: Annotated[  # parsed: typer has no name for what a parser returns
        list[Any] | None,
        option(
            "--policy",
            text=f"a policy, with options of its own behind commas; repeated, the first is the baseline ({SEE_ALL})",
            metavar="NAME[,OPTION=VALUE...]",
            panel=PANEL,
            parse=parse_contender,
            completes=policy_with_options,
        ),
    ] = None
    rounds: Annotated[
        int | None,
        option(
            "--rounds",
            text="runs of each policy (default 3); intervals need 2 or more, and are far narrower from 5 on",
            metavar="N",
            panel=PANEL,
            parse=parse_count,
        ),
    ] = None
    order: Annotated[
        str | None,
        option(
            "--order",
            text="interleaved (default): ABC BCA CAB, so that slow changes cancel; sequential: AAA BBB CCC; parallel: "
            "those of a round at once, which share -c, -r and the backends",
            metavar="ORDER",
            panel=PANEL,
            parse=one_of(*ORDERS),
        ),
    ] = None
    pause: Annotated[
        float | None,
        option("--pause", text="between two runs (default 1s)", metavar="TIME", panel=PANEL, parse=parse_duration),
    ] = None
    fail_on_regression: Annotated[  # parsed: typer has no name for what a parser returns
        Any,
        option(
            "--fail-on-regression",
            text="exit with 1 where a policy is worse than the baseline by more than this, and its interval says so "
            "too (alone: p99<10%,error_rate,rps<5%)",
            metavar="[METRIC<LIMIT,...]",
            panel=PANEL,
            parse=parse_limits_or_default,
            completes=limits,
        ),
    ] = None


def contenders_of(policies: Sequence[Policy]) -> tuple[Contender, ...]:
    """The policies with a label each: the name, with its options where they tell it from another, or a number."""
    from lbctl.stats.rounds import Contender

    names = Counter(policy.name for policy in policies)
    labels = [
        policy.name
        if names[policy.name] == 1
        else ",".join([policy.name, *(f"{k}={v}" for k, v in policy.stated.items())])
        for policy in policies
    ]
    seen: Counter[str] = Counter()
    found = []
    for label, policy in zip(labels, policies, strict=True):
        seen[label] += 1
        own = label if seen[label] == 1 else f"{label} #{seen[label]}"
        found.append(Contender(own, policy.name, dict(policy.stated)))
    return tuple(found)
