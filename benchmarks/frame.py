"""CPU per frame of the live view while the histograms keep changing: ``python -m benchmarks.frame``."""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random

from lbctl.view.live_hammer import HammerView
from lbctl.view.painter import difference
from lbctl.view.theme import COLOUR, UNICODE, Look
from tests.view.drawing import drawn
from tests.view.sample import sample
from tests.view.stage import Stage

FPS, SECONDS = 8, 25
SIZES = ((80, 24), (100, 30), (140, 45), (200, 60))
BUDGET_MS, BUDGET_AT = 1.0, (140, 45, 100)


def measure(width: int, height: int, backends: int) -> tuple[float, float, float]:
    """Mean and longest milliseconds of CPU per frame (build, diff, encode), and bytes per frame."""
    rng = Random(1)
    stage = Stage()
    stage.now = sample(backends, calls=200_000)
    view = HammerView(stage.report, stage, Look(COLOUR, UNICODE))
    costs, size, shown = [], 0, [""] * height
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


def main() -> None:
    """Print a table and the ratio to the budget."""
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


if __name__ == "__main__":
    main()
