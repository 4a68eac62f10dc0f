"""The gRPC services that one backend says it offers, and their methods, by server reflection."""

from __future__ import annotations

from lbctl.model import Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.probe import connect
from lbctl.rpc.schemas import lookup
from lbctl.rpc.schemas.asking import asking
from lbctl.rpc.schemas.conversation import ReflectionFailed, converse


async def offered(endpoint: Endpoint, access: Access, *, timeout_s: float) -> tuple[str, ...] | None:
    """Return the full names of its services; None where it cannot be asked, or does not tell."""
    async with access.caller(endpoint) as caller:
        if await connect(caller, endpoint, access.secure, timeout_s) is not None:
            return None
        try:
            return tuple((await converse(asking(caller, access, timeout_s))).listing)
        except ReflectionFailed:
            return None


async def described(endpoint: Endpoint, access: Access, *, timeout_s: float) -> list[tuple[str, str]] | None:
    """Return every method of its own services and of the health check: full name, and which sides stream.

    None where it cannot be asked, or does not tell.
    """
    async with access.caller(endpoint) as caller:
        if await connect(caller, endpoint, access.secure, timeout_s) is not None:
            return None
        try:
            talk = await converse(asking(caller, access, timeout_s))
            own = [*lookup.own(talk.listing), *(name for name in talk.listing if name == lookup.HEALTH)]
            catalog = {service: await talk.methods(service) for service in own}
        except ReflectionFailed:
            return None
    return [(str(name), lookup.kind(catalog[name.service][name.method])) for name in lookup.names(catalog)]
