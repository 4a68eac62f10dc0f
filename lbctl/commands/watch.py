"""``lbctl watch``: one service followed for as long as someone looks: its keys, its leases, its health."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

from lbctl.clock import Clock
from lbctl.commands.heard import Heard
from lbctl.commands.registrar import Registrar
from lbctl.commands.rewriting import Where
from lbctl.commands.screen import WatchReport, WatchScreen
from lbctl.commands.stopping import Stopping
from lbctl.commands.watch_book import Book, Told
from lbctl.discovery.directory import Update, find, follow, read
from lbctl.errors import RegistryError
from lbctl.etcd.client import Etcd
from lbctl.model import Endpoint, Event, Instance, Service
from lbctl.suggestion import Again

if TYPE_CHECKING:
    from lbctl.rpc.access import Access
    from lbctl.rpc.health import Prober

_TICK_S = 0.25
_LEASES_PER_TICK = 10  # at most 40 questions a second, however many instances there are
_LEASES_AT_ONCE = 64  # asked about when they appear or disappear
_LEASE_WAIT_S = 0.5
_SPREAD = 0.25  # leases are asked about every ttl/4, and up to this much later

Tell = Callable[[Told, datetime], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """What to follow; ``check`` asks every instance for its health every ``interval_s``.

    ``access_for`` says how an instance is called for that; None calls all by plaintext. ``again`` spells commands that
    look in the same place.
    """

    service: str
    prefix: str | None = None
    layout: str | None = None
    named_by: str = ""
    check: bool = True
    interval_s: float = 1.0
    timeout_s: float = 1.0
    access_for: Callable[[Instance], Access] | None = None
    read_only: str = ""  # why nothing may be written to the registry; "" where it may
    again: Again = field(default_factory=Again)


@dataclass(frozen=True, slots=True)
class Means:
    """What a watch needs of the world."""

    etcd: Etcd
    clock: Clock
    rng: Random


async def run(means: Means, request: Watch, screen: WatchScreen, tell: Tell) -> int | None:
    """Follow the service until it is stopped, by its screen or by a signal; every event is told at once.

    Returns the number of that signal. Raises NotFound for a service that is not there, RegistryError where etcd does
    not answer at the beginning; later outages are events.
    """
    found: list[Service] = []

    async def look() -> None:
        registry = await read(means.etcd, request.prefix, layout=request.layout, named_by=request.named_by)
        found.append(find(registry, request.service, request.layout, request.again))

    with Heard() as heard:
        number = await heard.during(look())
    if number is not None:
        return number
    watch = ServiceWatch(means, request, found[0], tell)
    try:
        with Stopping(watch.stop) as stopping:
            async with screen.showing(watch.report, watch):
                await watch.run()
        return stopping.first
    finally:
        await watch.registry.aclose()


class ServiceWatch:
    """One watch: the book it keeps, and the three loops that fill it. It is its own controls."""

    def __init__(self, means: Means, request: Watch, service: Service, tell: Tell) -> None:
        self._etcd = means.etcd
        self._clock = means.clock
        self._rng = means.rng
        self._request = request
        self._service = service
        self._tell = tell
        self._start_ns = means.clock.now_ns()
        self._book = Book(service.name, service.prefix, means.clock.wall().astimezone())
        self._stopping = asyncio.Event()
        self._check_now = asyncio.Event()
        self._begun = asyncio.Event()
        self._synced = True
        where = Where(request.service, request.prefix, request.layout, request.named_by, request.again)
        self.registry = Registrar(means.etcd, where, self._note, request.read_only)

    def stop(self) -> None:
        """End the watch."""
        self._stopping.set()

    def check(self) -> None:
        """Probe every instance's health now."""
        self._check_now.set()

    def log(self, text: str) -> None:
        """Note one line that something in the process wrote to standard error."""
        self._say([self._book.log(text, self._now())])

    def _note(self, kind: str, backend: str | None, text: str, level: str = "info") -> None:
        self._say([self._book.noted(Event(self._now(), kind, backend, text, level))])

    def report(self) -> WatchReport:
        """Return everything as it is now."""
        return self._book.report(self._now())

    async def run(self) -> None:
        """Watch until ``stop`` is called or something no patience mends happens."""
        loops: list[Coroutine[Any, Any, None]] = [self._follow(), self._ask_leases(), self._check_health()]
        tasks = [asyncio.create_task(loop) for loop in [self._until_stopped(), *loops]]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_stopped(self) -> None:
        await self._stopping.wait()

    def _now(self) -> float:
        return (self._clock.now_ns() - self._start_ns) / 1e9

    def _say(self, told: Iterable[Told]) -> None:
        at = self._clock.wall()
        for each in told:
            self._tell(each, at)

    async def _follow(self) -> None:
        followed = follow(self._etcd, self._service, self._request.layout, self._request.named_by)
        async with aclosing(followed) as updates:
            async for update in updates:
                self._say(self._notice(update))
                if update.synced and (update.notice is None or update.notice.kind == "resync"):
                    await self._learn_leases(_leases_concerned(update, everything=not self._begun.is_set()))
                    self._say(
                        self._book.take(update.service, update.revision, update.invalid, self._now(), update.kept)
                    )
                    self._begun.set()

    def _notice(self, update: Update) -> Iterator[Told]:
        self._synced = update.synced
        if update.notice is None:
            return
        if update.notice.kind == "lost":
            yield self._book.lost(update.notice.text, self._now())
        elif update.notice.kind == "resync":
            yield self._book.reread(update.notice.text, update.revision, self._now())
        else:
            yield self._book.resumed(update.revision, update.notice.endpoint, self._now())

    async def _learn_leases(self, leases: set[int]) -> None:
        """Ask about leases that matter for what is told next, but let nobody wait for the answers."""
        wanted = sorted(leases)[:_LEASES_AT_ONCE]
        if not wanted:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEASE_WAIT_S):
                await asyncio.gather(*map(self._ask_lease, wanted))

    async def _ask_lease(self, lease: int) -> None:
        with suppress(RegistryError):
            self._book.saw_lease(lease, await self._etcd.time_to_live(lease), self._now())

    async def _ask_leases(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            if self._synced:
                await asyncio.gather(*map(self._ask_lease, self._due_leases()))

    def _due_leases(self) -> list[int]:
        """Choose the leases not asked about for a quarter of their time, the longest waiting first."""
        now = self._now()
        waiting: list[tuple[float, int]] = []
        for lease in {each.lease for each in self._book.instances if each.lease}:
            age, granted = self._book.lease_age(lease, now), self._book.granted(lease)
            due_s = (granted or 4.0) / 4 * (1 + _SPREAD * self._rng.random())
            if age is None or age >= due_s:
                waiting.append((float("inf") if age is None else age, lease))
        return [lease for _, lease in sorted(waiting, reverse=True)[:_LEASES_PER_TICK]]

    async def _check_health(self) -> None:
        await self._begun.wait()
        from lbctl.rpc.health import Prober

        async with Prober() as prober:
            while True:
                if self._request.check or self._check_now.is_set():
                    self._check_now.clear()
                    await self._check_round(prober)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._request.interval_s if self._request.check else None):
                        await self._check_now.wait()

    async def _check_round(self, prober: Prober) -> None:
        places = {each.endpoint: each for each in self._book.instances if each.speaks_grpc}
        await prober.keep(places)
        self._book.checking = True
        try:
            await asyncio.gather(*(self._check_one(prober, *place) for place in places.items()))
        finally:
            self._book.checking = False

    async def _check_one(self, prober: Prober, endpoint: Endpoint, instance: Instance) -> None:
        from lbctl.rpc.access import plain

        access = (self._request.access_for or plain)(instance)
        health = await prober.check(endpoint, access, timeout_s=self._request.timeout_s)
        told = self._book.checked(endpoint, health, self._now())
        self._say(() if told is None else (told,))


def _leases_concerned(update: Update, *, everything: bool) -> set[int]:
    concerned = update.service.instances if everything else ()
    changed = [each for change in update.changes for each in (change.before, change.after) if each is not None]
    return {each.lease for each in (*concerned, *changed) if each.lease}
