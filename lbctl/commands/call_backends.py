"""The backends that single calls may go to: connected to all at once, and known as those that can be called or not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

from lbctl.commands.reach import Reaching
from lbctl.commands.unreachable import unreachable
from lbctl.errors import CannotCall
from lbctl.model import Identity, Instance, Service
from lbctl.rpc.access import Access
from lbctl.rpc.caller import Caller
from lbctl.rpc.obstacle import Kind, Obstacle
from lbctl.rpc.probe import connect
from lbctl.suggestion import Again

PATIENCE_S: Final = 1.0  # for the others, once one is connected
CONNECTING: Final = Obstacle(Kind.TIMEOUT, f"is not connected after {PATIENCE_S:g}s more than the first")


class CallBackends:
    """Callers of these instances; ``obstacles`` says of those that cannot be called why."""

    def __init__(self, instances: Sequence[Instance], reaching: Reaching) -> None:
        self.instances = tuple(instances)
        self.obstacles: dict[Identity, Obstacle] = {}
        self.access: dict[Identity, Access] = {each.identity: reaching.access(each) for each in instances}
        self._callers: dict[Identity, Caller] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for each in self.instances:
            caller = self.access[each.identity].caller(each.endpoint)
            self._callers[each.identity] = await self._stack.enter_async_context(caller)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def ready(self) -> list[Instance]:
        """Those that can be called now."""
        return [each for each in self.instances if self.is_ready(each)]

    def is_ready(self, instance: Instance) -> bool:
        """Whether there is a connection, or was one that may come back."""
        return instance.identity not in self.obstacles and not self.caller(instance).has_failed

    def caller(self, instance: Instance) -> Caller:
        return self._callers[instance.identity]

    async def settle(self) -> None:
        """Wait until it is known who can be called; once one can be, the others have a second."""
        trials = {asyncio.create_task(self._try(each)): each for each in self.instances}
        try:
            pending = set(trials)
            while pending and not self._any_connected(trials, pending):
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if pending:
                _, pending = await asyncio.wait(pending, timeout=PATIENCE_S)
            for trial in pending:
                self.obstacles[trials[trial].identity] = CONNECTING
            for trial in trials.keys() - pending:
                trial.result()
        finally:
            for trial in trials:
                trial.cancel()
            await asyncio.gather(*trials, return_exceptions=True)

    def _any_connected(self, trials: dict[asyncio.Task[None], Instance], pending: set[asyncio.Task[None]]) -> bool:
        return any(trials[trial].identity not in self.obstacles for trial in trials.keys() - pending)

    async def _try(self, instance: Instance) -> None:
        access = self.access[instance.identity]
        timeout_s = access.options.connect_timeout_s
        found = await connect(self.caller(instance), instance.endpoint, access.secure, timeout_s)
        if found is not None:
            self.obstacles[instance.identity] = found

    def refusal(self, service: Service, named: str, again: Again) -> CannotCall:
        """Say why none of them can be called."""
        known = {each.address: self.obstacles[each.identity] for each in self.instances}
        return unreachable(service, named, known, again)
