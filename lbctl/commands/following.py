"""A run that follows the registry: what joins, leaves or changes there reaches it while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress

from lbctl.discovery.directory import Update, follow
from lbctl.errors import LbctlError
from lbctl.etcd.client import Etcd
from lbctl.load.run import Run
from lbctl.model import Instance, Service


def backends_of(service: Service) -> str:
    """How many backends a service has, in words."""
    count = len(service.instances)
    return f"{count} backend{'' if count == 1 else 's'} of {service.name}"


@asynccontextmanager
async def followed(etcd: Etcd | None, service: Service, load: Run) -> AsyncIterator[None]:
    """The run follows the registry while the block lasts; a lost registry is an event, and the last state stays."""
    if etcd is None:
        load.apply(service.instances)
        load.note("joined", None, f"{backends_of(service)} given by --backends")
        yield
        return
    begun = asyncio.Event()
    following = asyncio.create_task(_follow(etcd, service, load, begun))
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


async def _follow(etcd: Etcd, service: Service, load: Run, begun: asyncio.Event) -> None:
    try:
        async with aclosing(follow(etcd, service)) as updates:
            async for update in updates:
                _take(update, load)
                if not begun.is_set():
                    # Where etcd was lost again already, the service as it was read has to do.
                    load.apply(_in_order(update.service.instances))
                    load.note("joined", None, f"resolved {service.prefix}: {backends_of(update.service)}")
                    begun.set()
    except LbctlError as error:
        if not begun.is_set():
            raise
        load.note("resync", None, f"registry no longer followed: {error}", "bad")


def _take(update: Update, load: Run) -> None:
    if update.notice is not None:
        lost = update.notice.kind == "lost"
        load.note("resync", None, f"registry {update.notice.kind}: {update.notice.text}", "bad" if lost else "good")
    if update.synced:
        load.apply(_in_order(update.service.instances))


def _in_order(instances: Sequence[Instance]) -> Sequence[Instance]:
    return sorted(instances, key=lambda instance: instance.identity)
