"""The option that says one piece of metadata, wherever some is sent."""

from __future__ import annotations

from typing import Any

from lbctl.cli.completion_values import free
from lbctl.cli.flags import option
from lbctl.cli.metadata import parse_header


def header_option(what: str, panel: str) -> Any:  # noqa: ANN401 - typer's own type for it
    """Declare -H; ``what`` it is that goes where. What is parsed has no name that typer knows."""
    return option(
        "-H",
        "--header",
        text=f"{what}; may be repeated; -bin values are base64",
        metavar="'NAME: VALUE'",
        panel=panel,
        parse=parse_header,
        completes=free,
    )
