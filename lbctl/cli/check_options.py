"""Options of the commands that ask backends how they are: ``health`` and ``doctor``."""

from __future__ import annotations

from typing import Any

from lbctl.cli.addresses import parse_weighted_endpoints
from lbctl.cli.completion_sources import backends
from lbctl.cli.flags import option, switch
from lbctl.cli.values import parse_positive_timeout


def timeout_option(panel: str) -> Any:  # noqa: ANN401 - typer's own type for it
    """``--timeout``: how long one check may take, in seconds."""
    return option(
        "--timeout",
        text="how long a backend may take to answer (default 1s)",
        metavar="TIME",
        panel=panel,
        parse=parse_positive_timeout,
    )


def exit_zero_option(panel: str) -> Any:  # noqa: ANN401 - typer's own type for it
    """``--exit-zero``: for those who read the output and not the exit status."""
    return switch("--exit-zero", text="exit status 0 whatever is found", panel=panel)


def backends_option(panel: str, what: str) -> Any:  # noqa: ANN401 - typer's own type for it
    """``--backends``: whom to ask, with weights, in place of ``what``."""
    return option(
        "--backends",
        text=f"{what}: HOST:PORT[=WEIGHT],...",
        metavar="LIST",
        panel=panel,
        parse=parse_weighted_endpoints,
        completes=backends,
    )
