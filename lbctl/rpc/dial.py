"""The outside world of a subchannel: opening one TCP connection, why that failed, and waiting before the next."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from lbctl.model import Endpoint

_ERRNO: Final = re.compile(r"\[Errno (\d+)\]")


async def dial_tcp(endpoint: Endpoint, protocol: asyncio.Protocol) -> None:
    """Connect the protocol to the endpoint; raises OSError, ValueError or OverflowError."""
    await asyncio.get_running_loop().create_connection(lambda: protocol, endpoint.host, endpoint.port)


@dataclass(frozen=True, slots=True)
class Network:
    """How connections are opened, and how a number of seconds is let pass; ``dial`` raises as ``dial_tcp`` does."""

    dial: Callable[[Endpoint, asyncio.Protocol], Awaitable[None]] = dial_tcp
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


TCP: Final = Network()


def describe_failure(error: Exception) -> str:
    """Why a connect failed, in the words of the report."""
    number = _ERRNO.search(str(error))
    if number is not None:
        # Several addresses of one name fail as one error that only quotes the numbers.
        return os.strerror(int(number[1])).lower()
    return (getattr(error, "strerror", None) or str(error)).lower()
