"""The gRPC services that one backend says it offers, by server reflection."""

from __future__ import annotations

from lbctl.model import Endpoint
from lbctl.rpc.access import Access
from lbctl.rpc.conversation import ReflectionFailed, converse
from lbctl.rpc.probe import connect
from lbctl.rpc.reflection import asking


async def offered(endpoint: Endpoint, access: Access, *, timeout_s: float) -> tuple[str, ...] | None:
    """Return the full names of its services; None where it cannot be asked, or does not tell."""
    async with access.caller(endpoint) as caller:
        if await connect(caller, endpoint, access.secure, timeout_s) is not None:
            return None
        try:
            return tuple((await converse(asking(caller, access, timeout_s))).listing)
        except ReflectionFailed:
            return None
