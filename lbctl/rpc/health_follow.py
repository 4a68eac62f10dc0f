"""One backend's health for as long as somebody wants to know: Health/Watch, and Check where a server has no Watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from grpc_health.v1.health_pb2 import HealthCheckRequest

from lbctl.model import Code, Endpoint, Origin, Reply
from lbctl.rpc.access import Access
from lbctl.rpc.backoff import Backoff
from lbctl.rpc.caller import Caller
from lbctl.rpc.health import Health, Prober, Status, status_of
from lbctl.rpc.obstacle import silent, told
from lbctl.rpc.probe import connect

WATCH_PATH: Final = "/grpc.health.v1.Health/Watch"

Tell = Callable[[Health], None]


class HealthFollower:
    """Tells a backend's health when it is known first, and whenever it is another one."""

    def __init__(
        self,
        endpoint: Endpoint,
        access: Access,
        tell: Tell,
        *,
        service: str = "",
        timeout_s: float = 1.0,
        interval_s: float = 1.0,
        rng: Random,
    ) -> None:
        """Take whom to ask, and whom to tell; ``interval_s`` is between two checks where there is no Watch."""
        self._endpoint = endpoint
        self._access = access
        self._tell = tell
        self._service = service
        self._timeout_s = timeout_s
        self._interval_s = interval_s
        self._backoff = Backoff(rng)
        self._told: Health | None = None
        self._heard = False

    async def run(self) -> None:
        """Follow the backend for ever."""
        while True:
            async with self._access.caller(self._endpoint) as caller:
                if not await self._watch(caller):
                    break
            await asyncio.sleep(self._backoff.next())
        await self._check()

    async def _watch(self, caller: Caller) -> bool:
        """Follow one Watch to its end; False where the server has none."""
        obstacle = await connect(caller, self._endpoint, self._access.secure, self._timeout_s)
        if obstacle is not None:
            self._note(Health(Status(obstacle.kind), detail=obstacle.text))
            return True
        self._heard = False
        reply = await self._followed(caller)
        if reply.code is Code.UNIMPLEMENTED and reply.origin in (Origin.SERVER, Origin.HTTP):
            return False
        if self._heard:
            self._backoff.reset()
        if reply.origin in (Origin.SERVER, Origin.HTTP):
            self._note(Health(Status.ERROR, detail=f"ended the Watch: {told(reply)}"))
        return True  # a connection that was lost is looked at when it is made anew

    async def _followed(self, caller: Caller) -> Reply:
        question = HealthCheckRequest(service=self._service).SerializeToString()
        silence = asyncio.get_running_loop().call_later(self._timeout_s, self._silent)
        try:
            return (await caller.follow(WATCH_PATH, question, self._take, metadata=self._access.metadata)).reply
        finally:
            silence.cancel()

    def _silent(self) -> None:
        if not self._heard:
            obstacle = silent(self._timeout_s)
            self._note(Health(Status(obstacle.kind), detail=obstacle.text))

    def _take(self, message: bytes) -> None:
        self._heard = True
        self._note(Health(status_of(message)))

    async def _check(self) -> None:
        async with Prober() as prober:
            while True:
                health = await prober.check(
                    self._endpoint, self._access, service=self._service, timeout_s=self._timeout_s
                )
                self._note(health)
                await asyncio.sleep(self._interval_s)

    def _note(self, health: Health) -> None:
        before, self._told = self._told, health
        if before is None or (before.status, before.detail) != (health.status, health.detail):
            self._tell(health)
