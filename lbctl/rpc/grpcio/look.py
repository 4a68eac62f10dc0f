"""Why C-core does not connect: it does not tell, but lbctl connects to the same address, and its own error does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from lbctl.model import Endpoint
from lbctl.rpc.caller import Caller
from lbctl.rpc.options import ConnectionOptions, Secure

_LOOK_S: Final = 1.0
_UNCLEAR: Final = "gRPC could not connect, and lbctl's own connection could"


class Look:
    """Looks at one address, once at a time; ``told`` gets what was found, unless it was cancelled."""

    def __init__(
        self, endpoint: Endpoint, options: ConnectionOptions, secure: Secure | None, told: Callable[[str], None]
    ) -> None:
        self._endpoint = endpoint
        self._options = ConnectionOptions(connect_timeout_s=min(_LOOK_S, options.connect_timeout_s))
        self._secure = secure
        self._told = told
        self._looking: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin to find out, unless that is under way."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())

    def cancel(self) -> None:
        """Nobody wants to know any more."""
        if self._looking is not None:
            self._looking.cancel()

    async def _look(self) -> None:
        async with Caller(self._endpoint, options=self._options, secure=self._secure) as caller:
            failure = await caller.connected(timeout_s=2 * _LOOK_S)
        self._told(_UNCLEAR if failure is None else failure.reason)
