"""The gRPC services that one backend says it offers, and their methods, by server reflection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from lbctl.model import Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.probe import connect
from lbctl.rpc.schemas import lookup
from lbctl.rpc.schemas.asking import asking
from lbctl.rpc.schemas.conversation import Conversation, ReflectionFailed, converse
from lbctl.rpc.schemas.symbols import WHOLE, index

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

T = TypeVar("T")


async def offered(endpoint: Endpoint, access: Access, *, timeout_s: float) -> tuple[str, ...] | None:
    """Return the full names of its services; None where it cannot be asked, or does not tell."""

    async def told(talk: Conversation) -> tuple[str, ...]:
        return tuple(talk.listing)

    return await _told(endpoint, access, told, timeout_s)


async def described(endpoint: Endpoint, access: Access, *, timeout_s: float) -> list[tuple[str, str]] | None:
    """Return every method of its own services and of the health check: full name, and which sides stream.

    None where it cannot be asked, or does not tell.
    """

    async def told(talk: Conversation) -> list[tuple[str, str]]:
        own = [*lookup.own(talk.listing), *(name for name in talk.listing if name == lookup.HEALTH)]
        catalog = {service: await talk.methods(service) for service in own}
        return [(str(name), lookup.kind(catalog[name.service][name.method])) for name in lookup.names(catalog)]

    return await _told(endpoint, access, told, timeout_s)


async def symbols(endpoint: Endpoint, access: Access, *, timeout_s: float) -> list[tuple[str, str]] | None:
    """Return all that it describes of its own services: full name, and what it is.

    None where it cannot be asked, or does not tell.
    """

    async def told(talk: Conversation) -> list[tuple[str, str]]:
        for service in lookup.own(talk.listing):
            await talk.methods(service)
        await talk.complete()
        return whole(talk.files)

    return await _told(endpoint, access, told, timeout_s)


def whole(files: Mapping[str, FileDescriptorProto]) -> list[tuple[str, str]]:
    """Return what files define and has a name that people look for, and what it is; protobuf's own is left out."""
    return [
        (symbol.spelt, str(symbol.kind))
        for symbol in index(files).values()
        if symbol.kind in WHOLE and not symbol.name.startswith("google.protobuf.")
    ]


async def _told(
    endpoint: Endpoint, access: Access, tell: Callable[[Conversation], Awaitable[T]], timeout_s: float
) -> T | None:
    async with access.caller(endpoint) as caller:
        if await connect(caller, endpoint, access.secure, timeout_s) is not None:
            return None
        try:
            return await tell(await converse(asking(caller, access, timeout_s)))
        except ReflectionFailed:
            return None
