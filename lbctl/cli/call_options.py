"""The options of ``lbctl call``: who gets the call, how often, and what of it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from lbctl.cli.arguments import parse_where
from lbctl.cli.check_options import exit_zero_option
from lbctl.cli.completion_sources import addresses
from lbctl.cli.completion_values import free
from lbctl.cli.flags import Flags, option, switch
from lbctl.cli.hash_key_options import hash_key_option
from lbctl.cli.policy_options import policy_opt_option, policy_option
from lbctl.cli.values import parse_count

_WHO: Final = "Who is called"


@dataclass(frozen=True, slots=True)
class WhoFlags(Flags):
    """Which backend gets the call."""

    policy: Annotated[Any, policy_option(_WHO, engines=False)] = (
        None  # parsed: typer has no name for what a parser returns
    )
    policy_opt: Annotated[list[Any] | None, policy_opt_option(_WHO)] = None
    hash_key: Annotated[Any, hash_key_option(_WHO)] = None
    backend: Annotated[
        str | None,
        option(
            "--backend",
            text="call this one of the service's backends, by address, key, id, host or port; no policy is asked",
            metavar="ADDRESS",
            panel=_WHO,
            parse=parse_where,
            completes=addresses,
        ),
    ] = None
    repeat: Annotated[
        int | None,
        option(
            "--repeat",
            text="calls to make, one after the other, through the same policy (default: one for each request given)",
            metavar="N",
            panel=_WHO,
            parse=parse_count,
        ),
    ] = None


def _paths(text: str) -> tuple[str, ...]:
    """Fields of ``a,b.c``; raises ValueError."""
    found = tuple(each.strip() for each in text.split(","))
    if not all(part for path in found for part in path.split(".")):
        raise ValueError(f"{text!r} is not fields of a message (backend, items.id)")
    return found


@dataclass(frozen=True, slots=True)
class EachFlags(Flags):
    """Whether all are called."""

    each: Annotated[
        bool, switch("--each", text="call every backend, and show where their replies differ", panel=_WHO)
    ] = False
    ignore: Annotated[  # parsed: typer has no name for what a parser returns
        list[Any] | None,
        option(
            "--ignore",
            text="with --each: fields that may differ, with commas, or repeated (backend, items.id)",
            metavar="FIELD",
            panel=_WHO,
            parse=_paths,
            completes=free,
        ),
    ] = None
    exit_zero: Annotated[bool, exit_zero_option(_WHO)] = False


@dataclass(frozen=True, slots=True)
class ReplyFlags(Flags):
    """What is shown of replies."""

    defaults: Annotated[
        bool, switch("--defaults", text="show fields of replies that are not set, too", panel="Output")
    ] = False
