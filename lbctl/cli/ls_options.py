"""The options of ``lbctl ls``."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from lbctl.cli.values import option_parser, parse_label

SORTS: Final = ("address", "weight", "share", "health", "rtt", "ttl", "created")


def _sort(text: str) -> str:
    if text not in SORTS:
        raise ValueError(f"{text!r} is not a column to sort by (use one of {', '.join(SORTS)})")
    return text


Label = Annotated[
    list[Any] | None,
    typer.Option(
        "-l",
        "--label",
        parser=option_parser(parse_label),
        metavar="KEY=VALUE",
        help="only instances whose metadata has this; may be repeated",
        show_default=False,
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort",
        parser=option_parser(_sort),
        metavar="COLUMN",
        help=f"{', '.join(SORTS)} (default: key order)",
        show_default=False,
    ),
]
Check = Annotated[
    bool | None,
    typer.Option("--check/--no-check", help="ask every instance for its health", show_default=False),
]
Follow = Annotated[
    bool, typer.Option("-w", "--watch", help="then print a row for every change, for ever", show_default=False)
]
Expect = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="FILE",
        help="addresses that ought to be registered, one a line, or a JSON list; exit status 1 if others are"
        " (- is standard input)",
        show_default=False,
    ),
]
Everything = Annotated[
    bool,
    typer.Option("--all", help="also what may be a service, and every key that is none", show_default=False),
]
Explain = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="KEY",
        help="tell which layouts were tried on this key, and why they do not have it",
        show_default=False,
    ),
]
