"""Health checks of the backends of a run, over one more connection each, so that nothing of it is counted as load."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Final

from google.protobuf.message import DecodeError
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from lbctl.balance.balancer import Balancer
from lbctl.balance.guards.base import CONNECTING, UNHEALTHY
from lbctl.balance.guards.health import HealthOptions, Pulse
from lbctl.balance.peer import Peer
from lbctl.model import Code, Instance, Origin, Reply
from lbctl.rpc.access import Access
from lbctl.rpc.backoff import Backoff
from lbctl.rpc.caller import Caller
from lbctl.rpc.health import CHECK_PATH
from lbctl.rpc.obstacle import told

WATCH_PATH: Final = "/grpc.health.v1.Health/Watch"

Note = Callable[[str, str | None, str, str], None]  # kind, backend, text, level
AccessFor = Callable[[Instance], Access]


class HealthWatch:
    """A companion of the backends: keeps those out of the rotation that do not say that they serve."""

    def __init__(
        self, options: HealthOptions, balancer: Balancer, access_for: AccessFor, rng: Random, note: Note
    ) -> None:
        self._options = options
        self._balancer = balancer
        self._access_for = access_for
        self._rng = rng
        self._note = note
        self._tasks: dict[Peer, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._unknown: set[Peer] = set()  # who has not answered yet
        self._known = asyncio.Event()
        self._known.set()

    def joined(self, peer: Peer) -> None:
        """Ask a backend for its health from now on; until it has answered it is not ready."""
        self._balancer.bar(peer, CONNECTING, barred=True)
        self._unknown.add(peer)
        self._known.clear()
        self._tasks[peer] = asyncio.create_task(self._look_after(peer))

    def left(self, peer: Peer) -> None:
        """Ask it no more."""
        self._settle(peer)
        task = self._tasks.pop(peer, None)
        if task is not None:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def settled(self) -> None:
        """Wait until every backend has answered, or was silent for as long as an answer may take."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.timeout):
                await self._known.wait()

    async def aclose(self) -> None:
        """Ask nobody anything any more."""
        for peer in [*self._tasks]:
            self.left(peer)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _look_after(self, peer: Peer) -> None:
        access = self._access_for(peer.instance)
        async with access.caller(peer.instance.endpoint) as caller:
            one = _Patient(self, peer, caller, access)
            if self._options.mode == "check" or not await one.watch(Backoff(self._rng)):
                await one.check()

    def _settle(self, peer: Peer) -> None:
        self._unknown.discard(peer)
        if not self._unknown:
            self._known.set()

    def tell(self, peer: Peer, healthy: bool, why: str) -> None:
        """A backend's health is known, perhaps as it was."""
        was_out, was_unknown = UNHEALTHY in peer.bars, CONNECTING in peer.bars
        self._balancer.bar(peer, UNHEALTHY, barred=not healthy)
        self._balancer.bar(peer, CONNECTING, barred=False)
        self._settle(peer)
        if not healthy and not was_out:
            self._note("health", peer.instance.address, f"health {why}{self._so('removed from rotation')}", "bad")
        elif healthy and was_out:
            self._note("health", peer.instance.address, f"health {why}{self._so('back in rotation')}", "good")
        elif healthy and was_unknown and why != "SERVING":
            self._note("health", peer.instance.address, f"health {why}", "info")

    def _so(self, effect: str) -> str:
        """What follows from it, where the policy cares."""
        policy = self._balancer.policy
        return f", which {policy.name} ignores" if policy.ignores_health else f" -> {effect}"

    def forget(self, peer: Peer) -> None:
        """Nothing is known of a backend that had been well: there is no connection to it."""
        self._settle(peer)
        if UNHEALTHY not in peer.bars:
            self._balancer.bar(peer, CONNECTING, barred=True)


class _Patient:
    """One backend, and what it is asked over one connection."""

    def __init__(self, watch: HealthWatch, peer: Peer, caller: Caller, access: Access) -> None:
        self._watch = watch
        self._peer = peer
        self._caller = caller
        self._metadata = access.metadata
        self._options = watch._options
        self._question = HealthCheckRequest(service=self._options.service).SerializeToString()
        self._heard = False

    async def watch(self, backoff: Backoff) -> bool:
        """Follow Watch for ever, or return False where the server has none."""
        while True:
            self._heard = False
            reply = await self._followed()
            by_server = reply.origin in (Origin.SERVER, Origin.HTTP)
            if reply.code is Code.UNIMPLEMENTED and by_server:
                return False
            if by_server:
                self._watch.tell(self._peer, False, f"unknown, Watch ended: {told(reply)}")
            else:
                self._watch.forget(self._peer)
            if self._heard:
                backoff.reset()
            await asyncio.sleep(backoff.next())

    async def _followed(self) -> Reply:
        """One Watch to its end; the first answer has to come in time."""
        obstacle = await self._caller.connected(timeout_s=self._options.timeout)
        if obstacle is not None:
            return obstacle
        silence = asyncio.get_running_loop().call_later(self._options.timeout, self._silent)
        try:
            call = self._caller.follow(WATCH_PATH, self._question, self._take, metadata=self._metadata)
            return (await call).reply
        finally:
            silence.cancel()

    def _silent(self) -> None:
        if not self._heard:
            self._watch.tell(self._peer, False, f"unknown, no answer within {self._options.timeout:g}s")

    def _take(self, message: bytes) -> None:
        self._heard = True
        status = _status(message)
        self._watch.tell(self._peer, status == "SERVING", status)

    async def check(self) -> None:
        """Ask again and again, until the server turns out not to know of health."""
        pulse = Pulse(self._options)
        while True:
            good, why = await self._asked()
            if why == "UNIMPLEMENTED":
                return self._watch.tell(self._peer, True, "UNIMPLEMENTED: counts as serving, and is asked no more")
            pulse.beat(good)
            if pulse.healthy is not None:
                said = why if pulse.healthy == good else "unchanged"
                self._watch.tell(self._peer, pulse.healthy, said)
            await asyncio.sleep(self._options.interval)

    async def _asked(self) -> tuple[bool, str]:
        """One check: whether the backend serves, and what it said."""
        timeout_s = self._options.timeout
        obstacle = await self._caller.connected(timeout_s=timeout_s)
        if obstacle is not None:
            return False, told(obstacle)
        reply = (
            await self._caller.unary(CHECK_PATH, self._question, timeout_s=timeout_s, metadata=self._metadata)
        ).reply
        if reply.code is Code.UNIMPLEMENTED and reply.origin is Origin.SERVER:
            return True, "UNIMPLEMENTED"
        status = _status(reply.message) if reply.code is Code.OK else "SERVICE_UNKNOWN"
        if reply.code not in (Code.OK, Code.NOT_FOUND):
            status = f"unknown, Check ended: {told(reply)}"
        return status == "SERVING", status


def _status(message: bytes) -> str:
    """What a backend says of itself."""
    try:
        return str(HealthCheckResponse.ServingStatus.Name(HealthCheckResponse.FromString(message).status))
    except (DecodeError, ValueError):
        return "UNKNOWN"
