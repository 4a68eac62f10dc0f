"""``--policy NAME`` and ``--policy-opt NAME=VALUE``: from what was typed, or stands in the settings, to a policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lbctl.cli.completion_values import Candidate, Source, Typed, pairs
from lbctl.cli.flags import option
from lbctl.errors import UsageError

if TYPE_CHECKING:  # thirty modules, and most commands do without
    from lbctl.balance.policies.base import Policy
    from lbctl.cli.settings import Settings

DEFAULT_POLICY: Final = "smooth_wrr"
SEE_ALL: Final = "lbctl policies lists them"


def parse_policy(text: str) -> Policy:
    """The policy of that name or alias; raises ValueError with the nearest names."""
    from lbctl.balance.policies.nearest import near_names
    from lbctl.balance.policies.table import BY_NAME

    found = BY_NAME.get(text)
    if found is None:
        near = near_names(text)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise ValueError(f"{text!r} is not a policy ({meant}{SEE_ALL})")
    return found


def parse_policy_opts(text: str) -> tuple[tuple[str, str], ...]:
    """``decay=5s,choices=3`` as pairs; a part without ``=`` belongs to the value before it."""
    pairs: list[tuple[str, str]] = []
    for part in text.split(","):
        name, found, value = part.partition("=")
        if found and name.strip():
            pairs.append((name.strip(), value.strip()))
        elif pairs and not found:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]},{part.strip()}")
        else:
            raise ValueError(f"{part!r} is not NAME=VALUE (for example choices=3)")
    return tuple(pairs)


def policies(typed: Typed) -> Iterator[Candidate]:
    """What ``--policy`` may be: names with what each does, and aliases where no name begins so; as completions."""
    from lbctl.cli.completion_cache import remembered

    kinds = (_OWN, _GRPC) if typed.last("engine") == "grpcio" else (_OWN,)
    rows = remembered("balance/policies", _told)
    known = [Candidate(name, about) for kind, name, about in rows if kind in kinds]
    yield from known
    if not any(each.text.startswith(typed.text) for each in known):
        yield from (Candidate(name, about) for kind, name, about in rows if kind == _ALIAS)


_OF_GRPC: Final = "with --engine grpcio also gRPC's own, grpc:NAME"
_OWN: Final = "own"
_GRPC: Final = "grpc"
_ALIAS: Final = "alias"


def _told() -> list[tuple[str, str, str]]:
    """Every policy by every name, with what it does."""
    from lbctl.balance.policies.table import BY_NAME, GRPC_POLICIES, POLICIES

    return [
        *((_OWN, each.name, each.summary) for each in POLICIES.values()),
        *((_GRPC, each.name, each.summary) for each in GRPC_POLICIES.values()),
        *((_ALIAS, name, f"{each.name}: {each.summary}") for name, each in BY_NAME.items()),
    ]


def all_policies(typed: Typed) -> Iterator[Candidate]:
    """The same with gRPC's own, whichever the engine."""
    return policies(replace(typed, options={"engine": ["grpcio"]}))


def _options(typed: Typed) -> object | None:
    """The options of the policy that the line names, or the settings."""
    from lbctl.balance.policies.table import BY_NAME
    from lbctl.cli.completion_registry import settings_of

    name = typed.last("policy")
    if name is None:
        settings = settings_of(typed)
        name = (settings.policy if settings is not None else None) or DEFAULT_POLICY
    policy = BY_NAME.get(name)
    return None if policy is None else policy.options


def _own_options(typed: Typed) -> object | None:
    return _options(replace(typed, options={"policy": [typed.text.partition(",")[0]]}))


policy_opts: Final[Source] = pairs(_options)
policy_with_options: Final[Source] = pairs(_own_options, head=policies)


def policy_option(panel: str, *, engines: bool = True) -> Any:  # noqa: ANN401 - typer's own type for it
    """``--policy``: who picks; where there are ``engines`` to choose from, also inside of grpcio."""
    text = f"{listed()}; {_OF_GRPC}" if engines else listed()
    return option("--policy", text=text, metavar="NAME", panel=panel, parse=parse_policy, completes=policies)


def policy_opt_option(panel: str) -> Any:  # noqa: ANN401 - typer's own type for it
    """``--policy-opt``: how it picks."""
    return option(
        "--policy-opt",
        text="an option of the policy; several with commas, or repeated (see: lbctl policies NAME)",
        metavar="NAME=VALUE",
        panel=panel,
        parse=parse_policy_opts,
        completes=policy_opts,
    )


def chosen(given: Policy | None, opts: Iterable[Iterable[tuple[str, str]]] | None, settings: Settings) -> Policy:
    """The policy, also from the settings, with its options set. Raises UsageError."""
    policy = given or _from_settings(settings)
    return policy.with_options(_once([pair for pairs in opts or () for pair in pairs]))


def _once(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Every option once: two values of one option contradict each other."""
    values: dict[str, str] = {}
    for name, value in pairs:
        plain = name.replace("-", "_")
        if values.setdefault(plain, value) != value:
            raise UsageError(
                f"--policy-opt: {name} is given twice, as {values[plain]!r} and {value!r}", "each option has one value"
            )
    return values


def _from_settings(settings: Settings) -> Policy:
    from lbctl.balance.policies.table import POLICIES

    if settings.policy is None:
        return POLICIES[DEFAULT_POLICY]
    try:
        policy = parse_policy(settings.policy)
    except ValueError as error:
        raise UsageError(
            f"{settings.origins.get('policy', 'policy')}: {error}", "another one may be named by --policy"
        ) from None
    if not settings.policy_opt:
        return policy
    try:
        return policy.with_options(_once(parse_policy_opts(settings.policy_opt)))
    except (ValueError, UsageError) as error:
        hint = error.hint if isinstance(error, UsageError) else f"see: lbctl policies {policy.name}"
        raise UsageError(f"{settings.origins.get('policy_opt', 'policy_opt')}: {error}", hint) from None


def listed() -> str:
    """What ``--policy`` says of the names there are: too many to list them all."""
    own = "round_robin, smooth_wrr, weighted_random, ring_hash, least_request, p2c, peak_ewma"
    return f"{own} ... (default {DEFAULT_POLICY}; {SEE_ALL})"
