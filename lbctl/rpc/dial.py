"""Opening one TCP connection, and why that failed in words for people."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from typing import Final

from lbctl.model import Endpoint

Dial = Callable[[Endpoint, asyncio.Protocol], Awaitable[object]]

_ERRNO: Final = re.compile(r"\[Errno (\d+)\]")


async def dial_tcp(endpoint: Endpoint, protocol: asyncio.Protocol) -> None:
    """Connect the protocol to the endpoint; raises OSError, ValueError or OverflowError."""
    await asyncio.get_running_loop().create_connection(lambda: protocol, endpoint.host, endpoint.port)


def describe_failure(error: Exception) -> str:
    """Why a connect failed, in the words of the report."""
    number = _ERRNO.search(str(error))
    if number is not None:
        # Several addresses of one name fail as one error that only quotes the numbers.
        return os.strerror(int(number[1])).lower()
    return (getattr(error, "strerror", None) or str(error)).lower()
