"""Every expected picture of a screen, by name. ``python -m tests.view.goldens`` writes them anew; read the diff."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lbctl.stats.report import Generator, Report
from lbctl.view.compare_frame import CompareUi, build_compare
from lbctl.view.compare_text import contest_text
from lbctl.view.hammer_frame import build
from lbctl.view.summary import summary
from lbctl.view.theme import ASCII, PLAIN, UNICODE, Glyphs
from lbctl.view.watch_frame import build_watch
from lbctl.view.watch_ui import WatchUi
from tests.view.sample import (
    explained,
    judged,
    left_and_joined,
    load_aware,
    open_loop,
    overridden,
    recently,
    sample,
    seasoned,
    simulated,
    streaming,
    troubled,
)
from tests.view.sample_contest import contest_sample
from tests.view.sample_watch import watch_sample

FOLDER = Path(__file__).parent.parent / "golden"
_WARNED = Generator("wire", 11.9, 0.97, 4.2, ("loop 97% busy: throughput is a lower bound, latency an upper one",))
_COMMAND = "lbctl hammer echo demo.echo.v1.Echo/Say -n 10000 -c 50"


def hammer(
    width: int,
    height: int,
    backends: int = 5,
    *,
    glyphs: Glyphs = UNICODE,
    page: str = "main",
    **changes: Any,  # noqa: ANN401
) -> str:
    """Return a frame of the invented run."""
    report = sample(backends, **changes)
    ui = seasoned(report)
    ui.page = page
    return "\n".join(build(report, ui, width, height, PLAIN, glyphs)) + "\n"


def frame(width: int, height: int, report: Report) -> str:
    """Return a frame of this run."""
    return "\n".join(build(report, seasoned(report), width, height, PLAIN, UNICODE)) + "\n"


def lately(width: int, height: int, backends: int = 5, page: str = "main", glyphs: Glyphs = UNICODE) -> str:
    """Return a frame of the last seconds of a run."""
    report, ui = recently(backends, idle=2, out=4)
    ui.page = page
    return "\n".join(build(report, ui, width, height, PLAIN, glyphs)) + "\n"


def connections(width: int, height: int, report: Report | None = None) -> str:
    """Return the page of connections, by default of a run in trouble."""
    report = report or troubled()
    ui = seasoned(report)
    ui.page = "connections"
    return "\n".join(build(report, ui, width, height, PLAIN, UNICODE)) + "\n"


def watch(width: int, height: int, **changes: Any) -> str:  # noqa: ANN401
    """Return a frame of the invented watch."""
    return "\n".join(build_watch(watch_sample(**changes), WatchUi(), width, height, PLAIN, UNICODE)) + "\n"


def compare(width: int, height: int, glyphs: Glyphs = UNICODE, ui: CompareUi | None = None, **changes: Any) -> str:  # noqa: ANN401
    """Return a frame of the invented comparison."""
    return "\n".join(build_compare(contest_sample(**changes), ui or CompareUi(), width, height, PLAIN, glyphs)) + "\n"


REPORTS: dict[str, Callable[[], Report]] = {
    "summary": lambda: sample(5, end_reason="completed", in_flight=0),
    "summary-interrupted": lambda: sample(5, skewed=True, end_reason="interrupted"),
    "summary-moved": left_and_joined,
    "summary-open-loop": open_loop,
    "summary-troubled": troubled,
    "summary-troubled-verbose": troubled,
    "summary-verbose": lambda: sample(5, end_reason="completed", in_flight=0),
    "summary-streaming": streaming,
    "summary-load-aware": load_aware,
    "summary-weights": lambda: replace(
        overridden(), command=f"{_COMMAND} --policy dynamic_weight --policy-opt window=4s"
    ),
    "summary-simulated": simulated,
    "summary-simulated-skewed": lambda: simulated(skewed=True),
    "summary-explained": explained,
    "summary-explained-many": lambda: explained(40),
    "summary-judged": judged,
    "summary-nothing": lambda: sample(0, calls=0, generator=_WARNED),
}
_IN_ASCII = ("summary-troubled-verbose", "summary-explained-many", "summary-nothing")


def _ended(name: str) -> str:
    """The text of a run that is over."""
    report = REPORTS[name]()
    if not report.command and name != "summary-nothing":
        report = replace(report, command=_COMMAND)
    return summary(report, verbose=name.endswith("verbose"), glyphs=ASCII if name in _IN_ASCII else UNICODE)


GOLDENS: dict[str, Callable[[], str]] = {
    "hammer-39x24": lambda: hammer(39, 24),
    "hammer-40x8": lambda: hammer(40, 8),
    "hammer-60x20": lambda: hammer(60, 20),
    "hammer-80x24": lambda: hammer(80, 24),
    "hammer-80x24-skewed": lambda: hammer(80, 24, skewed=True),
    "hammer-80x24-ascii": lambda: hammer(80, 24, skewed=True, glyphs=ASCII),
    "hammer-80x24-none": lambda: hammer(80, 24, 0, calls=0),
    "hammer-80x24-one": lambda: hammer(80, 24, 1),
    "hammer-80x24-hundred": lambda: hammer(80, 24, 100),
    "hammer-80x24-help": lambda: hammer(80, 24, page="help"),
    "hammer-80x24-events": lambda: hammer(80, 24, page="events"),
    "hammer-80x24-paused": lambda: hammer(80, 24, paused=True),
    "hammer-80x24-stopping": lambda: hammer(80, 24, stopping=True, grace_s=4.2),
    "hammer-80x24-warned": lambda: hammer(80, 24, generator=_WARNED),
    "hammer-80x24-open-loop": lambda: hammer(80, 24, rps=5000.0),
    "hammer-80x24-connections": lambda: connections(80, 24),
    "hammer-140x45-connections": lambda: connections(140, 45),
    "hammer-80x24-streams": lambda: connections(80, 24, streaming()),
    "hammer-100x30-twenty": lambda: hammer(100, 30, 20, skewed=True),
    "hammer-140x45": lambda: hammer(140, 45, skewed=True),
    "hammer-140x45-hundred": lambda: hammer(140, 45, 100),
    "hammer-240x60-twenty": lambda: hammer(240, 60, 20),
    "hammer-80x24-weights": lambda: frame(80, 24, overridden()),
    "hammer-80x24-load-aware": lambda: frame(80, 24, load_aware()),
    "hammer-39x24-window": lambda: lately(39, 24),
    "hammer-60x20-window": lambda: lately(60, 20),
    "hammer-80x24-window": lambda: lately(80, 24),
    "hammer-80x24-window-events": lambda: lately(80, 24, page="events"),
    "hammer-140x45-window": lambda: lately(140, 45, glyphs=ASCII),
    "compare-39x24": lambda: compare(39, 24),
    "compare-60x20": lambda: compare(60, 20),
    "compare-80x24": lambda: compare(80, 24),
    "compare-80x24-ascii": lambda: compare(80, 24, ASCII),
    "compare-80x24-stopping": lambda: compare(80, 24, stopping=True),
    "compare-80x24-help": lambda: compare(80, 24, ui=CompareUi(page="help")),
    "compare-80x24-sorted": lambda: compare(80, 24, ui=CompareUi(sort=1, selected=0), paused=True),
    "compare-140x45": lambda: compare(140, 45),
    "compare-140x45-detail": lambda: compare(140, 45, ui=CompareUi(page="detail", selected=1)),
    "compare-text": lambda: contest_text(contest_sample(12)) + "\n",
    "compare-text-stopped": lambda: contest_text(contest_sample(5, going=(), stopped_by="Ctrl-C", over=True)) + "\n",
    "watch-60x16": lambda: watch(60, 16),
    "watch-80x24": lambda: watch(80, 24),
    "watch-140x20": lambda: watch(140, 20),
    "watch-80x24-stale": lambda: watch(80, 24, stale_s=12.0, invalid=1),
    **{name: functools.partial(_ended, name) for name in REPORTS},
}


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in GOLDENS.items():
        (FOLDER / f"{name}.txt").write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
