"""The options of ``lbctl hammer`` that say who else is told of a run while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from lbctl.cli.addresses import parse_listening
from lbctl.cli.flags import Flags, option


@dataclass(frozen=True, slots=True)
class OutputFlags(Flags):
    """What is served of a run."""

    metrics: Annotated[  # parsed: typer has no name for what a parser returns
        Any,
        option(
            "--metrics",
            text="serve Prometheus metrics at http://HOST:PORT/metrics during the run; port 0 takes a free one",
            metavar="HOST:PORT",
            panel="Screen and result",
            parse=parse_listening,
        ),
    ] = None
