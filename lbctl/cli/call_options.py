"""The options of ``lbctl call``: who gets the call, how often, and what of it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from lbctl.cli.arguments import parse_where
from lbctl.cli.completion_sources import addresses
from lbctl.cli.flags import Flags, option, switch
from lbctl.cli.hash_key_options import hash_key_option
from lbctl.cli.policy_options import policy_opt_option, policy_option
from lbctl.cli.values import parse_count

_WHO: Final = "Who is called"


@dataclass(frozen=True, slots=True)
class WhoFlags(Flags):
    """Which backend gets the call."""

    policy: Annotated[Any, policy_option(_WHO)] = None  # parsed: typer has no name for what a parser returns
    policy_opt: Annotated[list[Any] | None, policy_opt_option(_WHO)] = None
    hash_key: Annotated[Any, hash_key_option(_WHO)] = None
    backend: Annotated[
        str | None,
        option(
            "--backend",
            text="call this one of the service's backends, whatever a policy would say",
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


@dataclass(frozen=True, slots=True)
class ReplyFlags(Flags):
    """What is shown of replies."""

    defaults: Annotated[
        bool, switch("--defaults", text="show fields of replies that are not set, too", panel="Output")
    ] = False
