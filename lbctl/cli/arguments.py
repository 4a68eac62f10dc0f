"""Arguments that several commands have: the service that is meant, and instances of it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from lbctl.cli.values import option_parser


def parse_service(text: str) -> str:
    """A key prefix, or the last part of a name; raises ValueError for one that is blank."""
    if not text.strip():
        raise ValueError("it is empty (give the name of a service)")
    return text


def parse_method(text: str) -> str:
    """A method, or the end of one; raises ValueError for one that is blank."""
    if not text.strip():
        raise ValueError("it is empty (give package.Service/Method, or leave it out for the health check)")
    return text


def parse_where(text: str) -> str:
    """An address, or a key; raises ValueError for one that is blank, such as that of a variable that is not set."""
    if not text.strip():
        raise ValueError("it is empty (give an address, for example 10.0.0.11:50051, or a key)")
    return text


ServiceArgument: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="SERVICE", help="key prefix, or last part of a name", parser=option_parser(parse_service)),
]
AnyServiceArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="SERVICE",
        help="key prefix, or last part of a name",
        parser=option_parser(parse_service),
        show_default=False,
    ),
]
CalledServiceArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="SERVICE",
        help="key prefix, or last part of a name; optional with --backends",
        parser=option_parser(parse_service),
        show_default=False,
    ),
]
MethodArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="METHOD",
        help="package.Service/Method, or the end of it if that is clear",
        parser=option_parser(parse_method),
        show_default=False,
    ),
]
AddressesArgument: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="ADDRESS...", help="addresses, or keys", parser=option_parser(parse_where), show_default=False
    ),
]
