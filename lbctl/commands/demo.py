"""``lbctl demo``: etcd and backends for as long as someone waits, or for as long as one command runs."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from lbctl.commands.heard import Handling
from lbctl.commands.stopping import status_after
from lbctl.demo.guest import Guest, find_command, guest_environment
from lbctl.demo.notice import obituary
from lbctl.demo.scene import Facts, Scene, Setup, stage


@dataclass(frozen=True, slots=True)
class Demo:
    """What to stand up, and the command to run in it (none: wait for Ctrl-C)."""

    setup: Setup
    command: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), hash=False)


@dataclass(frozen=True, slots=True)
class Talk:
    """Where the demo speaks: once when everything stands, and whenever something dies."""

    stands: Callable[[Facts], None]
    note: Callable[[str], None]


async def run(request: Demo, talk: Talk) -> int:
    """Stand the demo up, see it through, take it down; returns the exit status.

    That is the command's own, or 128 + n when signal n ended it. Raises LbctlError when a part does not come up, when
    etcd dies, and when there is no such command; everything is taken down then too.
    """
    command = find_command(request.command, request.environ) if request.command else ()
    stopper = _Stopper()
    with stopper.listening():
        performance = asyncio.create_task(_perform(request, command, talk, stopper))
        stopper.on_signal = stopper.cancelling(performance)
        try:
            return await performance
        except asyncio.CancelledError:
            if stopper.received is None:
                performance.cancel()
                raise
            return _status(stopper.received, interrupted=bool(command))


class _Stopper:
    """The signals that end a demo, and what each means at the moment."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.on_signal: Callable[[signal.Signals], None] = self.ignore

    def listening(self) -> Handling:
        """Hear the signals within the block."""
        return Handling(self._hear)

    def _hear(self, number: int) -> None:
        self.on_signal(signal.Signals(number))

    def cancelling(self, task: asyncio.Task[int]) -> Callable[[signal.Signals], None]:
        """End the task at the first signal; later ones change nothing, taking down is bounded."""

        def cancel(number: signal.Signals) -> None:
            self.received = number
            self.on_signal = self.ignore
            task.cancel()

        return cancel

    @staticmethod
    def ignore(number: signal.Signals) -> None:
        """Nothing: the demo is being taken down already."""


def _status(number: signal.Signals, *, interrupted: bool) -> int:
    return 128 + number if interrupted else status_after(number)


async def _perform(request: Demo, command: tuple[str, ...], talk: Talk, stopper: _Stopper) -> int:
    async with stage(request.setup) as scene:
        talk.stands(scene.facts)
        try:
            if not command:
                await _report_deaths(scene, talk)
            return await _carry(command, request.environ, scene, talk, stopper)
        finally:
            stopper.on_signal = stopper.ignore


async def _report_deaths(scene: Scene, talk: Talk) -> None:
    """Tell every backend's death; ends only by an exception: EtcdDied, or the cancellation that Ctrl-C makes."""
    async with aclosing(scene.deaths()) as deaths:
        async for death in deaths:
            talk.note(obituary(death, scene.facts.setup.ttl_s))


async def _carry(
    command: tuple[str, ...], environ: Mapping[str, str], scene: Scene, talk: Talk, stopper: _Stopper
) -> int:
    """Run the command to its end and return its status; raises EtcdDied, with the command ended, if etcd dies first."""
    guest = await Guest.start(command, guest_environment(environ, scene.facts.etcd, scene.facts.setup.tls))
    stopper.on_signal = guest.forward
    watching = asyncio.create_task(_report_deaths(scene, talk))
    leaving = asyncio.create_task(guest.wait())
    try:
        await asyncio.wait({watching, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not leaving.done():
            watching.result()
        return leaving.result()
    finally:
        await guest.finish()
        for task in (watching, leaving):
            task.cancel()
        await asyncio.gather(watching, leaving, return_exceptions=True)
