"""What the live view costs a run: ``python -m benchmarks.frame``.

CPU of the drawing thread per frame while all histograms keep changing, and how late a timer of 1 ms is in an event loop
that also draws, on a terminal that somebody reads, beside one that does not.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import termios
import time
import tty
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from random import Random

from lbctl.load.collector import without_collector
from lbctl.stats.report import Report
from lbctl.view.caps import Caps
from lbctl.view.live import Session
from lbctl.view.live_hammer import HammerView
from lbctl.view.painter import difference
from lbctl.view.terminal import Terminal
from lbctl.view.theme import COLOUR, UNICODE, Look
from tests.view.drawing import drawn
from tests.view.sample import sample
from tests.view.stage import Stage

FPS, SECONDS = 8, 25
SIZES = ((80, 24), (100, 30), (140, 45), (200, 60))
BUDGET_MS, BUDGET_AT = 1.0, (140, 45, 100)
TICK_S, TICKS = 0.001, 10_000


def measure(width: int, height: int, backends: int) -> tuple[float, float, float]:
    """Mean and longest milliseconds of CPU per frame (build, diff, encode), and bytes per frame."""
    rng = Random(1)
    stage = Stage()
    stage.now = sample(backends, calls=200_000)
    view = HammerView(stage.report, stage, Look(COLOUR, UNICODE))
    costs, size, shown = [], 0, [""] * height
    with without_collector():  # as a run is
        for frame in range(FPS * SECONDS):
            _load(stage, rng, frame / FPS)
            began = time.thread_time()
            lines = drawn(view, frame / FPS, width, height)
            data = difference(shown, lines, width).encode()
            costs.append((time.thread_time() - began) * 1e3)
            shown, size = lines, size + len(data)
    return sum(costs) / len(costs), max(costs[FPS:]), size / len(costs)


def _load(stage: Stage, rng: Random, elapsed_s: float) -> None:
    """Do what a busy run does between two frames: every counter and every histogram moves."""
    report = stage.now
    rows = []
    for row in report.backends:
        for _ in range(4):
            row.latency.record(int(rng.lognormvariate(7.5, 0.6)))
        rows.append(replace(row, ok=row.ok + 4, picks=row.picks + 4, expected=row.expected + 4))
    for _ in range(4 * len(rows)):
        report.latency.record(int(rng.lognormvariate(7.5, 0.6)))
    ok = report.ok + 4 * len(rows)
    stage.now = replace(report, elapsed_s=elapsed_s, backends=tuple(rows), ok=ok, completed=ok + report.errors)


class _Busy(Stage):
    """A run whose timer of 1 ms ends a call each time."""

    def __init__(self, backends: int) -> None:
        super().__init__()
        self.now = sample(backends, calls=200_000)
        self._rng = Random(1)
        self._calls = 0

    def tick(self) -> None:
        """End a call."""
        us = int(self._rng.lognormvariate(7.5, 0.6))
        self.now.backends[self._calls % len(self.now.backends)].latency.record(us)
        self.now.latency.record(us)
        self._calls += 1

    def report(self) -> Report:
        """Make new rows, as a run does for every frame."""
        calls, self._calls = self._calls, 0
        rows = tuple(replace(row, ok=row.ok + 1, picks=row.picks + 1) for row in self.now.backends)
        later = self.now.elapsed_s + calls * TICK_S
        self.now = replace(self.now, elapsed_s=later, backends=rows, ok=self.now.ok + calls)
        return self.now


@contextmanager
def _terminal(width: int, height: int) -> Iterator[Terminal]:
    """A terminal that another process reads."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    fd = os.open(os.ttyname(slave), os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
    reader = subprocess.Popen(["cat"], stdin=master, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    terminal = Terminal(fd, None)
    try:
        yield terminal
    finally:
        terminal.close()
        reader.kill()
        reader.wait()
        os.close(slave)
        os.close(master)


@asynccontextmanager
async def _drawing(stage: _Busy, width: int, height: int, *, drawn: bool) -> AsyncIterator[None]:
    if not drawn:
        yield
        return
    with _terminal(width, height) as terminal:
        caps = Caps("live", "none", COLOUR, COLOUR, UNICODE, UNICODE, None, FPS)
        session = Session(terminal, HammerView(stage.report, stage, Look(COLOUR, UNICODE), can_type=False), caps)
        session.enter()
        try:
            yield
        finally:
            await session.leave()


async def lateness(width: int, height: int, backends: int, *, drawn: bool) -> tuple[float, float]:
    """How late a timer of 1 ms is, in ms: at p99, and at most."""
    stage, loop = _Busy(backends), asyncio.get_running_loop()
    found: list[float] = []
    async with _drawing(stage, width, height, drawn=drawn):
        due = loop.time()
        for _ in range(TICKS):
            due += TICK_S
            await asyncio.sleep(max(due - loop.time(), 0))
            late = loop.time() - due
            found.append(late * 1e3)
            due = max(due, loop.time() - TICK_S)  # what was missed is not owed
            stage.tick()
    found.sort()
    return found[int(0.99 * len(found))], found[-1]


def main() -> None:
    """Print both tables, and the ratio to the budget."""
    ratio = 0.0
    print("size     backends  mean ms   longest ms  % of a core at 8 fps  bytes/frame")
    for width, height in SIZES:
        for backends in (3, 20, 100):
            mean, longest, size = measure(width, height, backends)
            part = mean * FPS / 10
            print(f"{width}x{height:<4} {backends:>8}  {mean:>7.2f}  {longest:>11.2f}  {part:>20.2f}  {size:>11,.0f}")
            if (width, height, backends) == BUDGET_AT:
                ratio = mean / BUDGET_MS
    width, height, backends = BUDGET_AT
    print(f"budget: {BUDGET_MS:g} ms at {width}x{height} with {backends} backends; used {ratio:.2f} of it")
    for drawn_too in (False, True):
        with without_collector():
            p99, longest = asyncio.run(lateness(width, height, backends, drawn=drawn_too))
        words = "with the view" if drawn_too else "without"
        print(f"a timer of 1 ms is late by {p99:.2f} ms at p99, {longest:.1f} ms at most, {words}")


if __name__ == "__main__":
    main()
