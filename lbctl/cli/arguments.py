"""Arguments that several commands have: the service that is meant, and instances of it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from lbctl.cli.completion_sources import addresses, methods, services
from lbctl.cli.flags import argument


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


_SERVICE = "key prefix, or last part of a name"

ServiceArgument: TypeAlias = Annotated[
    str, argument(metavar="SERVICE", text=_SERVICE, parse=parse_service, completes=services)
]
AnyServiceArgument: TypeAlias = Annotated[
    str | None, argument(metavar="SERVICE", text=_SERVICE, parse=parse_service, completes=services)
]
CalledServiceArgument: TypeAlias = Annotated[
    str | None,
    argument(metavar="SERVICE", text=f"{_SERVICE}; optional with --backends", parse=parse_service, completes=services),
]
MethodArgument: TypeAlias = Annotated[
    str | None,
    argument(
        metavar="METHOD",
        text="package.Service/Method, or the end of it if that is clear",
        parse=parse_method,
        completes=methods,
    ),
]
AddressesArgument: TypeAlias = Annotated[
    list[str], argument(metavar="ADDRESS...", text="addresses, or keys", parse=parse_where, completes=addresses)
]
