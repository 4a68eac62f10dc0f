"""A run that follows the registry: what joins, leaves or changes there reaches it while it goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress

from lbctl.discovery.backends import distinct
from lbctl.discovery.directory import Update, follow
from lbctl.discovery.weight_limits import WeightLimits
from lbctl.errors import LbctlError
from lbctl.etcd.client import Etcd
from lbctl.load.run import Run
from lbctl.model import Endpoint, Identity, Instance, Service


def called(instances: Iterable[Instance]) -> list[Instance]:
    """Leave out those that speak another protocol than gRPC."""
    return [each for each in instances if each.speaks_grpc]


def backends_of(service: Service) -> str:
    """How many backends a service has, in words."""
    count = len(distinct(called(service.instances)))
    return f"{count} backend{'' if count == 1 else 's'} of {service.name}"


@asynccontextmanager
async def followed(
    etcd: Etcd | None,
    service: Service,
    load: Run,
    limits: WeightLimits | None = None,
    layout: str | None = None,
    named_by: str = "",
) -> AsyncIterator[None]:
    """The run follows the registry while the block lasts; a lost registry is an event, and the last state stays.

    Weights of the registry are used within ``limits``; ``layout`` and ``named_by`` are those the service was read with.
    """
    if etcd is None:
        load.apply(service.instances)
        load.note("joined", None, f"{backends_of(service)} given by --backends")
        yield
        return
    begun = asyncio.Event()
    updates = follow(etcd, service, layout, named_by)
    following = asyncio.create_task(_follow(updates, _Applying(load, limits or WeightLimits()), begun))
    beginning = asyncio.create_task(begun.wait())
    try:
        await asyncio.wait([following, beginning], return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            following.result()
        yield
    finally:
        for task in (following, beginning):
            task.cancel()
            with suppress(asyncio.CancelledError, LbctlError):
                await task


class _Applying:
    """Hands every state of the registry to the run, with weights as they are used."""

    def __init__(self, load: Run, limits: WeightLimits) -> None:
        self.load = load
        self._limits = limits
        self._told: set[tuple[Identity, int | None]] = set()
        self._keys: set[Endpoint] = set()  # told to have several

    def apply(self, instances: Sequence[Instance]) -> None:
        """Take a full state; a weight that is not used as it is registered is an event."""
        instances = called(instances)
        backends = sorted(distinct(instances), key=lambda instance: instance.identity)
        used = [self._limits.used(each) for each in backends]
        self.load.apply(used)
        self._tell_of_keys(instances)
        registered = {each.identity: each for each in backends}
        for each in used:
            there = registered[each.identity]
            if each.weight != there.weight and (each.identity, there.weight) not in self._told:
                self._told.add((each.identity, there.weight))
                stated = "none" if there.weight is None else str(there.weight)
                self.load.note("weight", each.address, f"registered weight {stated}, {each.weight} is used")

    def _tell_of_keys(self, instances: Sequence[Instance]) -> None:
        for endpoint, keys in Counter(each.endpoint for each in instances).items():
            if keys > 1 and endpoint not in self._keys:
                self._keys.add(endpoint)
                self.load.note("joined", str(endpoint), f"registered under {keys} keys: it counts once")


async def _follow(found: AsyncGenerator[Update, None], applying: _Applying, begun: asyncio.Event) -> None:
    load = applying.load
    try:
        async with aclosing(found) as updates:
            async for update in updates:
                _take(update, applying)
                if not begun.is_set():
                    # Where etcd was lost again already, the service as it was read has to do.
                    applying.apply(update.service.instances)
                    load.note("joined", None, f"resolved {update.service.prefix}: {backends_of(update.service)}")
                    begun.set()
    except LbctlError as error:
        if not begun.is_set():
            raise
        load.note("resync", None, f"registry no longer followed: {error}", "bad")


def _take(update: Update, applying: _Applying) -> None:
    if update.notice is not None:
        lost = update.notice.kind == "lost"
        text, level = f"registry {update.notice.kind}: {update.notice.text}", "bad" if lost else "good"
        applying.load.note("resync", None, text, level)
    if update.synced:
        applying.apply(update.service.instances)
