"""From what was typed after ``lbctl compare`` to the runs that it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lbctl.cli.compare_options import DEFAULT_PAUSE_S, DEFAULT_ROUNDS, ORDERS, ContestFlags, contenders_of
from lbctl.cli.hammer_request import Asked, build
from lbctl.cli.hash_key_options import HashKeyFlags
from lbctl.cli.policy_options import chosen
from lbctl.cli.request_data_options import DataFlags
from lbctl.cli.run_options import RunFlags
from lbctl.cli.schema_options import SchemaFlags
from lbctl.cli.settings import Settings
from lbctl.commands.compare import Compare
from lbctl.errors import UsageError
from lbctl.load.pacing.curve import Stage
from lbctl.load.plan import Plan

if TYPE_CHECKING:
    from lbctl.balance.policies.base import Policy
    from lbctl.commands.hammer import Hammer
    from lbctl.stats.thresholds import Abort

_ENOUGH: Final = 2  # policies that can be compared


def policies_of(flags: ContestFlags, hash_keys: HashKeyFlags, settings: Settings) -> Sequence[Policy]:
    """The policies to compare, one alone with that of the settings; raises UsageError where they cannot be."""
    policies: Sequence[Policy] = flags.policy or ()
    if len(policies) == 1 and settings.policy is not None:
        policies = (chosen(None, (), settings), *policies)
    if len(policies) < _ENOUGH:
        raise UsageError(
            "compare needs two policies or more",
            "name each: --policy smooth_wrr --policy p2c (lbctl policies lists them)",
        )
    if hash_keys.hash_key is not None and not any(policy.keyed for policy in policies):
        raise UsageError("--hash-key: none of these policies picks by key", "those that do: lbctl policies")
    if flags.fail_on_regression and flags.rounds == 1:
        raise UsageError(
            "--fail-on-regression: one round cannot tell a regression from chance", "--rounds 3, which is the default"
        )
    return policies


def comparison_of(
    service: str,
    method: str | None,
    contest: ContestFlags,
    asked: Asked,
    settings: Settings,
    environ: Mapping[str, str],
    named: RunFlags | None = None,
    abort_on: tuple[Abort, ...] = (),
) -> Compare:
    """The whole comparison, every default in its place. Raises UsageError for options that contradict each other."""
    policies = policies_of(contest, asked.hash_keys, settings)
    requests: list[Hammer] = []
    # Standard input can be read once: the first has read what all of them send, and what describes it.
    bare = replace(asked.request, data=None, binary_file=None)
    again = replace(asked, request=bare, data=DataFlags(), schema=SchemaFlags())
    for policy in policies:
        mine = again if requests else asked
        keys = asked.hash_keys if policy.keyed else HashKeyFlags()
        mine = replace(mine, load=replace(asked.load, policy=policy), hash_keys=keys)
        found = replace(build(service, method, mine, settings, environ), abort_on=abort_on)
        requests.append(alike(found, requests[0]) if requests else found)
    order = contest.order or ORDERS[0]
    if order == "parallel":
        requests = [replace(each, plan=shared(each.plan, len(requests))) for each in requests]
    if named is not None:
        requests = list(map(named.applied, requests))
    contenders = contenders_of(policies)
    taken = len(policies) > len(contest.policy or ())
    return Compare(
        tuple(requests),
        contenders,
        contest.rounds or DEFAULT_ROUNDS,
        order,
        DEFAULT_PAUSE_S if contest.pause is None else contest.pause,
        (f"the baseline is {contenders[0].label}, by {settings.origins.get('policy', 'the settings')}",)
        if taken
        else (),
    )


def alike(request: Hammer, first: Hammer) -> Hammer:
    """The request with everything of the first one's that was read or drawn."""
    return replace(request, payload=first.payload, plan=first.plan, seed=first.seed, schema=first.schema)


def shared(plan: Plan, policies: int) -> Plan:
    """The part of a load that one of so many policies gets which run at the same time; raises UsageError."""
    schedule = plan.schedule
    if schedule is None:
        if plan.concurrency < policies:
            raise UsageError(f"--order parallel: -c {plan.concurrency} cannot be shared by {policies} policies")
        return replace(plan, concurrency=plan.concurrency // policies)
    if schedule.times_ns is not None:
        raise UsageError("--order parallel: recorded arrivals cannot be shared", "--order interleaved")
    stages = tuple(Stage(each.seconds, each.first / policies, each.last / policies) for each in schedule.stages)
    limit = plan.concurrency
    return replace(
        plan,
        schedule=replace(schedule, stages=stages),
        concurrency=max(limit // policies, 1) if limit else 0,
    )
