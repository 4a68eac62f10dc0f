"""Connecting to one backend: one attempt at a time, and not before the delay that earlier ones call for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from lbctl.clock import Clock
from lbctl.model import Endpoint
from lbctl.rpc.backoff import Backoff
from lbctl.rpc.dial import Network, describe_failure
from lbctl.rpc.link import Link
from lbctl.rpc.links import Links
from lbctl.rpc.options import ConnectionOptions, Secure

_LIVED_NS: Final = 1_000_000_000


class Seeker(Protocol):
    """Who looks for a connection, and is told how that goes."""

    @property
    def seeks(self) -> bool: ...

    def trying(self) -> None: ...

    def failed(self, reason: str) -> None: ...

    def adopt(self, link: Link) -> None: ...


class Connector:
    """Gives its seeker a connection whose peer has said SETTINGS, for as long as it seeks one."""

    def __init__(
        self,
        endpoint: Endpoint,
        seeker: Seeker,
        links: Links,
        new_link: Callable[[float], Link],
        backoff: Backoff,
        clock: Clock,
        options: ConnectionOptions,
        secure: Secure | None,
        network: Network,
    ) -> None:
        self.keepalive_s = options.keepalive_s
        self.delays_next = False
        self._endpoint = endpoint
        self._seeker = seeker
        self._links = links
        self._new_link = new_link  # with this keepalive time
        self._backoff = backoff
        self._clock = clock
        self._timeout_s = options.connect_timeout_s
        self._secure = secure
        self._network = network
        self._wasted = False  # the last connection was of no use
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Begin to connect, unless that is going on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def aclose(self) -> None:
        """Stop, and raise what went wrong in here."""
        task = self._task
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    def judge_lost(self, link: Link) -> None:
        """A connection was lost: after one that neither ended calls nor lasted the next has to wait its turn."""
        self.delays_next = not self._was_of_use(link, served=link.session.ended_calls > 0)

    def judge_left(self, link: Link) -> str:
        """A connection takes no more calls; returns why, as it should be told.

        The next waits only if this was the second in a row without use, or the peer complained.
        """
        session = link.session
        before = self._wasted
        served = session.next_id > 1 and session.last_processed != 0
        of_use = self._was_of_use(link, served=served)
        complaint = bool(session.goaway_reason) and not session.goaway_reason.startswith("GOAWAY NO_ERROR")
        self.delays_next = complaint or (before and not of_use)
        if complaint and "too_many_pings" in session.goaway_reason and self.keepalive_s:
            self.keepalive_s *= 2
            return f"{session.goaway_reason}: keepalive every {self.keepalive_s:g}s from now on"
        return session.goaway_reason

    def _was_of_use(self, link: Link, *, served: bool) -> bool:
        of_use = served or self._clock.now_ns() - link.ready_ns >= _LIVED_NS
        if of_use:
            self._backoff.reset()
        self._wasted = not of_use
        return of_use

    async def _run(self) -> None:
        try:
            if self.delays_next:
                self.delays_next = False
                await self._network.sleep(self._backoff.next())
            while self._seeker.seeks:
                self._seeker.trying()
                link = self._new_link(self.keepalive_s)
                reason = await self._attempt(link)
                if not reason:
                    self._seeker.adopt(link)
                else:
                    self._seeker.failed(reason)
                    await self._network.sleep(self._backoff.next())
        finally:
            self._task = None

    async def _attempt(self, link: Link) -> str:
        """One connect, up to the peer's SETTINGS; returns why it failed, or nothing."""
        self._links.attempt()
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                await self._open(link)
        except (OSError, ValueError, OverflowError) as error:
            if not limit.expired():
                return describe_failure(error)
            return f"no {link.stage} within {self._timeout_s:g}s"
        if link.session.draining:
            link.close()
            return link.session.goaway_reason or link.session.closed
        return ""

    async def _open(self, link: Link) -> None:
        try:
            try:
                await self._network.dial(self._endpoint, link, self._secure)
            finally:
                if link.is_open:  # also when cancelled just then: it has to be waited for
                    self._links.add(link)
            await link.settled
        except BaseException:
            link.abort("connect timeout")
            raise
