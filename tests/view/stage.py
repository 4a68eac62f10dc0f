"""A process with a live view over an invented run, for tests that hold a pseudo terminal: ``stage.py SCENE``."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import sys
import termios
from dataclasses import replace

from lbctl.commands.signals import Interrupts
from lbctl.model import Event
from lbctl.stats.report import Report
from lbctl.view.caps import Wishes, decide, observe
from lbctl.view.live_hammer import LiveScreen
from lbctl.view.live_watch import LiveWatchScreen
from tests.view.hand import Hand
from tests.view.sample import sample
from tests.view.sample_watch import watch_sample


class Stage(Hand[Report]):
    """The controls and the report of the invented run."""

    def __init__(self) -> None:
        super().__init__(sample(5, paused=False))
        self.done = asyncio.Event()
        self.broken = False

    def report(self) -> Report:
        if self.broken:
            raise RuntimeError("a bug in drawing")
        self.now = replace(self.now, elapsed_s=self.now.elapsed_s + 0.01)
        return self.now

    def stop(self) -> None:
        super().stop()
        self.done.set()

    def scale(self, factor: float) -> None:
        self.calls.append(f"scale {factor:g}")

    def next_policy(self, step: int) -> None:
        self.calls.append(f"policy {step:+d}")

    def check(self) -> None:
        self.calls.append("check")

    def drain(self, key: str, address: str) -> None:
        self.calls.append(f"drain {address}")

    def recount(self) -> None:
        self.calls.append("recount")

    def log(self, text: str) -> None:
        self.now = replace(self.now, events=(*self.now.events, Event(12.0, "log", None, text)))


async def scene(name: str, stage: Stage) -> None:
    """Play one scene on the live screen."""
    caps = decide({**os.environ, "CI": ""}, observe(), Wishes(fps=30))
    assert caps.screen == "live", caps
    loop = asyncio.get_running_loop()
    ended = 0

    def on_end(number: int) -> None:
        nonlocal ended
        ended = 128 + number
        stage.done.set()

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, on_end, number)
    screen = (
        LiveWatchScreen(caps).showing(watch_sample, stage)
        if name == "watch"
        else LiveScreen(caps).showing(stage.report, stage)
    )
    async with screen:
        if name == "log":
            os.write(2, b"E0000 from a C library\n")
        if name == "broken":
            stage.broken = True
        await stage.done.wait()
        if name == "raise":
            raise ValueError("the run failed")
        if name == "exit":
            sys.exit(3)
    if ended:
        sys.exit(ended)


async def stuck(stage: Stage) -> None:
    """A run that no signal ends: each is an event."""
    with Interrupts() as interrupts:
        interrupts.mean(lambda: stage.log("the first"), lambda: stage.log("the second"))
        async with LiveScreen(decide({**os.environ, "CI": ""}, observe(), Wishes(fps=30))).showing(stage.report, stage):
            await stage.done.wait()


def main() -> None:
    """Take the terminal on standard error as the controlling one, play, tell the calls on standard output."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
    stage = Stage()
    try:
        asyncio.run(stuck(stage) if sys.argv[1] == "stuck" else scene(sys.argv[1], stage))
    finally:
        sys.stdout.write(json.dumps(stage.calls))


if __name__ == "__main__":
    main()
