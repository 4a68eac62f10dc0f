"""The options that make calls differ: files of requests, values that are drawn, and several methods in one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from lbctl.cli.completion_requests import fields
from lbctl.cli.completion_values import files
from lbctl.cli.flags import Flags, one_of, option, switch
from lbctl.cli.metadata import parse_name

_REQUEST: Final = "Request"
ORDERS: Final = ("sequential", "random", "once")
FORMATS: Final = ("json", "ndjson", "csv")


def parse_column(text: str) -> tuple[str, str]:
    """Column and name of ``COLUMN=NAME``, or of one word for both; raises ValueError."""
    column, equals, name = text.partition("=")
    if not column.strip():
        raise ValueError(f"{text!r}: the column is missing (user_id=x-user)")
    return column.strip(), parse_name(name if equals else column)


@dataclass(frozen=True, slots=True)
class FileFlags(Flags):
    """Files that requests come from, and what in them is not the message."""

    data_file: Annotated[
        str | None,
        option(
            "-D",
            "--data-file",
            text="requests, one for each call in turn: a JSON message or array, NDJSON, or CSV whose first line names "
            "fields; - reads standard input",
            metavar="FILE",
            panel=_REQUEST,
        ),
    ] = None
    data_format: Annotated[
        str | None,
        option(
            "--data-format",
            text=f"how the file of -D is written, where its name or beginning does not tell: {', '.join(FORMATS)}",
            metavar="FORMAT",
            panel=_REQUEST,
            parse=one_of(*FORMATS),
        ),
    ] = None
    binary_series: Annotated[
        bool,
        switch(
            "--binary-series",
            text="--binary-file holds many messages, each behind its length as a varint (as ghz writes them)",
            panel=_REQUEST,
        ),
    ] = False
    no_template: Annotated[
        bool,
        switch(
            "--no-template",
            text="send {{...}} in data and metadata as it stands, and draw nothing: see docs/how-to/requests.md",
            panel=_REQUEST,
        ),
    ] = False
    metadata_from: Annotated[  # parsed: typer has no name for what a parser returns
        list[Any] | None,
        option(
            "--metadata-from",
            text="send this column of CSV, or field of JSON, as metadata of that name; may be repeated",
            metavar="COLUMN[=NAME]",
            panel=_REQUEST,
            parse=parse_column,
            completes=fields,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class DataFlags(FileFlags):
    """Where requests come from that are not all alike."""

    data_order: Annotated[
        str | None,
        option(
            "--data-order",
            text="which of several requests is next: sequential (default; from the start again at the end), random, or "
            "once, where the run ends with them",
            metavar="ORDER",
            panel=_REQUEST,
            parse=one_of(*ORDERS),
        ),
    ] = None
    mix: Annotated[
        Path | None,
        option(
            "--mix",
            text="several methods in one run, with weights and requests of their own: a file of YAML or JSON",
            metavar="FILE",
            panel=_REQUEST,
            completes=files("*.yaml", "*.yml", "*.json"),
        ),
    ] = None
